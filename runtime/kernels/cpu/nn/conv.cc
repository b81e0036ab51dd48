// Conv2D and Conv3D: patches of the image times the filter. Schemas and shape rules:
// runtime/ops/nn/conv_ops.cc and volume_ops.cc.
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/nn/conv_onednn.h"
#include "runtime/kernels/cpu/nn/conv_patches.h"
#include "runtime/kernels/cpu/nn/volume_plan.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// out[positions][out_channels] for the channels of one group. `filter` is [patch][width].
template <typename W>
Status ConvolveGroup(KernelContext& ctx, const ConvPlan& p, int64_t group, const W* image,
                     const W* filter, W* out) {
  const int64_t width = p.out_channels / p.groups;
  const int64_t threads = ctx.pool().num_threads();
  const int64_t at_once =
      std::clamp(p.positions() / (2 * threads), int64_t{16}, PatchesAtOnce<W>(p, 16));
  const int64_t chunks = (p.positions() + at_once - 1) / at_once;
  const int64_t products = p.groups == 1 ? 0 : at_once * width;
  const auto convolve = [&](int64_t begin, int64_t end, W* scratch, KernelContext* inner) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * at_once, last = std::min(first + at_once, p.positions());
      GatherPatches<W>(p, image, group, first, last, scratch + products);
      GemmShape shape;
      shape.m = last - first;
      shape.n = width;
      shape.k = p.patch();
      if (p.groups == 1) {
        Gemm<W>(inner, shape, scratch, filter, out + first * width);
        continue;
      }
      Gemm<W>(inner, shape, scratch + products, filter, scratch);
      for (int64_t i = first; i < last; ++i) {
        std::copy_n(scratch + (i - first) * width, width, out + i * p.out_channels + group * width);
      }
    }
  };
  const int64_t scratch = products + at_once * p.patch();
  if (chunks < threads) {
    TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer, AllocateHostBuffer(scratch * sizeof(W)));
    convolve(0, chunks, static_cast<W*>(buffer->data()), &ctx);
    return OkStatus();
  }
  const double cost = 100 + p.multiplications() / p.groups / chunks / 30;
  return ParallelForWithScratch<W>(
      ctx, chunks, static_cast<int64_t>(cost), scratch,
      [&](int64_t begin, int64_t end, W* own) { convolve(begin, end, own, nullptr); });
}

template <typename T, typename Attrs>
class Convolution final : public Kernel {
 public:
  explicit Convolution(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0, "input"));
    const Tensor& filter = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image.shape(), filter.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, plan.output()));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_filter, WideInput<T>::Of(filter));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(
          Convolve<W>(ctx, plan, wide_image.data(), wide_filter.data(), wide_out.data()));
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, std::move(out));
  }

 private:
  template <typename W>
  static Status Convolve(KernelContext& ctx, const ConvPlan& p, const W* image, const W* filter,
                         W* out) {
    if (p.is_pointwise()) {
      GemmShape shape;
      shape.m = p.positions();
      shape.n = p.out_channels;
      shape.k = p.in_channels;
      Gemm<W>(&ctx, shape, image, filter, out);
      return OkStatus();
    }
    if constexpr (std::is_same_v<W, float>) {
      TFLEET_ASSIGN_OR_RETURN(const bool is_done, ConvolveByOneDnn(ctx, p, image, filter, out));
      if (is_done) return OkStatus();
    }
    if (FitsWhole<W>(p)) {
      TFLEET_ASSIGN_OR_RETURN(const BufferRef patches, AllPatches<W>(ctx, p, image));
      GemmShape shape;
      shape.m = p.positions();
      shape.n = p.out_channels;
      shape.k = p.patch();
      Gemm<W>(&ctx, shape, static_cast<const W*>(patches->data()), filter, out);
      return OkStatus();
    }
    if (p.groups == 1) return ConvolveGroup<W>(ctx, p, 0, image, filter, out);
    TFLEET_ASSIGN_OR_RETURN(
        const BufferRef packed,
        AllocateHostBuffer(p.patch() * (p.out_channels / p.groups) * sizeof(W)));
    for (int64_t group = 0; group < p.groups; ++group) {
      W* own = static_cast<W*>(packed->data());
      GatherFilter<W>(p, filter, group, own);
      TFLEET_RETURN_IF_ERROR(ConvolveGroup<W>(ctx, p, group, image, own, out));
    }
    return OkStatus();
  }

  const Attrs attrs_;
};

template <typename T>
using Conv2D = Convolution<T, ConvAttrs>;
template <typename T>
using Conv3D = Convolution<T, VolumeConvAttrs>;

}  // namespace

void RegisterConvKernels(KernelRegistry& r) {
  AddForTypes<Conv2D>(r, "Conv2D", Concat<Floats, Types<int32_t>>());
  AddForTypes<Conv3D>(r, "Conv3D", Floats());
}

}  // namespace tensorfleet::cpu
