// EncodePng, EncodeJpeg, EncodeJpegVariableQuality. Schemas: runtime/ops/image/image_file_ops.cc.
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/codecs.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class EncodePngKernel final : public Kernel {
 public:
  explicit EncodePngKernel(KernelInit& init) {
    int64_t compression = -1;
    init.Get("compression", &compression);
    if (compression < -1 || compression > 9) {
      init.Fail(InvalidArgument("compression should be in [-1,9], got ", compression));
    }
    compression_ = static_cast<int>(compression);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& images = ctx.input(0);
    const int rank = images.rank();
    if (rank < 3) {
      return InvalidArgument("images must have at least rank 3, got shape ",
                             images.shape().ToString());
    }
    if (images.num_elements() == 0) {
      return InvalidArgument("image must not be empty, got shape ", images.shape().ToString());
    }
    const int64_t height = images.dim(rank - 3), width = images.dim(rank - 2);
    const int64_t channels = images.dim(rank - 1);
    if (channels > 4) {
      return InvalidArgument("image must have 1, 2, 3, or 4 channels, got ", channels);
    }
    TFLEET_RETURN_IF_ERROR(CheckImageSize("PNG", height, width, channels));
    TFLEET_ASSIGN_OR_RETURN(const Shape outer, Shape::Make(images.shape().dims().first(rank - 3)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, outer));
    const int64_t bytes =
        height * width * channels * static_cast<int64_t>(ElementSize(images.dtype()));
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      if (ctx.step().cancellation != nullptr) ctx.step().cancellation->LeaveIfCancelled();
      TFLEET_ASSIGN_OR_RETURN(out.mutable_values<std::string>()[i],
                              EncodePng(static_cast<const char*>(images.raw()) + i * bytes,
                                        images.dtype(), height, width, channels, compression_));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  int compression_ = -1;
};

Status CheckJpegImage(const Tensor& image) {
  if (image.rank() != 3) {
    return InvalidArgument("image must be 3-dimensional, got shape ", image.shape().ToString());
  }
  return CheckImageSize("JPEG", image.dim(0), image.dim(1), image.dim(2));
}

StatusOr<Tensor> Encoded(const Tensor& image, const JpegEncoding& options) {
  TFLEET_ASSIGN_OR_RETURN(std::string bytes,
                          EncodeJpeg(image.values<uint8_t>().data(), image.dim(0), image.dim(1),
                                     image.dim(2), options));
  return Tensor::Scalar(std::move(bytes));
}

class EncodeJpegKernel final : public Kernel {
 public:
  explicit EncodeJpegKernel(KernelInit& init) {
    int64_t quality = 95, x = 300, y = 300;
    std::string unit;
    init.Get("format", &format_);
    init.Get("quality", &quality);
    init.Get("progressive", &options_.is_progressive);
    init.Get("optimize_size", &options_.optimizes_size);
    init.Get("chroma_downsampling", &options_.downsamples_chroma);
    init.Get("density_unit", &unit);
    init.Get("x_density", &x);
    init.Get("y_density", &y);
    init.Get("xmp_metadata", &options_.xmp_metadata);
    if (quality < 0 || quality > 100) {
      init.Fail(InvalidArgument("quality must be in [0,100], got ", quality));
    }
    for (const int64_t density : {x, y}) {
      if (density < 0 || density > 65535) {
        init.Fail(InvalidArgument("a density must be in [0,65535], got ", density));
      }
    }
    options_.quality = static_cast<int>(quality);
    options_.density_unit = unit == "cm" ? 2 : 1;
    options_.x_density = static_cast<int>(x);
    options_.y_density = static_cast<int>(y);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& image = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckJpegImage(image));
    const int64_t channels = image.dim(2);
    const int64_t wanted = format_ == "grayscale" ? 1 : format_ == "rgb" ? 3 : channels;
    if (channels != wanted || (channels != 1 && channels != 3)) {
      return InvalidArgument("format '", format_, "' expects ",
                             format_.empty() ? "1 or 3" : absl::StrCat(wanted),
                             " channels, got an image of shape ", image.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Encoded(image, options_));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  std::string format_;
  JpegEncoding options_;
};

class EncodeJpegVariableQualityKernel final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& image = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckJpegImage(image));
    if (image.dim(2) != 1 && image.dim(2) != 3) {
      return InvalidArgument("image must have 1 or 3 channels, got shape ",
                             image.shape().ToString());
    }
    if (!ctx.input(1).shape().is_scalar()) {
      return InvalidArgument("quality must be scalar: ", ctx.input(1).shape().ToString());
    }
    JpegEncoding options;
    options.quality = ctx.input(1).scalar<int32_t>();
    if (options.quality < 0 || options.quality > 100) {
      return InvalidArgument("quality must be in [0,100], got ", options.quality);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Encoded(image, options));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterEncodeImageKernels(KernelRegistry& r) {
  for (const DType type : {DType::kUInt8, DType::kUInt16}) {
    r.Add<EncodePngKernel>("EncodePng", kCpu, {{"T", type}});
  }
  r.Add<EncodeJpegKernel>("EncodeJpeg", kCpu);
  r.Add<EncodeJpegVariableQualityKernel>("EncodeJpegVariableQuality", kCpu);
}

}  // namespace tensorfleet::cpu
