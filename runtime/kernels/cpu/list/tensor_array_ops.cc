// The TensorArray ops. The flow, a number that goes from op to op, orders them; its value means
// nothing. Schemas: runtime/ops/list/tensor_array_ops.cc.
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/tensor_array.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/stack_rows.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<ResourceRef<TensorArray>> FindArray(const KernelContext& ctx) {
  const ResourceHandle* handle = HandleFromInput(ctx, 0);
  if (handle == nullptr) {
    return InvalidArgument("a TensorArray's handle must be a scalar resource handle");
  }
  TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
  return ctx.step().step_resources->Find<TensorArray>(handle->container, handle->name);
}

Tensor HandleTo(const KernelContext& ctx, const std::string& name) {
  ResourceHandle handle;
  handle.device = ctx.step().device->name();
  handle.container = ctx.step().step_resources->default_container();
  handle.name = name;
  handle.type_name = "N10tensorflow11TensorArrayE";
  return Tensor::Scalar<ResourceHandle>(std::move(handle));
}

StatusOr<int64_t> IndexInput(const KernelContext& ctx) {
  if (!ctx.input(1).shape().is_scalar()) {
    return InvalidArgument("TensorArray index must be scalar, but had shape: ",
                           ctx.input(1).shape().ToString());
  }
  return int64_t{ctx.input(1).scalar<int32_t>()};
}

Status CheckDType(const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return OkStatus();
  return InvalidArgument("TensorArray dtype is ", DTypeName(array.dtype()),
                         " but Op requested dtype ", DTypeName(dtype), ".");
}

class TensorArrayKernel final : public Kernel {
 public:
  explicit TensorArrayKernel(KernelInit& init) {
    init.Get("dtype", &options_.dtype);
    init.Get("element_shape", &options_.element_shape);
    init.Get("dynamic_size", &options_.can_grow);
    init.Get("clear_after_read", &options_.clears_after_read);
    init.Get("identical_element_shapes", &options_.has_one_shape);
    init.Get("tensor_array_name", &options_.name);
    if (options_.name.empty()) options_.name = init.node().name();
  }
  Status Compute(KernelContext& ctx) const override {
    if (!ctx.input(0).shape().is_scalar()) {
      return InvalidArgument("TensorArray size must be scalar, but had shape: ",
                             ctx.input(0).shape().ToString());
    }
    const int64_t size = ctx.input(0).scalar<int32_t>();
    if (size < 0) return InvalidArgument("Size should be >= 0, but is ", size);
    if (size > TensorArray::kMaxElements) {
      return ResourceExhausted("a TensorArray of ", size, " elements; at most ",
                               TensorArray::kMaxElements, " are supported");
    }
    ResourceManager& resources = *ctx.step().step_resources;
    TensorArray::Options options = options_;
    options.name = absl::StrCat(options_.name, "_", resources.NextPrivateId());
    TFLEET_RETURN_IF_ERROR(resources.Add<TensorArray>(
        resources.default_container(), options.name,
        ResourceRef<TensorArray>::Adopt(new TensorArray(options, size))));
    ctx.SetOutput(0, HandleTo(ctx, options.name));
    ctx.SetOutput(1, Tensor::Scalar(0.0f));
    return OkStatus();
  }

 private:
  TensorArray::Options options_;
};

// The array for the gradients with respect to `source`, made by whoever asks first.
class TensorArrayGrad final : public Kernel {
 public:
  explicit TensorArrayGrad(KernelInit& init) { init.Get("source", &source_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    int64_t size = 0;
    const TensorArray::Options options = array->ForGradients(source_, &size);
    ResourceManager& resources = *ctx.step().step_resources;
    TFLEET_ASSIGN_OR_RETURN(
        const ResourceRef<TensorArray> gradients,
        resources.FindOrMake<TensorArray>(resources.default_container(), options.name,
                                          [&]() -> StatusOr<ResourceRef<TensorArray>> {
                                            return ResourceRef<TensorArray>::Adopt(
                                                new TensorArray(options, size));
                                          }));
    ctx.SetOutput(0, HandleTo(ctx, options.name));
    ctx.SetOutput(1, Tensor::Scalar<float>(0));
    return OkStatus();
  }

 private:
  std::string source_;
};

class TensorArrayWrite final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, IndexInput(ctx));
    TFLEET_RETURN_IF_ERROR(array->Write(index, ctx.TakeInput(2)));
    ctx.SetOutput(0, ctx.TakeInput(3));
    return OkStatus();
  }
};

class TensorArrayRead final : public Kernel {
 public:
  explicit TensorArrayRead(KernelInit& init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, IndexInput(ctx));
    TFLEET_RETURN_IF_ERROR(CheckDType(*array, dtype_));
    TFLEET_ASSIGN_OR_RETURN(Tensor value, array->Read(index));
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
};

class TensorArrayGather final : public Kernel {
 public:
  explicit TensorArrayGather(KernelInit& init) {
    init.Get("dtype", &dtype_);
    init.Get("element_shape", &shape_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    TFLEET_RETURN_IF_ERROR(CheckDType(*array, dtype_));
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument("Expected indices to be a vector, but received shape: ",
                             ctx.input(1).shape().ToString());
    }
    TFLEET_RETURN_IF_ERROR(array->MergeElementShape(shape_));
    const PartialShape shape = array->element_shape();
    std::vector<Tensor> rows;
    for (const int64_t index : IntegersOf(ctx.input(1))) {
      TFLEET_ASSIGN_OR_RETURN(Tensor row, array->Read(index));
      rows.push_back(std::move(row));
    }
    if (rows.empty() && !shape.is_fully_defined()) {
      return Unimplemented(
          "TensorArray has size zero, but element shape ", shape.ToString(),
          " is not fully defined. Currently only static shapes are supported when ",
          "packing zero-size TensorArrays.");
    }
    if (!rows.empty() && !shape_.IsCompatibleWith(PartialShape(rows[0].shape()))) {
      return InvalidArgument(
          "TensorArray was passed element_shape ", shape_.ToString(),
          " which does not match the Tensor at index 0: ", rows[0].shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, StackRows(dtype_, shape, rows));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
};

// Rows [begin, end) in memory of their own, since elements may outlive each other.
StatusOr<Tensor> OwnRows(const Tensor& t, int64_t begin, int64_t end) {
  return t.Rows(begin, end).Clone();
}

Status CheckHasRows(const Tensor& value) {
  if (value.rank() >= 1) return OkStatus();
  return InvalidArgument("Expected value to be at least a vector, but received shape: ",
                         value.shape().ToString());
}

class TensorArrayScatter final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    const Tensor& value = ctx.input(2);
    TFLEET_RETURN_IF_ERROR(CheckHasRows(value));
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument("Expected indices to be a vector, but received shape: ",
                             ctx.input(1).shape().ToString());
    }
    const Integers indices = IntegersOf(ctx.input(1));
    if (static_cast<int64_t>(indices.size()) != value.dim(0)) {
      return InvalidArgument("Expected len(indices) == values.shape[0], but saw: ", indices.size(),
                             " vs. ", value.dim(0));
    }
    for (int64_t row = 0; row < value.dim(0); ++row) {
      TFLEET_ASSIGN_OR_RETURN(const Tensor own, OwnRows(value, row, row + 1));
      TFLEET_RETURN_IF_ERROR(
          array->Write(indices[row], own.Reshaped(value.shape().SubShape(1, value.rank()))));
    }
    ctx.SetOutput(0, ctx.TakeInput(3));
    return OkStatus();
  }
};

// All elements one after another along their first dimension, and how long each is.
class TensorArrayConcat final : public Kernel {
 public:
  explicit TensorArrayConcat(KernelInit& init) {
    init.Get("dtype", &dtype_);
    init.Get("element_shape_except0", &row_shape_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    TFLEET_RETURN_IF_ERROR(CheckDType(*array, dtype_));
    PartialShape row_shape = row_shape_;
    std::vector<Tensor> parts;
    std::vector<int64_t> lengths;
    int64_t total = 0;
    for (int64_t i = 0; i < array->size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor part, array->Read(i));
      if (part.rank() < 1) {
        return InvalidArgument("Concat saw a scalar shape at index ", i,
                               " but requires at least vectors.  Did you mean to call pack?");
      }
      StatusOr<PartialShape> merged = row_shape.MergedWith(part.shape().SubShape(1, part.rank()));
      if (!merged.ok()) {
        return InvalidArgument("TensorArray has inconsistent shapes.  Index ", i, " has shape ",
                               part.shape().ToString(), ", which does not go with ",
                               row_shape.ToString(), " after the first dimension");
      }
      row_shape = *std::move(merged);
      total += part.dim(0);
      lengths.push_back(part.dim(0));
      parts.push_back(std::move(part));
    }
    if (!row_shape.is_fully_defined()) {
      return Unimplemented(
          "TensorArray has size zero, but element_shape_except0 ", row_shape.ToString(),
          " is not fully defined. Currently only static shapes are supported when ",
          "concatenating zero-size TensorArrays.");
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape row, row_shape.ToShape());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, row.Stacked(total));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    int64_t at = 0;
    for (const Tensor& part : parts) {
      if (part.num_elements() > 0) {
        CopyElements(dtype_, MutableElementAt(out, at), part.raw(), part.num_elements());
      }
      at += part.num_elements();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor length_vector, IntegerVector(DType::kInt64, lengths));
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(length_vector));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  PartialShape row_shape_;
};

class TensorArraySplit final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    const Tensor& value = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckHasRows(value));
    if (ctx.input(2).rank() != 1) {
      return InvalidArgument("Expected lengths to be a vector, received shape: ",
                             ctx.input(2).shape().ToString());
    }
    int64_t at = 0, index = 0;
    for (const int64_t length : ctx.input(2).values<int64_t>()) {
      if (length < 0 || length > value.dim(0) - at) {
        return InvalidArgument("Expected sum of lengths to be equal to values.shape[0], but after ",
                               at, " rows of ", value.dim(0), " the next length is ", length);
      }
      TFLEET_ASSIGN_OR_RETURN(Tensor part, OwnRows(value, at, at + length));
      TFLEET_RETURN_IF_ERROR(array->Write(index++, std::move(part)));
      at += length;
    }
    if (at != value.dim(0)) {
      return InvalidArgument("Expected sum of lengths to be equal to values.shape[0], but sum of ",
                             "lengths is ", at,
                             " and value's shape is: ", value.shape().ToString());
    }
    ctx.SetOutput(0, ctx.TakeInput(3));
    return OkStatus();
  }
};

class TensorArraySize final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, FindArray(ctx));
    ctx.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(array->size())));
    return OkStatus();
  }
};

class TensorArrayClose final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(FindArray(ctx).status());
    const ResourceHandle* handle = HandleFromInput(ctx, 0);
    return ctx.step().step_resources->Remove<TensorArray>(handle->container, handle->name);
  }
};

}  // namespace

void RegisterTensorArrayKernels(KernelRegistry& r) {
  r.Add<TensorArrayKernel>("TensorArrayV3", kCpu);
  r.Add<TensorArrayGrad>("TensorArrayGradV3", kCpu);
  r.Add<TensorArrayWrite>("TensorArrayWriteV3", kCpu);
  r.Add<TensorArrayRead>("TensorArrayReadV3", kCpu);
  r.Add<TensorArrayGather>("TensorArrayGatherV3", kCpu);
  r.Add<TensorArrayScatter>("TensorArrayScatterV3", kCpu);
  r.Add<TensorArrayConcat>("TensorArrayConcatV3", kCpu);
  r.Add<TensorArraySplit>("TensorArraySplitV3", kCpu);
  r.Add<TensorArraySize>("TensorArraySizeV3", kCpu);
  r.Add<TensorArrayClose>("TensorArrayCloseV3", kCpu);
}

}  // namespace tensorfleet::cpu
