// Softmax and LogSoftmax along the last dimension.
#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/softmax_row.h"

namespace tensorfleet::cpu {
namespace {

template <typename T, bool logarithm>
class Softmax final : public Kernel {
 public:
  using W = Widened<T>;

  Status Compute(KernelContext& ctx) const override {
    const Tensor& logits = ctx.input(0);
    if (logits.rank() < 1) {
      return InvalidArgument("logits must have >= 1 dimension, got ", logits.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, kDTypeOf<T>, logits.shape()));
    const int64_t classes = logits.dim(-1);
    if (logits.num_elements() > 0) {
      const T* x = logits.values<T>().data();
      T* y = out.template mutable_values<T>().data();
      ParallelFor(
          ctx, logits.num_elements() / classes, 20 + 2 * classes, [&](int64_t begin, int64_t end) {
            RowBuffer<T> in(classes), result(classes);
            for (int64_t row = begin; row < end; ++row) {
              const ConstArrayMap<W> from(in.Read(x + row * classes), classes);
              ArrayMap<W> to(result.Place(y + row * classes), classes);
              const W largest = from.maxCoeff();
              if constexpr (logarithm) {
                const W log_sum = std::log((from - largest).exp().sum());
                to = (from - largest) - log_sum;  // in this order, large logits lose nothing
              } else {
                to = (from - largest).exp();
                to *= W(1) / to.sum();
              }
              result.Write(y + row * classes);
            }
          });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T>
using PlainSoftmax = Softmax<T, false>;
template <typename T>
using LogSoftmax = Softmax<T, true>;

}  // namespace

void RegisterSoftmaxKernels(KernelRegistry& r) {
  AddForTypes<PlainSoftmax>(r, "Softmax", Floats());
  AddForTypes<LogSoftmax>(r, "LogSoftmax", Floats());
}

}  // namespace tensorfleet::cpu
