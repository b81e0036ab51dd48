// Kernels that enlarge a tensor: Tile, BroadcastTo, Pad, PadV2, MirrorPad.
// Schemas and shape rules: runtime/ops/array/rearrange_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class Tile final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& multiples_input = ctx.input(1);
    const int rank = value.rank();
    if (multiples_input.rank() != 1) {
      return InvalidArgument("Expected multiples to be 1-D, but got shape ",
                             multiples_input.shape().ToString());
    }
    if (multiples_input.num_elements() != rank) {
      return InvalidArgument("Expected multiples argument to be a vector of length ", rank,
                             " but got length ", multiples_input.num_elements());
    }
    const Integers multiples = IntegersOf(multiples_input);
    Integers dims;
    bool is_same = true;
    for (int i = 0; i < rank; ++i) {
      if (multiples[i] < 0) {
        return InvalidArgument("Expected multiples[", i, "] >= 0, but got ", multiples[i]);
      }
      int64_t dim;
      if (__builtin_mul_overflow(value.dim(i), multiples[i], &dim)) {
        return InvalidArgument("Tile: dimension ", i, " of ", value.dim(i), " elements, ",
                               multiples[i], " times, is too large");
      }
      dims.push_back(dim);
      is_same &= multiples[i] == 1;
    }
    if (is_same) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    if (shape.num_elements() > 0) {
      // Each axis becomes two: which copy (standing still in the input), and which element.
      const auto from = DenseStrides(value.shape().dims());
      const auto to = DenseStrides(dims);
      CopyAxes axes;
      for (int i = 0; i < rank; ++i) {
        axes.push_back({multiples[i], 0, to[i] * value.dim(i)});
        axes.push_back({value.dim(i), from[i], to[i]});
      }
      StridedCopy(value.dtype(), axes, value.raw(), out.mutable_raw(), &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

class BroadcastTo final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(1)));
    if (shape == value.shape()) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const int added = shape.rank() - value.rank();
    if (added < 0) {
      return InvalidArgument("Rank of input (", value.rank(),
                             ") must be no greater than rank of output shape (", shape.rank(),
                             ").");
    }
    for (int i = 0; i < value.rank(); ++i) {
      if (value.dim(i) != 1 && value.dim(i) != shape.dim(i + added)) {
        return InvalidArgument("Incompatible shapes: ", value.shape().ToString(), " vs. ",
                               shape.ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    if (shape.num_elements() > 0) {
      const auto from = DenseStrides(value.shape().dims());
      const auto to = DenseStrides(shape.dims());
      CopyAxes axes;
      for (int i = 0; i < shape.rank(); ++i) {
        const bool repeats = i < added || value.dim(i - added) == 1;
        axes.push_back({shape.dim(i), repeats ? 0 : from[i - added], to[i]});
      }
      StridedCopy(value.dtype(), axes, value.raw(), out.mutable_raw(), &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// The paddings of each axis, [before, after], and the padded shape.
struct Paddings {
  Integers before;
  Integers after;
  Shape shape;
};

StatusOr<Paddings> ReadPaddings(const Shape& shape, const Tensor& input) {
  if (input.rank() != 2 || input.dim(1) != 2) {
    return InvalidArgument("paddings must be a matrix with 2 columns: ", input.shape().ToString());
  }
  // A single pair is fine for a scalar: old graphs have it.
  const bool scalar_by_custom = shape.rank() == 0 && input.dim(0) == 1;
  if (input.dim(0) != shape.rank() && !scalar_by_custom) {
    return InvalidArgument("The first dimension of paddings must be the rank of inputs",
                           input.shape().ToString(), " ", shape.ToString());
  }
  const Integers flat = IntegersOf(input);
  Paddings paddings;
  Integers dims;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t before = flat[2 * i];
    const int64_t after = flat[2 * i + 1];
    if (before < 0 || after < 0) {
      return InvalidArgument("Paddings must be non-negative: ", before, " ", after);
    }
    int64_t dim;
    if (__builtin_add_overflow(shape.dim(i), before, &dim) ||
        __builtin_add_overflow(dim, after, &dim)) {
      return InvalidArgument("Paddings ", before, " and ", after, " make dimension ", i,
                             " too large");
    }
    paddings.before.push_back(before);
    paddings.after.push_back(after);
    dims.push_back(dim);
  }
  TFLEET_ASSIGN_OR_RETURN(paddings.shape, Shape::Make(dims));
  return paddings;
}

// Copies `value` into the middle of `out`.
void CopyInside(const KernelContext& ctx, const Tensor& value, const Paddings& paddings,
                Tensor* out) {
  if (value.num_elements() == 0) return;
  const auto from = DenseStrides(value.shape().dims());
  const auto to = DenseStrides(paddings.shape.dims());
  CopyAxes axes;
  int64_t offset = 0;
  for (int i = 0; i < value.rank(); ++i) {
    axes.push_back({value.dim(i), from[i], to[i]});
    offset += paddings.before[i] * to[i];
  }
  StridedCopy(value.dtype(), axes, value.raw(), MutableElementAt(*out, offset), &ctx.pool());
}

// Sets what CopyInside leaves out: for each axis what lies before and after `value` along it, over
// the whole of the axes inside it and `value`'s part of those outside it.
void FillAround(const KernelContext& ctx, const Shape& inside, const Paddings& paddings,
                const void* element, Tensor* out) {
  const auto to = DenseStrides(paddings.shape.dims());
  int64_t offset = 0;  // of the first element of `inside` along the axes so far
  for (int axis = 0; axis < inside.rank(); ++axis) {
    const auto fill = [&](int64_t first, int64_t count) {
      CopyAxes axes;
      for (int i = 0; i < inside.rank(); ++i) {
        const int64_t size = i < axis ? inside.dim(i) : i == axis ? count : paddings.shape.dim(i);
        axes.push_back({size, 0, to[i]});
      }
      StridedCopy(out->dtype(), axes, element, MutableElementAt(*out, offset + first * to[axis]),
                  &ctx.pool());
    };
    fill(0, paddings.before[axis]);
    fill(paddings.before[axis] + inside.dim(axis), paddings.after[axis]);
    offset += paddings.before[axis] * to[axis];
  }
}

// Pad and PadV2.
class Pad final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(value.shape(), ctx.input(1)));
    if (ctx.num_inputs() == 3 && !ctx.input(2).shape().is_scalar()) {
      return InvalidArgument("constant_values must be a scalar. Found: ",
                             ctx.input(2).shape().ToString());
    }
    if (paddings.shape == value.shape()) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(const Tensor around, ctx.num_inputs() == 3
                                                     ? StatusOr<Tensor>(ctx.input(2))
                                                     : Tensor::Zeros(value.dtype(), Shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), paddings.shape));
    FillAround(ctx, value.shape(), paddings, around.raw(), &out);
    CopyInside(ctx, value, paddings, &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// How far the mirror lies behind the edge: 1 leaves the edge's own element out of the reflection.
StatusOr<int64_t> MirrorOffset(KernelInit& init) {
  TFLEET_ASSIGN_OR_RETURN(const std::string mode, GetAttr<std::string>(init.def(), "mode"));
  return mode == "REFLECT" ? 1 : 0;
}

Status CheckMirror(const Shape& shape, const Paddings& paddings, int64_t offset) {
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t most = shape.dim(i) - offset;
    if (paddings.before[i] <= most && paddings.after[i] <= most) continue;
    if (offset == 1) {
      return InvalidArgument("paddings must be less than the dimension size: ", paddings.before[i],
                             ", ", paddings.after[i], " not less than ", shape.dim(i));
    }
    return InvalidArgument(
        "paddings must be no greater than the dimension size: ", paddings.before[i], ", ",
        paddings.after[i], " greater than ", shape.dim(i));
  }
  return OkStatus();
}

class MirrorPad final : public Kernel {
 public:
  explicit MirrorPad(KernelInit& init) {
    StatusOr<int64_t> offset = MirrorOffset(init);
    offset.ok() ? void(offset_ = *offset) : init.Fail(offset.status());
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(value.shape(), ctx.input(1)));
    TFLEET_RETURN_IF_ERROR(CheckMirror(value.shape(), paddings, offset_));
    if (paddings.shape == value.shape()) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), paddings.shape));
    CopyInside(ctx, value, paddings, &out);
    // Axis by axis, inside out: the part that is there already is mirrored over its edges.
    Integers begin = paddings.before;
    Integers size(value.shape().dims().begin(), value.shape().dims().end());
    const auto strides = DenseStrides(paddings.shape.dims());
    for (int axis = value.rank() - 1; axis >= 0; --axis) {
      const int64_t before = paddings.before[axis];
      const int64_t after = paddings.after[axis];
      const int64_t first = begin[axis];
      const int64_t last = first + size[axis] - 1;
      Mirror(ctx, &out, strides, begin, size, axis, first + offset_, first - 1, before);
      Mirror(ctx, &out, strides, begin, size, axis, last - offset_, last + 1, after, true);
      begin[axis] = 0;
      size[axis] += before + after;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Copies `count` layers of `axis`: upwards from layer `from` to downwards from layer `to`, or the
  // other way round. The other axes cover [begin, begin + size).
  static void Mirror(const KernelContext& ctx, Tensor* out, absl::Span<const int64_t> strides,
                     const Integers& begin, const Integers& size, int axis, int64_t from,
                     int64_t to, int64_t count, bool downwards = false) {
    if (count == 0) return;
    const int64_t step = downwards ? -strides[axis] : strides[axis];
    CopyAxes axes;
    int64_t base = 0;
    for (size_t i = 0; i < size.size(); ++i) {
      if (static_cast<int>(i) == axis) {
        axes.push_back({count, step, -step});
      } else {
        axes.push_back({size[i], strides[i], strides[i]});
        base += begin[i] * strides[i];
      }
    }
    StridedCopy(out->dtype(), axes, ElementAt(*out, base + from * strides[axis]),
                MutableElementAt(*out, base + to * strides[axis]), &ctx.pool());
  }

  int64_t offset_ = 0;
};

}  // namespace

void RegisterPadKernels(KernelRegistry& kernels) {
  kernels.Add<Tile>("Tile", kCpu);
  kernels.Add<BroadcastTo>("BroadcastTo", kCpu);
  kernels.Add<Pad>("Pad", kCpu);
  kernels.Add<Pad>("PadV2", kCpu);
  kernels.Add<MirrorPad>("MirrorPad", kCpu);
}

}  // namespace tensorfleet::cpu
