// DepthwiseConv2dNative and its gradients: every channel on its own, so there is no product of
// matrices to make of it. Schemas and shape rules: runtime/ops/nn/conv_ops.cc.
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/nn/conv_onednn.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Calls visit(out_x, x, tap_x) wherever column tap `tap_x` meets the image.
template <typename Visit>
void ForColumns(const ConvPlan& p, const Visit& visit) {
  for (int64_t out_x = 0; out_x < p.columns.output; ++out_x) {
    const int64_t last = p.columns.LastTap(out_x);
    for (int64_t tap_x = p.columns.FirstTap(out_x); tap_x < last; ++tap_x) {
      visit(out_x, p.columns.Start(out_x) + tap_x * p.columns.dilation, tap_x);
    }
  }
}

// Pixels have `channels` elements in images and channels * multiplier in outputs and at each tap.
struct Depthwise {
  explicit Depthwise(const ConvPlan& plan)
      : p(plan),
        channels(plan.in_channels),
        multiplier(plan.out_channels / std::max<int64_t>(plan.in_channels, 1)),
        wide(plan.out_channels) {}
  // The first elements of row `y` of image `n` and of row `out_y` of its output.
  int64_t ImageRow(int64_t n, int64_t y) const {
    return (n * p.rows.input + y) * p.columns.input * channels;
  }
  int64_t OutRow(int64_t n, int64_t out_y) const {
    return (n * p.rows.output + out_y) * p.columns.output * wide;
  }
  int64_t Tap(int64_t tap_y, int64_t tap_x) const {
    return (tap_y * p.columns.size + tap_x) * wide;
  }
  int64_t taps() const { return p.rows.size * p.columns.size * wide; }
  int64_t CostOfRow() const {
    return 20 + p.columns.output * p.rows.size * p.columns.size * (2 + wide / 4);
  }

  const ConvPlan& p;
  const int64_t channels, multiplier, wide;
};

template <typename W>
Status Convolve(KernelContext& ctx, const Depthwise& d, const W* image, const W* filter, W* out) {
  const ConvPlan& p = d.p;
  if constexpr (std::is_same_v<W, float>) {
    TFLEET_ASSIGN_OR_RETURN(const bool is_done, ConvolveByOneDnn(ctx, p, image, filter, out));
    if (is_done) return OkStatus();
  }
  ParallelFor(ctx, p.batch * p.rows.output, d.CostOfRow(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / p.rows.output, out_y = row % p.rows.output;
      W* const to_row = out + d.OutRow(n, out_y);
      std::fill_n(to_row, p.columns.output * d.wide, W(0));
      for (int64_t tap_y = p.rows.FirstTap(out_y); tap_y < p.rows.LastTap(out_y); ++tap_y) {
        const W* from_row = image + d.ImageRow(n, p.rows.Start(out_y) + tap_y * p.rows.dilation);
        ForColumns(p, [&](int64_t out_x, int64_t x, int64_t tap_x) {
          const W* from = from_row + x * d.channels;
          const W* f = filter + d.Tap(tap_y, tap_x);
          W* to = to_row + out_x * d.wide;
          if (d.multiplier == 1) {
            TFLEET_VECTORIZE
            for (int64_t c = 0; c < d.channels; ++c) to[c] += from[c] * f[c];
            return;
          }
          for (int64_t c = 0; c < d.channels; ++c) {
            for (int64_t i = c * d.multiplier; i < (c + 1) * d.multiplier; ++i) {
              to[i] += from[c] * f[i];
            }
          }
        });
      }
    }
  });
  return OkStatus();
}

// Each thread has rows of the image to itself, and looks for the outputs that saw them.
template <typename W>
Status SpreadToImage(KernelContext& ctx, const Depthwise& d, const W* filter, const W* gradient,
                     W* image) {
  const ConvPlan& p = d.p;
  if constexpr (std::is_same_v<W, float>) {
    TFLEET_ASSIGN_OR_RETURN(const bool is_done,
                            ImageGradientByOneDnn(ctx, p, filter, gradient, image));
    if (is_done) return OkStatus();
  }
  ParallelFor(ctx, p.batch * p.rows.input, d.CostOfRow(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / p.rows.input, y = row % p.rows.input;
      W* const to_row = image + d.ImageRow(n, y);
      std::fill_n(to_row, p.columns.input * d.channels, W(0));
      for (int64_t tap_y = 0; tap_y < p.rows.size; ++tap_y) {
        const int64_t start = y + p.rows.before - tap_y * p.rows.dilation;
        if (start < 0 || start % p.rows.stride != 0) continue;
        const int64_t out_y = start / p.rows.stride;
        if (out_y >= p.rows.output) continue;
        const W* from_row = gradient + d.OutRow(n, out_y);
        ForColumns(p, [&](int64_t out_x, int64_t x, int64_t tap_x) {
          const W* from = from_row + out_x * d.wide;
          const W* f = filter + d.Tap(tap_y, tap_x);
          W* to = to_row + x * d.channels;
          if (d.multiplier == 1) {
            TFLEET_VECTORIZE
            for (int64_t c = 0; c < d.channels; ++c) to[c] += from[c] * f[c];
            return;
          }
          for (int64_t c = 0; c < d.channels; ++c) {
            for (int64_t i = c * d.multiplier; i < (c + 1) * d.multiplier; ++i) {
              to[c] += from[i] * f[i];
            }
          }
        });
      }
    }
  });
  return OkStatus();
}

// The sum over output rows [begin, end), added to sum[taps()].
template <typename W>
void CorrelateRows(const Depthwise& d, const W* image, const W* gradient, int64_t begin,
                   int64_t end, W* sum) {
  const ConvPlan& p = d.p;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t n = row / p.rows.output, out_y = row % p.rows.output;
    const W* gradient_row = gradient + d.OutRow(n, out_y);
    for (int64_t tap_y = p.rows.FirstTap(out_y); tap_y < p.rows.LastTap(out_y); ++tap_y) {
      const W* image_row = image + d.ImageRow(n, p.rows.Start(out_y) + tap_y * p.rows.dilation);
      ForColumns(p, [&](int64_t out_x, int64_t x, int64_t tap_x) {
        const W* a = image_row + x * d.channels;
        const W* b = gradient_row + out_x * d.wide;
        W* to = sum + d.Tap(tap_y, tap_x);
        if (d.multiplier == 1) {
          TFLEET_VECTORIZE
          for (int64_t c = 0; c < d.channels; ++c) to[c] += a[c] * b[c];
          return;
        }
        for (int64_t c = 0; c < d.channels; ++c) {
          for (int64_t i = c * d.multiplier; i < (c + 1) * d.multiplier; ++i) to[i] += a[c] * b[i];
        }
      });
    }
  }
}

// Sums of shares of the rows, added up in order: the result does not depend on the threads' order.
template <typename W>
Status Correlate(KernelContext& ctx, const Depthwise& d, const W* image, const W* gradient,
                 W* filter) {
  if constexpr (std::is_same_v<W, float>) {
    TFLEET_ASSIGN_OR_RETURN(const bool is_done,
                            FilterGradientByOneDnn(ctx, d.p, image, gradient, filter));
    if (is_done) return OkStatus();
  }
  const int64_t rows = d.p.batch * d.p.rows.output, size = d.taps();
  const int64_t shares = std::clamp<int64_t>(rows / 8, 1, ctx.pool().num_threads());
  TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer, AllocateHostBuffer(shares * size * sizeof(W)));
  W* const sums = static_cast<W*>(buffer->data());
  std::fill_n(sums, shares * size, W(0));
  ParallelFor(ctx, shares, rows / shares * d.CostOfRow(), [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      CorrelateRows<W>(d, image, gradient, share * rows / shares, (share + 1) * rows / shares,
                       sums + share * size);
    }
  });
  std::copy_n(sums, size, filter);
  for (int64_t share = 1; share < shares; ++share) {
    for (int64_t i = 0; i < size; ++i) filter[i] += sums[share * size + i];
  }
  return OkStatus();
}

template <typename T>
class DepthwiseConv final : public Kernel {
 public:
  explicit DepthwiseConv(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0, "input"));
    const Tensor& filter = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image.shape(), filter.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, plan.output()));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_filter, WideInput<T>::Of(filter));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(Convolve<Widened<T>>(ctx, Depthwise(plan), wide_image.data(),
                                                  wide_filter.data(), wide_out.data()));
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, std::move(out));
  }

 private:
  const ConvAttrs attrs_;
};

template <typename T>
class DepthwiseInputGrad final : public Kernel {
 public:
  explicit DepthwiseInputGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& filter = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2, "out_backprop"));
    if (ctx.input(0).num_elements() != 4) {
      return InvalidArgument("input_sizes must have 4 elements, not ", ctx.input(0).num_elements());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape image, attrs_.ImageShape(ctx, 0, filter, gradient));
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image, filter.shape()));
    TFLEET_RETURN_IF_ERROR(CheckOutBackprop(ctx, plan, gradient.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, image));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_filter, WideInput<T>::Of(filter));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_gradient, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(SpreadToImage<Widened<T>>(ctx, Depthwise(plan), wide_filter.data(),
                                                       wide_gradient.data(), wide_out.data()));
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, std::move(out));
  }

 private:
  const ConvAttrs attrs_;
};

template <typename T>
class DepthwiseFilterGrad final : public Kernel {
 public:
  explicit DepthwiseFilterGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0, "input"));
    TFLEET_ASSIGN_OR_RETURN(const Shape filter, ShapeFromInput(ctx.input(1)));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2, "out_backprop"));
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image.shape(), filter));
    TFLEET_RETURN_IF_ERROR(CheckOutBackprop(ctx, plan, gradient.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, filter));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_gradient, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(Correlate<Widened<T>>(ctx, Depthwise(plan), wide_image.data(),
                                                   wide_gradient.data(), wide_out.data()));
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const ConvAttrs attrs_;
};

}  // namespace

void RegisterDepthwiseConvKernels(KernelRegistry& r) {
  AddForTypes<DepthwiseConv>(r, "DepthwiseConv2dNative", Floats());
  AddForTypes<DepthwiseInputGrad>(r, "DepthwiseConv2dNativeBackpropInput", Floats());
  AddForTypes<DepthwiseFilterGrad>(r, "DepthwiseConv2dNativeBackpropFilter", Floats());
}

}  // namespace tensorfleet::cpu
