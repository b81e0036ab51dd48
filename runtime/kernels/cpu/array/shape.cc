// Kernels about shapes: what a tensor's shape is, and the same elements under another shape.
// Schemas and shape rules: runtime/ops/array/shape_ops.cc.
#include <limits>
#include <optional>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Shape and ShapeN.
class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(KernelInit& init) { init.Get("out_type", &out_type_); }
  Status Compute(KernelContext& ctx) const override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerVector(out_type_, ctx.input(i).shape().dims()));
      ctx.SetOutput(i, std::move(out));
    }
    return OkStatus();
  }

 private:
  DType out_type_ = DType::kInt32;
};

StatusOr<Tensor> IntegerScalar(DType dtype, int64_t value) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerVector(dtype, {value}));
  return out.Reshaped(Shape());
}

class Size final : public Kernel {
 public:
  explicit Size(KernelInit& init) { init.Get("out_type", &out_type_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerScalar(out_type_, ctx.input(0).num_elements()));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType out_type_ = DType::kInt32;
};

class Rank final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerScalar(DType::kInt32, ctx.input(0).rank()));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// The product, or nothing when it does not fit.
std::optional<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

class Reshape final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& sizes = ctx.input(1);
    const int64_t elements = ctx.input(0).num_elements();
    // A single number is taken for a vector of one: old graphs have it.
    if (sizes.rank() != 1 && !(sizes.is_valid() && sizes.rank() == 0)) {
      return InvalidArgument("sizes input must be 1-D, not ", sizes.shape().ToString());
    }
    if (sizes.num_elements() > Shape::kMaxRank) {
      return InvalidArgument("too many dimensions: ", sizes.num_elements(), ", must be < ",
                             Shape::kMaxRank);
    }
    Integers dims = IntegersOf(sizes);
    int open = -1;
    int64_t product = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == -1) {
        if (open >= 0) {
          return InvalidArgument("Only one input size may be -1, not both ", open, " and ", i);
        }
        open = static_cast<int>(i);
        continue;
      }
      if (dims[i] < 0) {
        return InvalidArgument("Size ", i, " must be non-negative, not ", dims[i]);
      }
      const std::optional<int64_t> next = CheckedProduct(product, dims[i]);
      if (!next) {
        return InvalidArgument("Shape [", absl::StrJoin(dims, ","),
                               "] would have more than 2**63 - 1 elements");
      }
      product = *next;
    }
    if (open >= 0) {
      int64_t missing = 0;
      if (product > 0) {
        missing = elements / product;
      } else if (elements > 0) {
        return InvalidArgument(
            "reshape cannot infer the missing input size for an empty tensor "
            "unless all specified input sizes are non-zero");
      }
      if (missing * product != elements) {
        return InvalidArgument("Input to reshape is a tensor with ", elements,
                               " values, but the requested shape requires a multiple of ", product);
      }
      dims[open] = missing;
      product = elements;
    }
    if (product != elements) {
      return InvalidArgument("Input to reshape is a tensor with ", elements,
                             " values, but the requested shape has ", product);
    }
    TFLEET_ASSIGN_OR_RETURN(const tensorfleet::Shape shape, tensorfleet::Shape::Make(dims));
    TFLEET_RETURN_IF_ERROR(Tensor::CheckSize(ctx.input(0).dtype(), shape));
    ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(shape));
    return OkStatus();
  }
};

class ExpandDims final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& dim = ctx.input(1);
    if (dim.num_elements() != 1)
      return InvalidArgument("'dim' must be a tensor with a single value");
    const int rank = ctx.input(0).rank();
    const int64_t wanted = IntegerAt(dim, 0);
    const int64_t axis = NormalizedAxis(wanted, rank + 1);
    if (axis < 0) {
      return InvalidArgument("Tried to expand dim index ", wanted, " for tensor with ", rank,
                             " dimensions.");
    }
    const auto old = ctx.input(0).shape().dims();
    Integers dims(old.begin(), old.end());
    dims.insert(dims.begin() + axis, 1);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(shape));
    return OkStatus();
  }
};

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(KernelInit& init) { init.Get("squeeze_dims", &axes_); }
  Status Compute(KernelContext& ctx) const override {
    const Shape& shape = ctx.input(0).shape();
    absl::InlinedVector<bool, 8> named(shape.rank(), false);
    for (const int64_t wanted : axes_) {
      const int64_t axis = NormalizedAxis(wanted, shape.rank());
      if (axis < 0) {
        return InvalidArgument("Tried to squeeze dim index ", wanted, " for tensor with ",
                               shape.rank(), " dimensions.");
      }
      named[axis] = true;
    }
    Integers dims;
    for (int i = 0; i < shape.rank(); ++i) {
      const bool squeezed = axes_.empty() ? shape.dim(i) == 1 : named[i];
      if (!squeezed) {
        dims.push_back(shape.dim(i));
      } else if (shape.dim(i) != 1) {
        return InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ",
                               shape.dim(i));
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape squeezed, Shape::Make(dims));
    ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(squeezed));
    return OkStatus();
  }

 private:
  std::vector<int64_t> axes_;
};

class Bitcast final : public Kernel {
 public:
  explicit Bitcast(KernelInit& init) {
    init.Get("T", &from_);
    init.Get("type", &to_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Shape& shape = ctx.input(0).shape();
    const int64_t old_size = ElementSize(from_);
    const int64_t new_size = ElementSize(to_);
    Integers dims(shape.dims().begin(), shape.dims().end());
    if (old_size > new_size) {
      dims.push_back(old_size / new_size);
    } else if (old_size < new_size) {
      if (dims.empty() || dims.back() * old_size != new_size) {
        return InvalidArgument("Cannot bitcast from ", DTypeName(from_), " to ", DTypeName(to_),
                               ": the last dimension of ", shape.ToString(), " must be ",
                               new_size / old_size);
      }
      dims.pop_back();
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape cast, Shape::Make(dims));
    Tensor value = ctx.TakeInput(0);
    if (old_size == new_size) {
      ctx.SetOutput(0, value.BitcastTo(to_));
      return OkStatus();
    }
    // Rows of a larger tensor may be less aligned than the new type wants.
    if (reinterpret_cast<uintptr_t>(value.raw()) % new_size != 0 ||
        value.raw() != (value.buffer() ? value.buffer()->data() : nullptr)) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    ctx.SetOutput(0, Tensor::FromBuffer(to_, cast, value.buffer()));
    return OkStatus();
  }

 private:
  DType from_ = DType::kInvalid;
  DType to_ = DType::kInvalid;
};

// Where each of the concatenated tensors begins, for the gradient of Concat.
class ConcatOffset final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t wanted, ScalarInteger(ctx.input(0), "Concat dim tensor"));
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).rank() != 1) {
        return InvalidArgument("input ", i - 1, " should be a vector, but got shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    const Integers first = IntegersOf(ctx.input(1));
    const int64_t axis = NormalizedAxis(wanted, first.size());
    if (axis < 0) {
      return InvalidArgument("Concat dim is out of range: ", wanted, " vs. ", first.size());
    }
    Integers offset(first.size(), 0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Integers dims = IntegersOf(ctx.input(i));
      if (dims.size() != first.size()) {
        return InvalidArgument("input ", i - 1, " should contain ", first.size(),
                               " elements, but got ", dims.size());
      }
      TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerVector(ctx.input(i).dtype(), offset));
      ctx.SetOutput(i - 1, std::move(out));
      for (size_t d = 0; d < dims.size(); ++d) {
        if (static_cast<int64_t>(d) == axis) {
          offset[d] = static_cast<int64_t>(static_cast<uint64_t>(offset[d]) + dims[d]);
        } else if (dims[d] != first[d]) {
          return InvalidArgument("All dimensions except ", axis, " must match. Input ", i - 1,
                                 " has shape [", absl::StrJoin(dims, " "),
                                 "] and doesn't match input 0 with shape [",
                                 absl::StrJoin(first, " "), "].");
        }
      }
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterShapeKernels(KernelRegistry& kernels) {
  for (const DType out : {DType::kInt32, DType::kInt64}) {
    kernels.Add<ShapeOf>("Shape", kCpu, {{"out_type", out}});
    kernels.Add<ShapeOf>("ShapeN", kCpu, {{"out_type", out}});
    kernels.Add<Size>("Size", kCpu, {{"out_type", out}});
  }
  kernels.Add<Rank>("Rank", kCpu);
  kernels.Add<Reshape>("Reshape", kCpu);
  kernels.Add<ExpandDims>("ExpandDims", kCpu);
  kernels.Add<Squeeze>("Squeeze", kCpu);
  kernels.Add<Bitcast>("Bitcast", kCpu);
  kernels.Add<ConcatOffset>("ConcatOffset", kCpu);
}

}  // namespace tensorfleet::cpu
