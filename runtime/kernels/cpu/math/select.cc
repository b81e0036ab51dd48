// Select, SelectV2 and ClipByValue.
#include <cstdint>
#include <string>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

// Values are only moved, so all plain types of one size share their code. Storage is the type that
// is moved.
template <typename Storage>
const Storage* Values(const Tensor& t) {
  return static_cast<const Storage*>(t.raw());
}
template <typename Storage>
Storage* MutableValues(Tensor& t) {
  return static_cast<Storage*>(t.mutable_raw());
}

// The memory of whichever value has the result's shape, if it may be overwritten.
StatusOr<Tensor> OutputLike(KernelContext& ctx, const Shape& shape) {
  const int from = ctx.input(1).shape() == shape && ctx.input(1).buffer_is_unique() ? 1 : 2;
  if (ctx.input(from).shape() != shape) return ctx.Allocate(ctx.input(1).dtype(), shape);
  return ctx.ForwardOrAllocate(from, ctx.input(1).dtype(), shape);
}

template <typename Storage>
Status PickElements(KernelContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out, OutputLike(ctx, ctx.input(1).shape()));
  const bool* c = Values<bool>(ctx.input(0));
  const Storage* t = Values<Storage>(ctx.input(1));
  const Storage* e = Values<Storage>(ctx.input(2));
  Storage* z = MutableValues<Storage>(out);
  ForElements(ctx, out.num_elements(), 300, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_trivially_copyable_v<Storage>) {
      TFLEET_VECTORIZE
      for (int64_t i = begin; i < end; ++i) {
        const Storage from_t = t[i], from_e = e[i];  // both, so that no load depends on c
        z[i] = c[i] ? from_t : from_e;
      }
    } else {
      for (int64_t i = begin; i < end; ++i) z[i] = c[i] ? t[i] : e[i];
    }
  });
  ctx.SetOutput(0, std::move(out));
  return OkStatus();
}

template <typename Storage>
class Select final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& condition = ctx.input(0);
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    if (condition.shape().is_scalar()) {
      if (t.shape() != e.shape()) return SizesDiffer(t, e);
      ctx.SetOutput(0, ctx.TakeInput(condition.scalar<bool>() ? 1 : 2));
      return OkStatus();
    }
    if (t.shape() != e.shape()) return SizesDiffer(t, e);
    if (condition.shape() == t.shape()) return PickElements<Storage>(ctx);
    if (condition.rank() != 1) {
      return InvalidArgument("'cond' must be a vector, but saw shape: ",
                             condition.shape().ToString());
    }
    if (t.rank() < 1 || t.dim(0) != condition.num_elements()) {
      return InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: ",
                             t.rank() < 1 ? 0 : t.dim(0), " vs. ", condition.num_elements());
    }
    return PickRows(ctx, condition, t, e);
  }

 private:
  static Status SizesDiffer(const Tensor& t, const Tensor& e) {
    return InvalidArgument("'then' and 'else' must have the same size.  but received: ",
                           t.shape().ToString(), " vs. ", e.shape().ToString());
  }
  static Status PickRows(KernelContext& ctx, const Tensor& condition, const Tensor& t,
                         const Tensor& e) {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(t.dtype(), t.shape()));
    const int64_t rows = t.dim(0);
    const int64_t size = rows == 0 ? 0 : t.num_elements() / rows;
    const bool* c = Values<bool>(condition);
    for (int64_t row = 0; row < rows; ++row) {
      const Storage* from = Values<Storage>(c[row] ? t : e) + row * size;
      std::copy(from, from + size, MutableValues<Storage>(out) + row * size);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename Storage>
class SelectV2 final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& condition = ctx.input(0);
    const Tensor& t = ctx.input(1);
    const Tensor& e = ctx.input(2);
    if (t.shape() == e.shape()) {
      if (condition.shape() == t.shape()) return PickElements<Storage>(ctx);
      if (condition.shape().is_scalar()) {
        ctx.SetOutput(0, ctx.TakeInput(condition.scalar<bool>() ? 1 : 2));
        return OkStatus();
      }
    }
    StatusOr<Shape> values = BroadcastShapes(t.shape(), e.shape());
    StatusOr<Shape> shape = values.ok() ? BroadcastShapes(condition.shape(), *values) : values;
    if (!shape.ok()) {
      return InvalidArgument("condition ", condition.shape().ToString(), ", then ",
                             t.shape().ToString(), ", and else ", e.shape().ToString(),
                             " must be broadcastable");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, OutputLike(ctx, *shape));
    if (shape->num_elements() > 0) {
      const BroadcastPlan<3> plan =
          PlanBroadcast<3>(*shape, {&condition.shape(), &t.shape(), &e.shape()});
      const int64_t c_step = plan.strides[0].back(), t_step = plan.strides[1].back(),
                    e_step = plan.strides[2].back();
      Storage* z = MutableValues<Storage>(out);
      ParallelFor(ctx, plan.outer(), 10 + plan.inner(), [&](int64_t begin, int64_t end) {
        plan.ForRuns(begin, end, [&](int64_t to, const std::array<int64_t, 3>& from) {
          const bool* c = Values<bool>(condition) + from[0];
          const Storage* a = Values<Storage>(t) + from[1];
          const Storage* b = Values<Storage>(e) + from[2];
          for (int64_t i = 0; i < plan.inner(); ++i) {
            z[to + i] = c[i * c_step] ? a[i * t_step] : b[i * e_step];
          }
        });
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T>
class ClipByValue final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& t = ctx.input(0);
    const Tensor& low = ctx.input(1);
    const Tensor& high = ctx.input(2);
    const auto fits = [&](const Tensor& bound) {
      return bound.shape().is_scalar() || bound.shape() == t.shape();
    };
    if (!fits(low) || !fits(high)) {
      return InvalidArgument(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a "
          "scalar. "
          "input shape: ",
          t.shape().ToString(), "clip_value_min shape: ", low.shape().ToString(),
          "clip_value_max shape: ", high.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, t.dtype(), t.shape()));
    const T* x = Values<T>(t);
    const T* lows = Values<T>(low);
    const T* highs = Values<T>(high);
    const int64_t low_step = low.shape().is_scalar() ? 0 : 1,
                  high_step = high.shape().is_scalar() ? 0 : 1;
    T* z = MutableValues<T>(out);
    ForElements(ctx, t.num_elements(), 300, [&](int64_t begin, int64_t end) {
      TFLEET_VECTORIZE
      for (int64_t i = begin; i < end; ++i) {
        // NaN stays NaN; the lower bound wins over an upper bound below it.
        const T below = highs[i * high_step] < x[i] ? highs[i * high_step] : x[i];
        z[i] = below < lows[i * low_step] ? lows[i * low_step] : below;
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename Storage>
void AddSelects(KernelRegistry& r, std::initializer_list<DType> types) {
  for (const DType type : types) {
    r.Add<Select<Storage>>("Select", kCpu, {{"T", type}});
    r.Add<SelectV2<Storage>>("SelectV2", kCpu, {{"T", type}});
  }
}

}  // namespace

void RegisterSelectKernels(KernelRegistry& r) {
  AddSelects<uint8_t>(r,
                      {DType::kBool, DType::kInt8, DType::kUInt8, DType::kQInt8, DType::kQUInt8});
  AddSelects<uint16_t>(r, {DType::kInt16, DType::kUInt16, DType::kHalf, DType::kBFloat16,
                           DType::kQInt16, DType::kQUInt16});
  AddSelects<uint32_t>(r, {DType::kInt32, DType::kUInt32, DType::kFloat, DType::kQInt32});
  AddSelects<uint64_t>(r, {DType::kInt64, DType::kUInt64, DType::kDouble, DType::kComplex64});
  AddSelects<Bytes16>(r, {DType::kComplex128});
  AddSelects<std::string>(r, {DType::kString});
  AddSelects<ResourceHandle>(r, {DType::kResource});
  AddSelects<Variant>(r, {DType::kVariant});
  AddForTypes<ClipByValue>(r, "ClipByValue", Reals());
}

}  // namespace tensorfleet::cpu
