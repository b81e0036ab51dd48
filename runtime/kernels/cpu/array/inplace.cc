// Rows of a tensor changed, added to or subtracted from (InplaceUpdate, InplaceAdd, InplaceSub),
// and a slice of it (TensorStridedSliceUpdate). In the memory of the first input where nobody else
// holds it. Schemas: runtime/ops/array/inplace_ops.cc.
#include <complex>
#include <vector>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/strided_slice.h"

namespace tensorfleet::cpu {
namespace {

// The first input, or a copy of it.
StatusOr<Tensor> OwnInput(KernelContext& ctx) {
  Tensor own = ctx.TakeInput(0);
  if (!own.buffer_is_unique()) {
    TFLEET_ASSIGN_OR_RETURN(own, own.Clone());
  }
  return own;
}

enum class RowChange { kUpdate, kAdd, kSubtract };

// False for types without arithmetic.
bool ChangeRow(RowChange change, DType dtype, void* row, const void* by, int64_t n) {
  if (change == RowChange::kUpdate) {
    CopyElements(dtype, row, by, n);
    return true;
  }
  bool is_known = false;
  ForEachType(Numbers(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (dtype != kDTypeOf<T>) return;
    is_known = true;
    T* const to = static_cast<T*>(row);
    const T* const from = static_cast<const T*>(by);
    if (change == RowChange::kAdd) {
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + from[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] - from[i]);
    }
  });
  return is_known;
}

template <RowChange kChange>
class InplaceRows final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &rows = ctx.input(1), &v = ctx.input(2);
    TFLEET_RETURN_IF_ERROR(Check(ctx.input(0).shape(), rows.shape(), v.shape()));
    if (ctx.input(0).num_elements() == 0 || v.num_elements() == 0) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, OwnInput(ctx));
    const int64_t count = out.dim(0), width = out.num_elements() / count;
    const absl::Span<const int32_t> numbers = rows.values<int32_t>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      // Numbers outside count round and round.
      const int64_t row = (numbers[i] % count + count) % count;
      if (!ChangeRow(kChange, out.dtype(), MutableElementAt(out, row * width),
                     ElementAt(v, static_cast<int64_t>(i) * width), width)) {
        return InvalidArgument("Unsupported data type: ", DTypeName(out.dtype()));
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status Check(const Shape& x, const Shape& rows, const Shape& v) {
    if (rows.rank() != 1) return InvalidArgument("i must be a vector. ", rows.ToString());
    if (x.rank() != v.rank()) {
      return InvalidArgument("x and v shape doesn't match (ranks differ): ", x.ToString(), " vs. ",
                             v.ToString());
    }
    if (x.rank() == 0) return InvalidArgument("x must be at least a vector");
    for (int i = 1; i < x.rank(); ++i) {
      if (x.dim(i) != v.dim(i)) {
        return InvalidArgument("x and v shape doesn't match at index ", i, " : ", x.ToString(),
                               " vs. ", v.ToString());
      }
    }
    if (rows.dim(0) != v.dim(0)) {
      return InvalidArgument("i and x shape doesn't match at index 0: ", rows.ToString(), " vs. ",
                             v.ToString());
    }
    return OkStatus();
  }
};

class TensorStridedSliceUpdate final : public Kernel {
 public:
  explicit TensorStridedSliceUpdate(KernelInit& init) {
    init.Get("begin_mask", &masks_.begin);
    init.Get("end_mask", &masks_.end);
    init.Get("ellipsis_mask", &masks_.ellipsis);
    init.Get("new_axis_mask", &masks_.new_axis);
    init.Get("shrink_axis_mask", &masks_.shrink);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(4);
    for (int i = 1; i < 4; ++i) {
      if (ctx.input(i).rank() != 1 || ctx.input(i).num_elements() != ctx.input(1).num_elements()) {
        return InvalidArgument("begin, end and strides must be vectors of one length, but input ",
                               i, " has shape ", ctx.input(i).shape().ToString());
      }
    }
    std::vector<int64_t> begin, end, strides;
    const Shape whole = ctx.input(0).shape();
    TFLEET_ASSIGN_OR_RETURN(
        const StridedSlicePlan plan,
        PlanStridedSlice(
            whole, {WidenedIntegers(ctx.input(1), &begin), WidenedIntegers(ctx.input(2), &end),
                    WidenedIntegers(ctx.input(3), &strides), masks_}));
    TFLEET_ASSIGN_OR_RETURN(const Shape slice, plan.result.ToShape());
    StatusOr<Shape> fit = BroadcastShapes(value.shape(), slice);
    if (!fit.ok() || *fit != slice) {
      return InvalidArgument("Cannot broadcast input shape ", value.shape().ToString(),
                             " into final shape ", slice.ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, OwnInput(ctx));
    if (slice.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const Tensor spread, Spread(value, slice));
      Write(ctx, plan, spread, out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // `value` broadcast to `shape`.
  static StatusOr<Tensor> Spread(const Tensor& value, const Shape& shape) {
    if (value.shape() == shape) return value;
    TFLEET_ASSIGN_OR_RETURN(Tensor spread, Tensor::Allocate(value.dtype(), shape));
    const BroadcastPlan<2> plan = PlanBroadcast<2>(shape, {&value.shape(), &shape});
    plan.ForRuns(0, plan.outer(), [&](int64_t to, const std::array<int64_t, 2>& from) {
      for (int64_t i = 0; i < plan.inner(); ++i) {
        CopyElements(value.dtype(), MutableElementAt(spread, to + i),
                     ElementAt(value, from[0] + i * plan.strides[0].back()), 1);
      }
    });
    return spread;
  }

  static void Write(const KernelContext& ctx, const StridedSlicePlan& plan, const Tensor& value,
                    Tensor& out) {
    const auto whole_strides = DenseStrides(out.shape().dims());
    std::vector<int64_t> sizes;
    for (const StridedSliceAxis& axis : plan.axes) sizes.push_back(axis.size);
    const auto value_strides = DenseStrides(sizes);
    CopyAxes axes;
    int64_t first = 0;
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      const StridedSliceAxis& axis = plan.axes[i];
      axes.push_back({axis.size, value_strides[i], axis.stride * whole_strides[i]});
      first += axis.begin * whole_strides[i];
    }
    StridedCopy(out.dtype(), axes, value.raw(), MutableElementAt(out, first), &ctx.pool());
  }

  StridedSliceMasks masks_;
};

}  // namespace

void RegisterInplaceKernels(KernelRegistry& r) {
  r.Add<InplaceRows<RowChange::kUpdate>>("InplaceUpdate", kCpu);
  r.Add<InplaceRows<RowChange::kAdd>>("InplaceAdd", kCpu);
  r.Add<InplaceRows<RowChange::kSubtract>>("InplaceSub", kCpu);
  r.Add<TensorStridedSliceUpdate>("TensorStridedSliceUpdate", kCpu);
}

}  // namespace tensorfleet::cpu
