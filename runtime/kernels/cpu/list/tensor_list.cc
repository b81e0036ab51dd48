#include "runtime/kernels/cpu/list/tensor_list.h"

#include <atomic>

#include "proto/tensor.pb.h"
#include "runtime/io/varint.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/nesting.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {

// The metadata are TensorFlow's: the number of elements that are not set, their positions, the
// dtype, the largest size, and the element shape as a message; the tensors are the other elements.
StatusOr<VariantData> TensorList::Encode() const {
  VariantData data;
  data.type_name = kTypeName;
  std::string missing;
  uint64_t count = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].is_valid()) {
      data.tensors.push_back(elements[i]);
    } else {
      ++count;
      AppendVarint(i, &missing);
    }
  }
  AppendVarint(count, &data.metadata);
  data.metadata += missing;
  AppendVarint(static_cast<uint64_t>(dtype_), &data.metadata);
  AppendVarint(static_cast<uint64_t>(max_elements_), &data.metadata);
  tensorflow::TensorShapeProto shape;
  element_shape_.ToProto(&shape);
  data.metadata += shape.SerializeAsString();
  return data;
}

StatusOr<std::shared_ptr<TensorList>> TensorList::Decode(const VariantData& data) {
  const Status malformed = InvalidArgument("a tensor list is encoded badly: its metadata has ",
                                           data.metadata.size(), " bytes");
  absl::string_view rest = data.metadata;
  uint64_t count = 0, dtype = 0, max_elements = 0;
  if (!ConsumeVarint(&rest, &count) || count > data.metadata.size()) return malformed;
  const size_t size = count + data.tensors.size();
  std::vector<bool> is_missing(size);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t position = 0;
    if (!ConsumeVarint(&rest, &position) || position >= size || is_missing[position])
      return malformed;
    is_missing[position] = true;
  }
  if (!ConsumeVarint(&rest, &dtype) || !ConsumeVarint(&rest, &max_elements) || dtype > 255 ||
      !IsValidDType(static_cast<int>(dtype))) {
    return malformed;
  }
  tensorflow::TensorShapeProto shape;
  if (!shape.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) return malformed;
  TFLEET_ASSIGN_OR_RETURN(PartialShape element_shape, PartialShape::FromProto(shape));
  auto list = std::make_shared<TensorList>(static_cast<DType>(dtype), std::move(element_shape),
                                           static_cast<int64_t>(max_elements));
  list->elements.resize(size);
  size_t next = 0;
  for (size_t i = 0; i < size; ++i) {
    if (is_missing[i]) continue;
    if (data.tensors[next].dtype() != list->dtype()) return malformed;
    TFLEET_RETURN_IF_ERROR(NestWithin(data.tensors[next], &list->depth));
    list->elements[i] = data.tensors[next++];
  }
  return list;
}

StatusOr<PartialShape> TensorList::CommonShape(const PartialShape& wanted) const {
  StatusOr<PartialShape> shape = element_shape_.MergedWith(wanted);
  if (!shape.ok()) {
    return InvalidArgument("Tried to read elements of shape ", wanted.ToString(),
                           " from a list with incompatible shape ", element_shape_.ToString());
  }
  if (shape->is_fully_defined()) return shape;
  for (const Tensor& element : elements) {
    if (!element.is_valid()) continue;
    TFLEET_ASSIGN_OR_RETURN(*shape, shape->MergedWith(element.shape()));
  }
  return shape;
}

StatusOr<TensorListPtr> ListFromVariant(const Variant& variant) {
  if (const auto* list = variant.get<TensorList>()) return list->shared_from_this();
  if (const auto* encoded = variant.get<EncodedVariant>();
      encoded != nullptr && encoded->data().type_name == TensorList::kTypeName) {
    return TensorList::Decode(encoded->data());
  }
  return InvalidArgument("expected a tensor list, found ",
                         variant.is_empty() ? "an empty variant" : variant.value()->TypeName());
}

StatusOr<TensorListPtr> ListFromInput(const KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (!input.shape().is_scalar()) {
    return InvalidArgument("Input handle is not a scalar, but has shape ",
                           input.shape().ToString());
  }
  return ListFromVariant(input.scalar<Variant>());
}

StatusOr<std::shared_ptr<TensorList>> TakeList(KernelContext& ctx, int i) {
  const bool is_last_tensor = ctx.input(i).buffer_is_unique();
  TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, i));
  return OwnList(list, is_last_tensor);
}

std::shared_ptr<TensorList> OwnList(const TensorListPtr& list, bool variant_is_unique) {
  // One reference is the variant's and one `list`; a list that was just decoded has only that one.
  if (list.use_count() == 1 || (variant_is_unique && list.use_count() == 2)) {
    std::atomic_thread_fence(std::memory_order_acquire);  // after what the last other holder did
    return std::const_pointer_cast<TensorList>(list);
  }
  return std::make_shared<TensorList>(*list);
}

Status ResizeList(int64_t size, TensorList* list) {
  constexpr int64_t kMaxElements = int64_t{1} << 26;
  if (size > kMaxElements) {
    return ResourceExhausted("a list of ", size, " elements; at most ", kMaxElements,
                             " are supported");
  }
  TFLEET_RETURN_IF_ERROR(CheckWorkSpace(size, sizeof(Tensor)));
  list->elements.resize(size);
  return OkStatus();
}

void SetList(KernelContext& ctx, int i, std::shared_ptr<const TensorList> list) {
  ctx.SetOutput(i, Tensor::Scalar(Variant(std::move(list))));
}

Status CheckListDType(const TensorList& list, DType dtype) {
  if (list.dtype() == dtype) return OkStatus();
  return InvalidArgument("Invalid data types; op elements ", DTypeName(dtype),
                         " but list elements ", DTypeName(list.dtype()));
}

StatusOr<PartialShape> ElementShapeFromInput(const Tensor& t) {
  if (t.shape().is_scalar()) {
    if (IntegerAt(t, 0) == -1) return PartialShape::Unknown();
    return InvalidArgument("The only valid scalar shape tensor is the fully unknown shape ",
                           "specified as -1.");
  }
  if (t.rank() != 1) {
    return InvalidArgument("a shape must be a vector or -1, not ", t.shape().ToString());
  }
  const Integers dims = IntegersOf(t);
  if (static_cast<int>(dims.size()) > Shape::kMaxRank) {
    return InvalidArgument("a shape has at most ", Shape::kMaxRank, " dimensions, not ",
                           dims.size());
  }
  for (const int64_t dim : dims) {
    if (dim < PartialShape::kUnknownDim) {
      return InvalidArgument("Dimension ", dim, " of an element shape must be >= -1");
    }
  }
  return PartialShape(dims);
}

}  // namespace tensorfleet::cpu
