// MaxPool and MaxPoolWithArgmax. Schemas and shape rules: runtime/ops/nn/pool_ops.cc.
#include <limits>

#include "runtime/kernels/cpu/nn/max_pool_search.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

using PoolTypes = Concat<Floats, Types<int32_t, int64_t, uint8_t, int16_t, int8_t, uint16_t>>;

template <typename T>
T Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return Eigen::NumTraits<T>::lowest();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

template <typename T>
class MaxPool final : public Kernel {
 public:
  explicit MaxPool(KernelInit& init) : attrs_(init, init.node().op() == "MaxPoolV2" ? 1 : -1) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    if (out.num_elements() > 0) {
      const T* from = image.values<T>().data();
      T* to = out.template mutable_values<T>().data();
      const int64_t per_image = p.rows.output * p.columns.output;
      ParallelFor(ctx, p.batch * per_image, p.CostOfPixel(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* pixel = to + i * p.channels;
          std::fill_n(pixel, p.channels, Lowest<T>());
          p.ForWindow(i / per_image, i / p.columns.output % p.rows.output, i % p.columns.output,
                      [&](int64_t at, int64_t count) {
                        for (int64_t k = 0; k < count; ++k, at += p.channels) {
                          const T* x = from + at;
                          TFLEET_VECTORIZE
                          for (int64_t c = 0; c < p.channels; ++c) {
                            pixel[c] = pixel[c] < x[c] ? x[c] : pixel[c];
                          }
                        }
                      });
        }
      });
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  const PoolAttrs attrs_;
};

template <typename T>
class MaxPoolWithArgmax final : public Kernel {
 public:
  explicit MaxPoolWithArgmax(KernelInit& init) : attrs_(init) {
    init.Get("include_batch_in_index", &counts_batch_);
    init.Get("Targmax", &argmax_type_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    if (argmax_type_ == DType::kInt32 &&
        image.num_elements() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("positions in ", image.shape().ToString(), " do not fit in int32");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor argmax, ctx.Allocate(argmax_type_, p.output));
    const T* from = image.values<T>().data();
    T* to = out.template mutable_values<T>().data();
    const auto find = [&](auto* places) {
      ForLargest<T>(ctx, p, [&](LargestOfWindow<T>& window, int64_t at) {
        const std::vector<int64_t>& pixels = window.pixels();
        if (pixels.empty()) {
          std::fill_n(to + at, p.channels, Lowest<T>());
          std::fill_n(places + at, p.channels, 0);
          return;
        }
        const int64_t base = counts_batch_ ? 0 : at / p.out_size() * p.image_size();
        ForChannelBlocks<T>(p.channels, [&](int64_t first, int64_t count) {
          window.Find(from, first, count);
          std::copy_n(window.values(), count, to + at + first);
          for (int64_t c = 0; c < count; ++c) {
            places[at + first + c] = pixels[window.indices()[c]] - base + first + c;
          }
        });
      });
    };
    if (out.num_elements() > 0) {
      if (argmax_type_ == DType::kInt32)
        find(argmax.mutable_values<int32_t>().data());
      else
        find(argmax.mutable_values<int64_t>().data());
    }
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(argmax));
    return OkStatus();
  }

 private:
  const PoolAttrs attrs_;
  bool counts_batch_ = false;
  DType argmax_type_ = DType::kInt64;
};

}  // namespace

void RegisterMaxPoolKernels(KernelRegistry& r) {
  AddForTypes<MaxPool>(r, "MaxPool", PoolTypes());
  AddForTypes<MaxPool>(r, "MaxPoolV2", PoolTypes());
  AddForTypes<MaxPoolWithArgmax>(r, "MaxPoolWithArgmax", Reals());
}

}  // namespace tensorfleet::cpu
