// Cross. Schema: runtime/ops/linalg/decomposition_ops.cc.
#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
class Cross final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return InvalidArgument("Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
                             b.shape().ToString());
    }
    if (a.rank() < 1) return InvalidArgument("Input must be at least 1D", a.shape().ToString());
    if (a.dim(-1) != 3) {
      return FailedPrecondition("Cross-products are only defined for 3-element vectors.");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(a.dtype(), a.shape()));
    const T* const x = a.values<T>().data();
    const T* const y = b.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    ParallelFor(ctx, a.num_elements() / 3, 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
        to[i] = Difference(x[i + 1], y[i + 2], x[i + 2], y[i + 1]);
        to[i + 1] = Difference(x[i + 2], y[i], x[i], y[i + 2]);
        to[i + 2] = Difference(x[i], y[i + 1], x[i + 1], y[i]);
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // ab - cd; integers wrap around.
  static T Difference(T a, T b, T c, T d) {
    if constexpr (std::is_integral_v<T>) {
      using U = uint64_t;
      return static_cast<T>(U(a) * U(b) - U(c) * U(d));
    } else {
      return a * b - c * d;
    }
  }
};

}  // namespace

void RegisterCrossKernels(KernelRegistry& r) { AddForTypes<Cross>(r, "Cross", Reals()); }

}  // namespace tensorfleet::cpu
