#include "runtime/capi/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "proto/tensor.pb.h"
#include "runtime/capi/buffer.h"
#include "runtime/capi/tstring.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::capi {
namespace {

using Release = void (*)(void* data, size_t len, void* arg);

bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kBufferAlignment == 0;
}

bool IsOpaque(DType type) { return type == DType::kResource || type == DType::kVariant; }

// Bytes that a tensor of TF_TStrings or plain data takes. Errors: InvalidArgument.
StatusOr<size_t> BytesNeeded(DType type, const Shape& shape) {
  size_t bytes = 0;
  const size_t each = type == DType::kString ? sizeof(TF_TString) : ElementSize(type);
  if (__builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), each, &bytes)) {
    return InvalidArgument("a tensor of shape ", shape.ToString(), " is too large");
  }
  return bytes;
}

// Aligned zeros of which the buffer is the owner.
StatusOr<BufferRef> ZeroedStrings(size_t count) {
  const size_t bytes = std::max<size_t>(count, 1) * sizeof(TF_TString);
  TFLEET_ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(bytes));
  std::memset(buffer->data(), 0, bytes);
  return buffer;
}

// As ZeroedStrings, and frees the texts that the strings own in the end.
StatusOr<BufferRef> OwnedStrings(size_t count) {
  TFLEET_ASSIGN_OR_RETURN(BufferRef inner, ZeroedStrings(count));
  auto* strings = static_cast<TF_TString*>(inner->data());
  return WrapHostBuffer(strings, count * sizeof(TF_TString), [inner, strings, count] {
    for (size_t i = 0; i < count; ++i) TF_StringDealloc(strings + i);
  });
}

StatusOr<TF_Tensor*> OverCallersBytes(DType type, Shape shape, void* data, size_t len,
                                      const std::shared_ptr<void>& owner) {
  auto made = std::make_unique<TF_Tensor>();
  made->dtype = type;
  made->shape = std::move(shape);
  if (IsOpaque(type)) {
    return Unimplemented("tensors of type ", DTypeName(type), " are only made by sessions");
  }
  TFLEET_ASSIGN_OR_RETURN(const size_t needed, BytesNeeded(type, made->shape));
  if (len < needed || (data == nullptr && needed != 0)) {
    return InvalidArgument("a ", DTypeName(type), " tensor of shape ", made->shape.ToString(),
                           " needs ", needed, " bytes and was given ", data == nullptr ? 0 : len);
  }
  if (type == DType::kString && reinterpret_cast<uintptr_t>(data) % alignof(TF_TString) != 0) {
    return InvalidArgument("TF_TStrings are at an address that is no multiple of ",
                           alignof(TF_TString));
  }
  const bool in_place = needed != 0 && (type == DType::kString || IsAligned(data));
  BufferRef bytes;
  if (in_place) {
    bytes = WrapHostBuffer(data, len, [owner] {});
    made->is_callers_memory = true;
  } else {
    TFLEET_ASSIGN_OR_RETURN(bytes, AllocateHostBuffer(std::max<size_t>(needed, 1)));
    if (needed != 0) std::memcpy(bytes->data(), data, needed);
  }
  if (type == DType::kString) {
    made->strings = std::move(bytes);
    made->string_bytes = needed;
  } else {
    made->tensor = Tensor::FromBuffer(type, made->shape, std::move(bytes));
  }
  return made.release();
}

}  // namespace

StatusOr<DType> ElementType(TF_DataType type) {
  const int number = static_cast<int>(type);
  if (!IsValidDType(number) || IsRef(static_cast<DType>(number)) || number == 0) {
    return InvalidArgument(number, " is no TF_DataType");
  }
  return static_cast<DType>(number);
}

StatusOr<Shape> ShapeFrom(const int64_t* dims, int num_dims) {
  TFLEET_RETURN_IF_ERROR(CheckArray(dims, num_dims, "dims"));
  return Shape::Make(absl::MakeConstSpan(dims, num_dims));
}

StatusOr<Tensor> ToEngine(const TF_Tensor* tensor) {
  if (tensor == nullptr) return InvalidArgument("an input tensor is NULL");
  if (tensor->dtype != DType::kString) return tensor->tensor;
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kString, tensor->shape));
  const auto* strings =
      static_cast<const TF_TString*>(tensor->strings ? tensor->strings->data() : nullptr);
  for (std::string& text : out.mutable_values<std::string>())
    text = std::string(TextOf(*strings++));
  return out;
}

StatusOr<TF_Tensor*> FromEngine(const Tensor& tensor) {
  if (!tensor.is_valid()) return FailedPrecondition("a fetched tensor holds no value");
  auto made = std::make_unique<TF_Tensor>();
  made->dtype = tensor.dtype();
  made->shape = tensor.shape();
  if (made->dtype != DType::kString) {
    made->tensor = tensor;
    return made.release();
  }
  const size_t count = static_cast<size_t>(tensor.num_elements());
  TFLEET_ASSIGN_OR_RETURN(made->strings, OwnedStrings(count));
  made->string_bytes = count * sizeof(TF_TString);
  auto* to = static_cast<TF_TString*>(made->strings->data());
  for (const std::string& text : tensor.values<std::string>()) {
    TF_StringCopy(to++, text.data(), text.size());
  }
  return made.release();
}

}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

size_t TF_DataTypeSize(TF_DataType dt) {
  const StatusOr<DType> type = ElementType(dt);
  return type.ok() && IsPlainData(*type) ? ElementSize(*type) : 0;
}

TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims, void* data,
                        size_t len, void (*deallocator)(void* data, size_t len, void* arg),
                        void* deallocator_arg) {
  return EnterFor<TF_Tensor*>(nullptr, nullptr, [&]() -> StatusOr<TF_Tensor*> {
    // Gives the bytes back when nobody needs them any more, on every way out.
    const std::shared_ptr<void> owner(data, [=](void*) {
      if (deallocator != nullptr) deallocator(data, len, deallocator_arg);
    });
    TFLEET_ASSIGN_OR_RETURN(const DType type, ElementType(dtype));
    TFLEET_ASSIGN_OR_RETURN(Shape shape, ShapeFrom(dims, num_dims));
    return OverCallersBytes(type, std::move(shape), data, len, owner);
  });
}

TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len) {
  return EnterFor<TF_Tensor*>(nullptr, nullptr, [&]() -> StatusOr<TF_Tensor*> {
    TFLEET_ASSIGN_OR_RETURN(const DType type, ElementType(dtype));
    TFLEET_ASSIGN_OR_RETURN(Shape shape, ShapeFrom(dims, num_dims));
    if (IsOpaque(type)) {
      return Unimplemented("tensors of type ", DTypeName(type), " are only made by sessions");
    }
    TFLEET_ASSIGN_OR_RETURN(const size_t needed, BytesNeeded(type, shape));
    if (len < needed) return InvalidArgument(len, " bytes are too few for ", needed);
    auto made = std::make_unique<TF_Tensor>();
    made->dtype = type;
    made->shape = std::move(shape);
    if (type == DType::kString) {
      // As TensorFlow's: the caller frees what its strings own.
      TFLEET_ASSIGN_OR_RETURN(made->strings, ZeroedStrings(made->shape.num_elements()));
      made->string_bytes = needed;
    } else {
      TFLEET_ASSIGN_OR_RETURN(made->tensor, Tensor::Allocate(type, made->shape));
    }
    return made.release();
  });
}

TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor) {
  if (tensor == nullptr || tensor->is_callers_memory) return nullptr;
  const bool is_only = tensor->dtype == DType::kString
                           ? tensor->strings && tensor->strings->unique()
                           : tensor->tensor.buffer_is_unique();
  if (!is_only) return nullptr;
  auto* moved = new (std::nothrow) TF_Tensor(std::move(*tensor));
  if (moved != nullptr) delete tensor;
  return moved;
}

void TF_DeleteTensor(TF_Tensor* tensor) { delete tensor; }

TF_DataType TF_TensorType(const TF_Tensor* tensor) {
  return static_cast<TF_DataType>(tensor == nullptr ? 0 : static_cast<int>(tensor->dtype));
}

void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims) {
  if (tensor == nullptr) return;
  Contained([&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(Shape shape, ShapeFrom(dims, num_dims));
    if (shape.num_elements() != tensor->shape.num_elements()) {
      return InvalidArgument("another number of elements");
    }
    if (tensor->tensor.is_valid()) tensor->tensor = tensor->tensor.Reshaped(shape);
    tensor->shape = std::move(shape);
    return OkStatus();
  }).IgnoreError();
}

int TF_NumDims(const TF_Tensor* tensor) { return tensor == nullptr ? 0 : tensor->shape.rank(); }

int64_t TF_Dim(const TF_Tensor* tensor, int dim_index) {
  if (tensor == nullptr || dim_index < 0 || dim_index >= tensor->shape.rank()) return -1;
  return tensor->shape.dim(dim_index);
}

size_t TF_TensorByteSize(const TF_Tensor* tensor) {
  if (tensor == nullptr || IsOpaque(tensor->dtype)) return 0;
  return tensor->dtype == DType::kString ? tensor->string_bytes : tensor->tensor.bytes();
}

void* TF_TensorData(const TF_Tensor* tensor) {
  if (tensor == nullptr || IsOpaque(tensor->dtype)) return nullptr;
  if (tensor->dtype == DType::kString) return tensor->strings ? tensor->strings->data() : nullptr;
  return const_cast<void*>(tensor->tensor.raw());
}

int64_t TF_TensorElementCount(const TF_Tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->shape.num_elements();
}

void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to,
                          const int64_t* new_dims, int num_new_dims, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(from);
    TFLEET_NOT_NULL(to);
    TFLEET_ASSIGN_OR_RETURN(const DType dtype, ElementType(type));
    TFLEET_ASSIGN_OR_RETURN(Shape shape, ShapeFrom(new_dims, num_new_dims));
    if (!IsPlainData(dtype) || !IsPlainData(from->dtype)) {
      return InvalidArgument("elements of type ", DTypeName(from->dtype), " cannot be taken as ",
                             DTypeName(dtype));
    }
    TFLEET_ASSIGN_OR_RETURN(const size_t bytes, BytesNeeded(dtype, shape));
    if (bytes != from->tensor.bytes()) {
      return InvalidArgument("a ", DTypeName(dtype), " tensor of shape ", shape.ToString(),
                             " takes ", bytes, " bytes; there are ", from->tensor.bytes());
    }
    // Made of the whole buffer: tensors of this interface begin where their buffer does, or share
    // one of the engine's, whose offset BitcastTo keeps.
    Tensor cast = ElementSize(dtype) == ElementSize(from->dtype)
                      ? from->tensor.BitcastTo(dtype).Reshaped(shape)
                      : Tensor();
    if (!cast.is_valid()) {
      const Tensor& source = from->tensor;
      void* data = const_cast<void*>(source.raw());
      cast = Tensor::FromBuffer(dtype, shape,
                                WrapHostBuffer(data, source.bytes(), [keep = source] {}));
    }
    TF_Tensor made;
    made.dtype = dtype;
    made.shape = std::move(shape);
    made.tensor = std::move(cast);
    made.is_callers_memory = from->is_callers_memory;
    *to = std::move(made);
    return OkStatus();
  });
}

bool TF_TensorIsAligned(const TF_Tensor* tensor) {
  return tensor != nullptr && IsAligned(TF_TensorData(tensor));
}

void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(to);
    tensorflow::TensorProto proto;
    TFLEET_RETURN_IF_ERROR(ParseMessage(from, "TensorProto", &proto));
    TFLEET_ASSIGN_OR_RETURN(const Tensor tensor, TensorFromProto(proto));
    TFLEET_ASSIGN_OR_RETURN(TF_Tensor * made, FromEngine(tensor));
    *to = std::move(*made);
    delete made;
    return OkStatus();
  });
}

}  // extern "C"
