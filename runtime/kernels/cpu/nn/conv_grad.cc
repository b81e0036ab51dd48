// The gradients of Conv2D and Conv3D for the image and the filter: products of matrices with the
// patches that the convolution is a product of. Schemas and shape rules: runtime/ops/nn/conv_ops.cc
// and volume_ops.cc.
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/nn/conv_onednn.h"
#include "runtime/kernels/cpu/nn/conv_patches.h"
#include "runtime/kernels/cpu/nn/volume_plan.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Columns [group * width, + width) of rows [first, last), side by side; the rows themselves when
// there is one group.
template <typename W>
const W* ColumnsOf(const ConvPlan& p, const W* rows, int64_t group, int64_t first, int64_t last,
                   W* packed) {
  if (p.groups == 1) return rows + first * p.out_channels;
  const int64_t width = p.out_channels / p.groups;
  for (int64_t i = first; i < last; ++i) {
    std::copy_n(rows + i * p.out_channels + group * width, width, packed + (i - first) * width);
  }
  return packed;
}

template <typename T, typename Attrs>
class ImageGradient final : public Kernel {
 public:
  explicit ImageGradient(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& filter = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2, "out_backprop"));
    TFLEET_ASSIGN_OR_RETURN(const Shape image, attrs_.ImageShape(ctx, 0, filter, gradient));
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image, filter.shape()));
    TFLEET_RETURN_IF_ERROR(CheckOutBackprop(ctx, plan, gradient.shape()));
    const bool has_gradient = gradient.num_elements() > 0;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, has_gradient ? ctx.Allocate(kDTypeOf<T>, image)
                                                     : Tensor::Zeros(kDTypeOf<T>, image));
    if (out.num_elements() > 0 && has_gradient) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_filter, WideInput<T>::Of(filter));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_gradient, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(
          Spread(ctx, plan, wide_filter.data(), wide_gradient.data(), wide_out.data()));
      wide_out.Finish();
    }
    return attrs_.SetImage(ctx, std::move(out));
  }

 private:
  using W = Widened<T>;

  static Status Spread(KernelContext& ctx, const ConvPlan& p, const W* filter, const W* gradient,
                       W* out) {
    GemmShape shape;
    shape.transpose_b = true;
    shape.n = p.patch();
    shape.k = p.out_channels / p.groups;
    if (p.is_pointwise()) {
      shape.m = p.positions();
      Gemm<W>(&ctx, shape, gradient, filter, out);
      return OkStatus();
    }
    if constexpr (std::is_same_v<W, float>) {
      TFLEET_ASSIGN_OR_RETURN(const bool is_done,
                              ImageGradientByOneDnn(ctx, p, filter, gradient, out));
      if (is_done) return OkStatus();
    }
    std::fill_n(out, p.image().num_elements(), W(0));
    if (FitsWhole<W>(p)) {
      shape.m = p.positions();
      TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer, RoomForPatches<W>(p));
      W* const patches = static_cast<W*>(buffer->data());
      Gemm<W>(&ctx, shape, gradient, filter, patches);
      const int64_t each = p.positions_per_image();
      ParallelFor(ctx, p.batch, each * (20 + p.patch() / 4), [&](int64_t begin, int64_t end) {
        AddPatches<W>(p, patches + begin * each * p.patch(), 0, begin * each, end * each, out);
      });
      return OkStatus();
    }
    // Patches overlap within an image: threads take whole images, or share the products of one.
    const int64_t per_image = p.positions_per_image();
    const int64_t at_once = std::min(per_image, PatchesAtOnce<W>(p, 16));
    const int64_t packed_filter = p.groups == 1 ? 0 : p.patch() * shape.k;
    const int64_t packed_rows = p.groups == 1 ? 0 : at_once * shape.k;
    const auto spread = [&](int64_t begin, int64_t end, W* scratch, KernelContext* inner) {
      W* rows = scratch + packed_filter;
      W* patches = rows + packed_rows;
      for (int64_t group = 0; group < p.groups; ++group) {
        if (p.groups > 1) GatherFilter<W>(p, filter, group, scratch);
        for (int64_t first = begin * per_image; first < end * per_image; first += at_once) {
          const int64_t last = std::min(first + at_once, end * per_image);
          GemmShape piece = shape;
          piece.m = last - first;
          Gemm<W>(inner, piece, ColumnsOf<W>(p, gradient, group, first, last, rows),
                  p.groups == 1 ? filter : scratch, patches);
          AddPatches<W>(p, patches, group, first, last, out);
        }
      }
    };
    const int64_t scratch = packed_filter + packed_rows + at_once * p.patch();
    if (p.batch < ctx.pool().num_threads()) {
      TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer, AllocateHostBuffer(scratch * sizeof(W)));
      spread(0, p.batch, static_cast<W*>(buffer->data()), &ctx);
      return OkStatus();
    }
    const double cost = 100 + p.multiplications() / p.groups / p.batch / 20;
    return ParallelForWithScratch<W>(
        ctx, p.batch, static_cast<int64_t>(cost), scratch,
        [&](int64_t begin, int64_t end, W* own) { spread(begin, end, own, nullptr); });
  }

  const Attrs attrs_;
};

template <typename T, typename Attrs>
class FilterGradient final : public Kernel {
 public:
  explicit FilterGradient(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0, "input"));
    TFLEET_ASSIGN_OR_RETURN(const Shape filter, attrs_.FilterShape(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2, "out_backprop"));
    TFLEET_ASSIGN_OR_RETURN(const ConvPlan plan, attrs_.Plan(image.shape(), filter));
    TFLEET_RETURN_IF_ERROR(CheckOutBackprop(ctx, plan, gradient.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, filter));
    if (out.num_elements() > 0 && gradient.num_elements() > 0 && image.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_image, WideInput<T>::Of(image));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_gradient, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      TFLEET_RETURN_IF_ERROR(
          Correlate(ctx, plan, wide_image.data(), wide_gradient.data(), wide_out.data()));
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  using W = Widened<T>;

  // Every share of the positions has a sum of its own; the sums are added up in order, so that the
  // result does not depend on which thread was first.
  static Status Correlate(KernelContext& ctx, const ConvPlan& p, const W* image, const W* gradient,
                          W* out) {
    GemmShape shape;
    shape.transpose_a = true;
    shape.m = p.patch();
    shape.n = p.out_channels / p.groups;
    if (p.is_pointwise()) {
      shape.k = p.positions();
      Gemm<W>(&ctx, shape, image, gradient, out);
      return OkStatus();
    }
    if constexpr (std::is_same_v<W, float>) {
      TFLEET_ASSIGN_OR_RETURN(const bool is_done,
                              FilterGradientByOneDnn(ctx, p, image, gradient, out));
      if (is_done) return OkStatus();
    }
    if (FitsWhole<W>(p)) {
      shape.k = p.positions();
      TFLEET_ASSIGN_OR_RETURN(const BufferRef patches, AllPatches<W>(ctx, p, image));
      Gemm<W>(&ctx, shape, static_cast<const W*>(patches->data()), gradient, out);
      return OkStatus();
    }
    const int64_t at_once = std::min(p.positions(), PatchesAtOnce<W>(p, 64));
    const int64_t chunks = (p.positions() + at_once - 1) / at_once;
    const int64_t shares = std::min<int64_t>(chunks, ctx.pool().num_threads());
    const int64_t size = p.patch() * p.out_channels;  // of a sum, groups one after another
    TFLEET_ASSIGN_OR_RETURN(const BufferRef sums, AllocateHostBuffer(shares * size * sizeof(W)));
    W* const sum = static_cast<W*>(sums->data());
    std::fill_n(sum, shares * size, W(0));
    const int64_t product_size = shape.m * shape.n;
    const int64_t packed_rows = p.groups == 1 ? 0 : at_once * shape.n;
    const auto add_share = [&](int64_t share, W* scratch) {
      W* rows = scratch + product_size;
      W* patches = rows + packed_rows;
      for (int64_t chunk = share * chunks / shares; chunk < (share + 1) * chunks / shares;
           ++chunk) {
        const int64_t first = chunk * at_once, last = std::min(first + at_once, p.positions());
        for (int64_t group = 0; group < p.groups; ++group) {
          GatherPatches<W>(p, image, group, first, last, patches);
          GemmShape piece = shape;
          piece.k = last - first;
          Gemm<W>(nullptr, piece, patches, ColumnsOf<W>(p, gradient, group, first, last, rows),
                  scratch);
          W* to = sum + share * size + group * product_size;
          for (int64_t i = 0; i < product_size; ++i) to[i] += scratch[i];
        }
      }
    };
    const double cost = 100 + p.multiplications() / p.groups / shares / 20;
    TFLEET_RETURN_IF_ERROR(ParallelForWithScratch<W>(
        ctx, shares, static_cast<int64_t>(cost), product_size + packed_rows + at_once * p.patch(),
        [&](int64_t begin, int64_t end, W* scratch) {
          for (int64_t share = begin; share < end; ++share) add_share(share, scratch);
        }));
    for (int64_t share = 1; share < shares; ++share) {
      for (int64_t i = 0; i < size; ++i) sum[i] += sum[share * size + i];
    }
    for (int64_t group = 0; group < p.groups; ++group) {
      for (int64_t row = 0; row < shape.m; ++row) {
        std::copy_n(sum + group * product_size + row * shape.n, shape.n,
                    out + row * p.out_channels + group * shape.n);
      }
    }
    return OkStatus();
  }

  const Attrs attrs_;
};

template <typename T>
using Conv2DBackpropInput = ImageGradient<T, ConvAttrs>;
template <typename T>
using Conv2DBackpropFilter = FilterGradient<T, ConvAttrs>;
template <typename T>
using Conv3DBackpropInput = ImageGradient<T, VolumeConvAttrs>;
template <typename T>
using Conv3DBackpropFilter = FilterGradient<T, VolumeConvAttrs>;

}  // namespace

void RegisterConvGradKernels(KernelRegistry& r) {
  AddForTypes<Conv2DBackpropInput>(r, "Conv2DBackpropInput", Concat<Floats, Types<int32_t>>());
  AddForTypes<Conv2DBackpropFilter>(r, "Conv2DBackpropFilter", Floats());
  AddForTypes<Conv3DBackpropInput>(r, "Conv3DBackpropInputV2", Floats());
  AddForTypes<Conv3DBackpropFilter>(r, "Conv3DBackpropFilterV2", Floats());
  using First = Concat<Types<Eigen::half>, FullFloats>;
  AddForTypes<Conv3DBackpropInput>(r, "Conv3DBackpropInput", First());
  AddForTypes<Conv3DBackpropFilter>(r, "Conv3DBackpropFilter", First());
}

}  // namespace tensorfleet::cpu
