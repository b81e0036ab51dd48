// Kernels that take a tensor apart along an axis: Split, SplitV, Unpack. Along the first axis the
// pieces share the input's buffer. Schemas and shape rules: runtime/ops/array/join_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// A piece [begin, end) of `axis` as `shape` (of as many elements as the piece).
StatusOr<Tensor> Piece(const KernelContext& ctx, const Tensor& value, int axis, int64_t begin,
                       int64_t end, const Shape& shape) {
  const Shape& whole = value.shape();
  const int64_t rows = whole.SubShape(0, axis).num_elements();
  if (rows == 1 && shape.num_elements() > 0) {
    // Leading axes of one element fall away, the piece is a run of the input.
    const Tensor flat = value.Reshaped(whole.SubShape(axis, whole.rank()));
    Tensor piece = flat.Rows(begin, end);
    // Only aligned memory is handed on: kernels after this one may count on it.
    if (piece.is_aligned() || !IsPlainData(value.dtype())) return piece.Reshaped(shape);
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
  if (shape.num_elements() == 0) return out;
  const int64_t inner = whole.SubShape(axis + 1, whole.rank()).num_elements();
  const int64_t width = (end - begin) * inner;
  StridedCopy(value.dtype(), {{rows, whole.dim(axis) * inner, width}, {width, 1, 1}},
              ElementAt(value, begin * inner), out.mutable_raw(), &ctx.pool());
  return out;
}

// Cuts `value` along `axis` into pieces of the given sizes, one per output.
Status CutInto(KernelContext& ctx, const Tensor& value, int axis, absl::Span<const int64_t> sizes) {
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, value.shape().WithDim(axis, sizes[i]));
    TFLEET_ASSIGN_OR_RETURN(Tensor piece, Piece(ctx, value, axis, begin, begin + sizes[i], shape));
    ctx.SetOutput(static_cast<int>(i), std::move(piece));
    begin += sizes[i];
  }
  return OkStatus();
}

StatusOr<int> SplitAxis(const Tensor& axis_input, const Tensor& value) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t wanted, ScalarInteger(axis_input, "split_dim"));
  const int rank = value.rank();
  const int64_t axis = NormalizedAxis(wanted, rank);
  if (axis < 0) {
    return InvalidArgument("-input rank(-", rank, ") <= split_dim < input rank (", rank,
                           "), but got ", wanted);
  }
  return static_cast<int>(axis);
}

class Split final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const int axis, SplitAxis(ctx.input(0), value));
    const int count = ctx.num_outputs();
    if (value.dim(axis) % count != 0) {
      return InvalidArgument(
          "Number of ways to split should evenly divide the split dimension, "
          "but got split_dim ",
          axis, " (size = ", value.dim(axis), ") and num_split ", count);
    }
    if (count == 1) {
      ctx.SetOutput(0, ctx.TakeInput(1));
      return OkStatus();
    }
    const Integers sizes(count, value.dim(axis) / count);
    return CutInto(ctx, value, axis, sizes);
  }
};

class SplitV final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& size_input = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const int axis, SplitAxis(ctx.input(2), value));
    const int count = ctx.num_outputs();
    if (size_input.rank() != 1 || size_input.num_elements() != count) {
      return InvalidArgument(
          "size of the split_tensor must be 1-D and have the same elements as outputs got ",
          size_input.rank(), " -D and ", size_input.num_elements(), " elements");
    }
    Integers sizes = IntegersOf(size_input);
    int open = -1;
    int64_t total = 0;
    for (int i = 0; i < count; ++i) {
      if (sizes[i] == -1) {
        if (open >= 0) return InvalidArgument("There can only be one -1 in the input.");
        open = i;
      } else if (__builtin_add_overflow(total, sizes[i], &total)) {
        return InvalidArgument("the sizes of the pieces overflow int64");
      }
    }
    const int64_t whole = value.dim(axis);
    if (open >= 0 ? total > whole : total != whole) {
      return InvalidArgument(
          "Determined shape must either match input shape along split_dim exactly if fully "
          "specified, or be less than the size of the input along split_dim if not fully "
          "specified.  Got: ",
          total);
    }
    if (open >= 0) sizes[open] = whole - total;
    for (int i = 0; i < count; ++i) {
      if (sizes[i] < 0) {
        return InvalidArgument("Split size at index ", i, " must be >= 0. Got: ", sizes[i]);
      }
    }
    return CutInto(ctx, value, axis, sizes);
  }
};

class Unpack final : public Kernel {
 public:
  explicit Unpack(KernelInit& init) { init.Get("axis", &axis_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const int count = ctx.num_outputs();
    const int64_t axis = NormalizedAxis(axis_, value.rank());
    if (axis < 0) {
      return InvalidArgument("axis = ", axis_, " not in [", -value.rank(), ", ", value.rank(), ")");
    }
    if (value.dim(axis) != count) {
      return InvalidArgument("Input shape axis ", axis, " must equal ", count, ", got shape ",
                             value.shape().ToString());
    }
    Integers dims(value.shape().dims().begin(), value.shape().dims().end());
    dims.erase(dims.begin() + axis);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    for (int i = 0; i < count; ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor piece,
                              Piece(ctx, value, static_cast<int>(axis), i, i + 1, shape));
      ctx.SetOutput(i, std::move(piece));
    }
    return OkStatus();
  }

 private:
  int64_t axis_ = 0;
};

}  // namespace

void RegisterSplitKernels(KernelRegistry& kernels) {
  kernels.Add<Split>("Split", kCpu);
  kernels.Add<SplitV>("SplitV", kCpu);
  kernels.Add<Unpack>("Unpack", kCpu);
}

}  // namespace tensorfleet::cpu
