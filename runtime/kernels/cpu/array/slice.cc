// Kernels that cut a box out of a tensor: Slice, StridedSlice and its gradient.
// Schemas and shape rules: runtime/ops/array/slice_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/strided_slice.h"

namespace tensorfleet::cpu {
namespace {

// Rows [begin, end) of `value` without a copy, where that leaves the memory aligned.
bool ShareRows(const Tensor& value, int64_t begin, int64_t end, Tensor* rows) {
  *rows = value.Rows(begin, end);
  return rows->is_aligned() || !IsPlainData(value.dtype());
}

class Slice final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& begin_input = ctx.input(1);
    const Tensor& size_input = ctx.input(2);
    const int rank = value.rank();
    if (begin_input.rank() != 1 || size_input.rank() != 1 || begin_input.num_elements() != rank ||
        size_input.num_elements() != rank) {
      return InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ", rank,
                             ", but got shapes ", begin_input.shape().ToString(), " and ",
                             size_input.shape().ToString(), " instead.");
    }
    const Integers begin = IntegersOf(begin_input);
    Integers size = IntegersOf(size_input);
    bool is_whole = true;
    bool is_rows = true;
    for (int i = 0; i < rank; ++i) {
      const int64_t dim = value.dim(i);
      if (begin[i] < 0 || begin[i] > dim) {
        return InvalidArgument("Expected begin[", i, "] in [0, ", dim, "], but got ", begin[i]);
      }
      if (size[i] == -1) size[i] = dim - begin[i];
      if (size[i] < 0 || size[i] > dim - begin[i]) {
        return InvalidArgument("Expected size[", i, "] in [0, ", dim - begin[i], "], but got ",
                               size[i]);
      }
      const bool whole = begin[i] == 0 && size[i] == dim;
      is_whole &= whole;
      is_rows &= i == 0 || whole;
    }
    if (is_whole) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    Tensor rows;
    if (is_rows && ShareRows(value, begin[0], begin[0] + size[0], &rows)) {
      ctx.SetOutput(0, std::move(rows));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(size));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    if (shape.num_elements() > 0) {
      const auto from = DenseStrides(value.shape().dims());
      const auto to = DenseStrides(size);
      CopyAxes axes;
      int64_t offset = 0;
      for (int i = 0; i < rank; ++i) {
        axes.push_back({size[i], from[i], to[i]});
        offset += begin[i] * from[i];
      }
      StridedCopy(value.dtype(), axes, ElementAt(value, offset), out.mutable_raw(), &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// Attributes and inputs that StridedSlice and its gradient share.
class SliceReader {
 public:
  explicit SliceReader(KernelInit& init) {
    init.Get("begin_mask", &masks_.begin);
    init.Get("end_mask", &masks_.end);
    init.Get("ellipsis_mask", &masks_.ellipsis);
    init.Get("new_axis_mask", &masks_.new_axis);
    init.Get("shrink_axis_mask", &masks_.shrink);
  }
  // Reads begin, end and strides from inputs 1, 2 and 3.
  StatusOr<StridedSlicePlan> Plan(const KernelContext& ctx, const Shape& shape) const {
    for (int i = 1; i <= 3; ++i) {
      if (ctx.input(i).rank() != 1) {
        return InvalidArgument(
            "Expected begin, end, and strides to be 1D equal size tensors, but "
            "got shapes ",
            ctx.input(1).shape().ToString(), ", ", ctx.input(2).shape().ToString(), ", and ",
            ctx.input(3).shape().ToString(), " instead.");
      }
    }
    const Integers begin = IntegersOf(ctx.input(1));
    const Integers end = IntegersOf(ctx.input(2));
    const Integers strides = IntegersOf(ctx.input(3));
    return PlanStridedSlice(shape, {begin, end, strides, masks_});
  }

 private:
  StridedSliceMasks masks_;
};

// The grid of a slice: strides on the side of the whole tensor and on the dense side.
struct Grid {
  CopyAxes axes;  // `from` is the whole tensor's side
  int64_t offset = 0;
};

Grid GridOf(const StridedSlicePlan& plan, const Shape& whole) {
  Integers sizes;
  for (const StridedSliceAxis& axis : plan.axes) sizes.push_back(axis.size);
  const auto strides = DenseStrides(whole.dims());
  const auto dense = DenseStrides(sizes);
  Grid grid;
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const StridedSliceAxis& axis = plan.axes[i];
    // A stride may be huge where it is never taken.
    grid.axes.push_back({axis.size, axis.size > 1 ? axis.stride * strides[i] : 0, dense[i]});
    grid.offset += axis.begin * strides[i];
  }
  return grid;
}

class StridedSlice final : public Kernel {
 public:
  explicit StridedSlice(KernelInit& init) : reader_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const StridedSlicePlan plan, reader_.Plan(ctx, value.shape()));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, plan.result.ToShape());
    if (plan.is_whole) {
      ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(shape));
      return OkStatus();
    }
    if (plan.is_rows) {
      Tensor rows;
      const StridedSliceAxis& first = plan.axes[0];
      if (first.size == 0 || ShareRows(value, first.begin, first.begin + first.size, &rows)) {
        if (first.size == 0) rows = value.Rows(0, 0);
        ctx.SetOutput(0, rows.Reshaped(shape));
        return OkStatus();
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    if (shape.num_elements() == 1) {
      int64_t offset = 0;
      for (int i = 0; i < value.rank(); ++i) offset = offset * value.dim(i) + plan.axes[i].begin;
      CopyElements(value.dtype(), out.mutable_raw(), ElementAt(value, offset), 1);
    } else if (shape.num_elements() > 0) {
      const Grid grid = GridOf(plan, value.shape());
      StridedCopy(value.dtype(), grid.axes, ElementAt(value, grid.offset), out.mutable_raw(),
                  &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const SliceReader reader_;
};

// dy in the places that StridedSlice read, zeros (or empty objects) elsewhere.
class StridedSliceGrad final : public Kernel {
 public:
  explicit StridedSliceGrad(KernelInit& init) : reader_(init) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape whole, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(const StridedSlicePlan plan, reader_.Plan(ctx, whole));
    const Tensor& dy = ctx.input(4);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, plan.result.ToShape());
    if (shape != dy.shape()) {
      return InvalidArgument("shape of dy was ", dy.shape().ToString(), " instead of ",
                             shape.ToString());
    }
    if (plan.is_whole) {
      ctx.SetOutput(0, ctx.TakeInput(4).Reshaped(whole));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(dy.dtype(), whole));
    if (dy.num_elements() > 0) {
      Grid grid = GridOf(plan, whole);
      for (CopyAxis& axis : grid.axes) std::swap(axis.from, axis.to);
      StridedCopy(dy.dtype(), grid.axes, dy.raw(), MutableElementAt(out, grid.offset), &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const SliceReader reader_;
};

}  // namespace

void RegisterSliceKernels(KernelRegistry& kernels) {
  kernels.Add<Slice>("Slice", kCpu);
  kernels.Add<StridedSlice>("StridedSlice", kCpu);
  kernels.Add<StridedSliceGrad>("StridedSliceGrad", kCpu);
}

}  // namespace tensorfleet::cpu
