// AvgPool and its gradient. Schemas and shape rules: runtime/ops/nn/pool_ops.cc.
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/nn/pool_plan.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<PoolPlan> PlanInSpace(const PoolAttrs& attrs, const KernelContext& ctx,
                               const Shape& image) {
  TFLEET_ASSIGN_OR_RETURN(PoolPlan plan, attrs.Plan(ctx, image));
  if (plan.channels != image.dim(3)) {
    return Unimplemented("Non-spatial pooling is not yet supported.");
  }
  return plan;
}

int64_t PixelsOfWindow(const PoolPlan& p, int64_t out_y, int64_t out_x) {
  int64_t pixels = 0;
  p.ForWindow(0, out_y, out_x, [&](int64_t, int64_t count) { pixels += count; });
  return pixels;
}

template <typename T>
class AvgPool final : public Kernel {
 public:
  explicit AvgPool(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, PlanInSpace(attrs_, ctx, image.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      Average(ctx, p, wide_image.data(), wide_out.data());
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  using W = Widened<T>;
  static void Average(KernelContext& ctx, const PoolPlan& p, const W* from, W* to) {
    const int64_t cost = p.columns.output * p.CostOfPixel();
    ParallelFor(ctx, p.batch * p.rows.output, cost, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t n = row / p.rows.output, out_y = row % p.rows.output;
        for (int64_t out_x = 0; out_x < p.columns.output; ++out_x) {
          W* pixel = to + p.OutAt(n, out_y, out_x);
          std::fill_n(pixel, p.channels, W(0));
          p.ForWindow(n, out_y, out_x, [&](int64_t at, int64_t count) {
            for (int64_t i = 0; i < count; ++i, at += p.channels) {
              for (int64_t c = 0; c < p.channels; ++c) pixel[c] += from[at + c];
            }
          });
          const W pixels = static_cast<W>(PixelsOfWindow(p, out_y, out_x));
          for (int64_t c = 0; c < p.channels; ++c) pixel[c] /= pixels;
        }
      }
    });
  }

  const PoolAttrs attrs_;
};

template <typename T>
class AvgPoolGrad final : public Kernel {
 public:
  explicit AvgPoolGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape image, attrs_.ImageShape(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, PlanInSpace(attrs_, ctx, image));
    if (gradient.shape() != p.output) {
      return InvalidArgument("Expected grad shape to be ", p.output.ToString(), ", but got ",
                             gradient.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, image));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_gradient, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      Spread(ctx, p, wide_gradient.data(), wide_out.data());
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  using W = Widened<T>;
  // Windows overlap within an image: a thread has whole images.
  static void Spread(KernelContext& ctx, const PoolPlan& p, const W* from, W* to) {
    const int64_t pixels = p.rows.output * p.columns.output;
    ParallelFor(ctx, p.batch, pixels * p.CostOfPixel(), [&](int64_t begin, int64_t end) {
      std::fill_n(to + begin * p.image_size(), (end - begin) * p.image_size(), W(0));
      for (int64_t i = begin * pixels; i < end * pixels; ++i) {
        const int64_t out_y = i / p.columns.output % p.rows.output, out_x = i % p.columns.output;
        const W* pixel = from + i * p.channels;
        const W share = W(1) / static_cast<W>(PixelsOfWindow(p, out_y, out_x));
        p.ForWindow(i / pixels, out_y, out_x, [&](int64_t at, int64_t count) {
          for (int64_t k = 0; k < count; ++k, at += p.channels) {
            for (int64_t c = 0; c < p.channels; ++c) to[at + c] += pixel[c] * share;
          }
        });
      }
    });
  }

  const PoolAttrs attrs_;
};

}  // namespace

void RegisterAvgPoolKernels(KernelRegistry& r) {
  AddForTypes<AvgPool>(r, "AvgPool", Floats());
  AddForTypes<AvgPoolGrad>(r, "AvgPoolGrad", Floats());
}

}  // namespace tensorfleet::cpu
