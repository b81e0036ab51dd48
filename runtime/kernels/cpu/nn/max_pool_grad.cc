// The gradients of MaxPool and MaxPoolWithArgmax. Schemas and shape rules:
// runtime/ops/nn/pool_ops.cc.
#include "runtime/kernels/cpu/nn/max_pool_search.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

Status CheckSameShape(const char* name, const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return OkStatus();
  return InvalidArgument("Expected ", name, " shape to be ", shape.ToString(), ", but got ",
                         tensor.shape().ToString());
}

// MaxPoolGrad gives each window's gradient to its largest element. MaxPoolGradGrad takes it from
// the first element that equals orig_output, as in TensorFlow: 0 where none does.
template <typename T, bool takes>
class MaxPoolGradOf final : public Kernel {
 public:
  explicit MaxPoolGradOf(KernelInit& init)
      : attrs_(init, init.node().op().back() == '2' ? 3 : -1) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor pooled, attrs_.Image(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("orig_output", pooled, p.output));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("grad", gradient, takes ? image.shape() : p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.Allocate(kDTypeOf<T>, takes ? p.output : image.shape()));
    if (out.num_elements() > 0) {
      const T* x = image.values<T>().data();
      const T* from = gradient.values<T>().data();
      T* to = out.template mutable_values<T>().data();
      if constexpr (takes) {
        Take(ctx, p, x, pooled.values<T>().data(), from, to);
      } else {
        Give(ctx, p, x, from, to);
      }
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  static void Take(KernelContext& ctx, const PoolPlan& p, const T* image, const T* pooled,
                   const T* gradient, T* to) {
    ForLargest<T>(ctx, p, [&](LargestOfWindow<T>& window, int64_t at) {
      std::fill_n(to + at, p.channels, T(0));
      // The first one comes last, and counts.
      const std::vector<int64_t>& pixels = window.pixels();
      for (auto pixel = pixels.rbegin(); pixel != pixels.rend(); ++pixel) {
        for (int64_t c = 0; c < p.channels; ++c) {
          if (image[*pixel + c] == pooled[at + c]) to[at + c] = gradient[*pixel + c];
        }
      }
    });
  }

  // A thread has bands of an image's rows to itself, and looks at all windows that see one.
  static void Give(KernelContext& ctx, const PoolPlan& p, const T* image, const T* gradient,
                   T* to) {
    constexpr int64_t kCacheBytes = 256 * 1024;
    const int64_t row = p.columns.input * p.channels;
    const int64_t most = std::max<int64_t>(4 * p.rows.size, kCacheBytes / sizeof(T) / row);
    const int64_t bands = (p.rows.input + most - 1) / most;
    const int64_t pixels = p.rows.output * p.columns.output;
    ParallelFor(ctx, p.batch * bands, pixels * p.CostOfPixel() / bands,
                [&](int64_t begin, int64_t end) {
                  LargestOfWindow<T> window(p);
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t band = i % bands;
                    GiveToRows(p, i / bands, band * p.rows.input / bands,
                               (band + 1) * p.rows.input / bands, image, gradient, &window, to);
                  }
                });
  }

  // To rows [begin, end) of image `n`.
  static void GiveToRows(const PoolPlan& p, int64_t n, int64_t begin, int64_t end, const T* image,
                         const T* gradient, LargestOfWindow<T>* window, T* to) {
    const int64_t first_element = p.ImageAt(n, begin, 0), end_element = p.ImageAt(n, end, 0);
    const Window& rows = p.rows;
    if (!IsTiled(rows) || !IsTiled(p.columns)) {
      std::fill(to + first_element, to + end_element, T(0));
    }
    const bool adds = rows.stride < rows.size || p.columns.stride < p.columns.size;
    const int64_t behind = begin + rows.before - rows.size + rows.stride;  // of what ends before
    const int64_t first_y = std::max<int64_t>(0, behind) / rows.stride;
    const int64_t last_y = std::min(rows.output, (end - 1 + rows.before) / rows.stride + 1);
    for (int64_t out_y = first_y; out_y < last_y; ++out_y) {
      for (int64_t out_x = 0; out_x < p.columns.output; ++out_x) {
        window->MoveTo(n, out_y, out_x);
        const std::vector<int64_t>& pixels = window->pixels();
        size_t first = 0, last = pixels.size();
        while (first < last && pixels[first] < first_element) ++first;
        while (first < last && pixels[last - 1] >= end_element) --last;
        if (first == last) continue;
        const T* const given = gradient + p.OutAt(n, out_y, out_x);
        if (adds)
          window->template Give<true>(image, given, first, last, to);
        else
          window->template Give<false>(image, given, first, last, to);
      }
    }
  }

  // Whether every element is in exactly one window.
  static bool IsTiled(const Window& w) {
    return w.stride == w.size && w.before == 0 && w.output * w.stride >= w.input;
  }

  const PoolAttrs attrs_;
};
template <typename T>
using MaxPoolGrad = MaxPoolGradOf<T, false>;
template <typename T>
using MaxPoolGradGrad = MaxPoolGradOf<T, true>;

template <typename T>
class MaxPoolGradWithArgmax final : public Kernel {
 public:
  explicit MaxPoolGradWithArgmax(KernelInit& init) : attrs_(init) {
    init.Get("include_batch_in_index", &counts_batch_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    const Tensor& gradient = ctx.input(1);
    const Tensor& argmax = ctx.input(2);
    TFLEET_RETURN_IF_ERROR(CheckSameShape("grad", gradient, p.output));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("argmax", argmax, p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, image.shape()));
    T* to = out.template mutable_values<T>().data();
    const T* from = gradient.values<T>().data();
    for (int64_t i = 0; i < gradient.num_elements(); ++i) {
      const int64_t place = argmax.dtype() == DType::kInt32 ? argmax.values<int32_t>()[i]
                                                            : argmax.values<int64_t>()[i];
      const int64_t size = counts_batch_ ? out.num_elements() : p.image_size();
      if (place < 0 || place >= size) {
        return InvalidArgument("argmax ", place, " is not in [0, ", size, ")");
      }
      T& element = to[place + (counts_batch_ ? 0 : i / p.out_size() * p.image_size())];
      element = WrapAdd(element, from[i]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const PoolAttrs attrs_;
  bool counts_batch_ = false;
};

}  // namespace

void RegisterMaxPoolGradKernels(KernelRegistry& r) {
  for (const char* op : {"MaxPoolGrad", "MaxPoolGradV2"}) AddForTypes<MaxPoolGrad>(r, op, Reals());
  for (const char* op : {"MaxPoolGradGrad", "MaxPoolGradGradV2"}) {
    AddForTypes<MaxPoolGradGrad>(r, op, Reals());
  }
  AddForTypes<MaxPoolGradWithArgmax>(r, "MaxPoolGradWithArgmax", Reals());
}

}  // namespace tensorfleet::cpu
