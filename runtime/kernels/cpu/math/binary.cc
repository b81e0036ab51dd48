#include "runtime/kernels/cpu/math/binary.h"

#include <atomic>

#include "runtime/kernels/cpu/broadcast.h"

namespace tensorfleet::cpu {

StatusOr<Tensor> BinaryKernel::Output(KernelContext& ctx, const Tensor& a, const Tensor& b,
                                      const Shape& shape) const {
  if (in_size_ == out_size_) {
    // A sole holder's buffer is reused; an input that does not fit, or that others hold, is not.
    if (a.num_elements() == shape.num_elements() && a.buffer_is_unique()) {
      return ctx.ForwardOrAllocate(0, out_type_, shape);
    }
    if (b.num_elements() == shape.num_elements()) return ctx.ForwardOrAllocate(1, out_type_, shape);
  }
  return ctx.Allocate(out_type_, shape);
}

Status BinaryKernel::Compute(KernelContext& ctx) const {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  if (a.shape() == b.shape()) {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Output(ctx, a, b, a.shape()));
    return RunOver(ctx, a, b, std::move(out), 1, 1);
  }
  if (b.num_elements() == 1 && b.rank() <= a.rank()) {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Output(ctx, a, b, a.shape()));
    return RunOver(ctx, a, b, std::move(out), 1, 0);
  }
  if (a.num_elements() == 1 && a.rank() <= b.rank()) {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Output(ctx, a, b, b.shape()));
    return RunOver(ctx, a, b, std::move(out), 0, 1);
  }
  return ComputeBroadcast(ctx, a, b);
}

Status BinaryKernel::RunOver(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor out,
                             int a_step, int b_step) const {
  const int64_t n = out.num_elements();
  const char* x = static_cast<const char*>(a.raw());
  const char* y = static_cast<const char*>(b.raw());
  char* z = static_cast<char*>(out.mutable_raw());
  const char* error = nullptr;
  if (n == 0) {
    // Nothing is computed, so nothing can be wrong with the operand that is there.
  } else if (n <= kInlineElements) {
    error = loop_(x, y, z, n, a_step, b_step);
  } else {
    std::atomic<const char*> first_error{nullptr};
    ForElements(ctx, n, ns_per_kilo_, [&](int64_t begin, int64_t end) {
      const char* e = loop_(x + begin * a_step * in_size_, y + begin * b_step * in_size_,
                            z + begin * out_size_, end - begin, a_step, b_step);
      if (e != nullptr) first_error.store(e, std::memory_order_relaxed);
    });
    error = first_error.load(std::memory_order_relaxed);
  }
  if (error != nullptr) return InvalidArgument(error);
  ctx.SetOutput(0, std::move(out));
  return OkStatus();
}

Status BinaryKernel::ComputeBroadcast(KernelContext& ctx, const Tensor& a, const Tensor& b) const {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(a.shape(), b.shape()));
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Output(ctx, a, b, shape));
  if (shape.num_elements() > 0) {
    const BroadcastPlan<2> plan = PlanBroadcast<2>(shape, {&a.shape(), &b.shape()});
    const char* x = static_cast<const char*>(a.raw());
    const char* y = static_cast<const char*>(b.raw());
    char* z = static_cast<char*>(out.mutable_raw());
    const int a_step = plan.strides[0].back() != 0, b_step = plan.strides[1].back() != 0;
    std::atomic<const char*> first_error{nullptr};
    const auto runs = [&](int64_t begin, int64_t end) {
      plan.ForRuns(begin, end, [&](int64_t to, const std::array<int64_t, 2>& from) {
        const char* e = loop_(x + from[0] * in_size_, y + from[1] * in_size_, z + to * out_size_,
                              plan.inner(), a_step, b_step);
        if (e != nullptr) first_error.store(e, std::memory_order_relaxed);
      });
    };
    if (shape.num_elements() <= kInlineElements) {
      runs(0, plan.outer());
    } else {
      ParallelFor(ctx, plan.outer(), 10 + plan.inner() * ns_per_kilo_ / 1024, runs);
    }
    if (const char* error = first_error.load(std::memory_order_relaxed))
      return InvalidArgument(error);
  }
  ctx.SetOutput(0, std::move(out));
  return OkStatus();
}

Status SameShapeKernel::Compute(KernelContext& ctx) const {
  if (ctx.input(0).shape() != ctx.input(1).shape()) {
    return InvalidArgument(
        "Inputs to operation ", ctx.node().name(), " of type ", ctx.node().op(),
        " must have the same size and shape.  Input 0: ", ctx.input(0).shape().ToString(),
        " != input 1: ", ctx.input(1).shape().ToString());
  }
  return BinaryKernel::Compute(ctx);
}

}  // namespace tensorfleet::cpu
