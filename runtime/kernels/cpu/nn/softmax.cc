// Softmax and LogSoftmax along the last dimension.
#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/nn/softmax_row.h"

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
      // Short rows are computed several at a time: their exponentials then fill whole vectors.
      const int64_t at_once = classes < kLongRow ? kElementsAtOnce / classes : 1;
      const T* x = logits.values<T>().data();
      T* y = out.template mutable_values<T>().data();
      ParallelFor(ctx, (logits.num_elements() / classes + at_once - 1) / at_once,
                  20 + 2 * at_once * classes, [&](int64_t begin, int64_t end) {
                    RowBuffer<T> in(at_once * classes), result(at_once * classes);
                    std::vector<W> scratch(logarithm && at_once > 1 ? at_once * classes : 0);
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t first = i * at_once * classes;
                      const int64_t size =
                          std::min(at_once * classes, logits.num_elements() - first);
                      SoftmaxOfRows(in.Read(x + first, size), size, classes, scratch.data(),
                                    result.Place(y + first));
                      result.Write(y + first, size);
                    }
                  });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static constexpr int64_t kElementsAtOnce = 2048, kLongRow = 128;

  // Large logits lose nothing: the largest of a row is taken off first.
  static void SoftmaxOfRow(const ConstArrayMap<W>& x, ArrayMap<W> y) {
    if constexpr (logarithm) {
      y = x - x.maxCoeff();
      y -= std::log(y.exp().sum());
    } else {
      y = (x - x.maxCoeff()).exp();
      y *= W(1) / y.sum();
    }
  }

  // `scratch` has `size` elements for the logarithms of several rows, and is not used otherwise.
  // `y` may be `x`.
  static void SoftmaxOfRows(const W* x, int64_t size, int64_t classes, W* scratch, W* y) {
    if (size == classes) return SoftmaxOfRow(ConstArrayMap<W>(x, size), ArrayMap<W>(y, size));
    for (int64_t at = 0; at < size; at += classes) {
      const ConstArrayMap<W> from(x + at, classes);
      ArrayMap<W>(y + at, classes) = from - from.maxCoeff();
    }
    W* const exponentials = logarithm ? scratch : y;
    ArrayMap<W>(exponentials, size) = ArrayMap<W>(y, size).exp();
    for (int64_t at = 0; at < size; at += classes) {
      const W sum = ArrayMap<W>(exponentials + at, classes).sum();
      ArrayMap<W> to(y + at, classes);
      if constexpr (logarithm)
        to -= std::log(sum);
      else
        to *= W(1) / sum;
    }
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
