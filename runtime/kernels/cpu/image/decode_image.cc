// DecodeImage and the ops for one format each, ExtractJpegShape. Schemas:
// runtime/ops/image/image_file_ops.cc.
#include <limits>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/codecs.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<absl::string_view> Contents(const KernelContext& ctx) {
  const Tensor& contents = ctx.input(0);
  if (!contents.shape().is_scalar()) {
    return InvalidArgument("`contents` must be scalar but got shape ", contents.shape().ToString());
  }
  const std::string& bytes = contents.scalar<std::string>();
  if (bytes.empty()) return InvalidArgument("Input is empty.");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return InvalidArgument("Input contents are too large for int: ", bytes.size());
  }
  return absl::string_view(bytes);
}

JpegDecoding JpegOptions(KernelInit& init) {
  JpegDecoding options;
  int64_t channels = 0, ratio = 1;
  std::string method;
  init.Get("channels", &channels);
  init.Get("ratio", &ratio);
  init.Get("fancy_upscaling", &options.fancy_upscaling);
  init.Get("try_recover_truncated", &options.recovers_truncated);
  init.Get("acceptable_fraction", &options.acceptable_fraction);
  init.Get("dct_method", &method);
  if (options.recovers_truncated) {
    init.Fail(Unimplemented("try_recover_truncated is not supported: what is left of a truncated ",
                            "JPEG would differ from TensorFlow's; leave such files out"));
  }
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    init.Fail(InvalidArgument("ratio must be 1, 2, 4, or 8, got ", ratio));
  }
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    init.Fail(InvalidArgument(
        "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, not '", method, "'"));
  }
  options.ratio = static_cast<int>(ratio);
  options.is_fast = method != "INTEGER_ACCURATE";  // as TensorFlow does where it is left open
  return options;
}

// `from` as elements of `type`: bytes become numbers of 16 bits, or floats from 0 to 1.
template <typename To, typename From>
StatusOr<Tensor> Scaled(const KernelContext& ctx, const Tensor& from, To factor) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<To>, from.shape()));
  const auto in = from.values<From>();
  const auto to = out.template mutable_values<To>();
  ParallelFor(ctx, static_cast<int64_t>(in.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<To>(in[i]) * factor);
  });
  return out;
}

class DecodeKernel final : public Kernel {
 public:
  explicit DecodeKernel(KernelInit& init) : op_(init.node().op()) {
    if (FindAttr(init.def(), "channels") != nullptr) {
      int64_t channels = 0;
      init.Get("channels", &channels);
      const bool is_jpeg = op_ == "DecodeJpeg" || op_ == "DecodeAndCropJpeg";
      const bool is_known = channels == 0 || channels == 3 ||
                            (channels == 1 && op_ != "DecodeBmp") || (channels == 4 && !is_jpeg);
      if (!is_known)
        init.Fail(InvalidArgument("`channels` must be 0, ", op_ == "DecodeBmp" ? "" : "1, ",
                                  is_jpeg ? "or 3" : "3 or 4", ", got ", channels));
      channels_ = static_cast<int>(channels);
    }
    if (op_ == "DecodeGif") channels_ = 3;  // whatever the file is
    if (FindAttr(init.def(), "dtype") != nullptr) init.Get("dtype", &type_);
    if (FindAttr(init.def(), "expand_animations") != nullptr) {
      init.Get("expand_animations", &expands_);
    } else {
      expands_ = op_ == "DecodeGif";
    }
    if (op_ == "DecodeJpeg" || op_ == "DecodeAndCropJpeg") {
      jpeg_ = JpegOptions(init);
    }
    jpeg_.channels = channels_;
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const absl::string_view contents, Contents(ctx));
    const ImageFormat format = FormatOf(contents);
    TFLEET_RETURN_IF_ERROR(CheckFormat(format));
    TFLEET_ASSIGN_OR_RETURN(Tensor image, Decode(ctx, format, contents));
    TFLEET_ASSIGN_OR_RETURN(image, Converted(ctx, std::move(image)));
    ctx.SetOutput(0, std::move(image));
    return OkStatus();
  }

 private:
  Status CheckFormat(ImageFormat format) const {
    if (format == ImageFormat::kUnknown) {
      return InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
    }
    const bool is_bmp = format == ImageFormat::kBmp;
    if (op_ == "DecodeImage") return OkStatus();
    if ((op_ == "DecodeBmp") != is_bmp) {
      return InvalidArgument(
          "Trying to decode ", FormatName(format), " format using ",
          is_bmp ? "a wrong op. Use `decode_bmp`" : "DecodeBmp op. Use `decode_jpeg`",
          " or `decode_image` instead. Op used: ", op_);
    }
    if (op_ == "DecodeAndCropJpeg" && format != ImageFormat::kJpeg) {
      return InvalidArgument("DecodeAndCropJpeg operation can run on JPEG only, but detected ",
                             FormatName(format), ".");
    }
    return OkStatus();
  }

  StatusOr<Tensor> Decode(KernelContext& ctx, ImageFormat format,
                          absl::string_view contents) const {
    const CancellationManager* const step = ctx.step().cancellation;
    Tensor image;
    switch (format) {
      case ImageFormat::kJpeg: {
        if (channels_ == 4) {
          return InvalidArgument("Channels must be 0, 1, or 3 for JPEG, got ", channels_);
        }
        JpegDecoding options = jpeg_;
        if (op_ == "DecodeAndCropJpeg") TFLEET_RETURN_IF_ERROR(ReadWindow(ctx.input(1), &options));
        TFLEET_ASSIGN_OR_RETURN(image, DecodeJpeg(contents, options, step));
        break;
      }
      case ImageFormat::kPng: {
        // More bits where they are wanted, also for floats.
        const DType type = type_ == DType::kUInt8 ? DType::kUInt8 : DType::kUInt16;
        TFLEET_ASSIGN_OR_RETURN(image, DecodePng(contents, channels_, type, step));
        break;
      }
      case ImageFormat::kGif:
        return DecodeFrames(contents, step);
      default:
        if (channels_ == 1 && op_ != "DecodeImage") {
          return InvalidArgument("`channels` must be 0, 3 or 4 for BMP, but got ", channels_);
        }
        return DecodeBmp(contents, channels_);
    }
    if (op_ != "DecodeGif") return image;
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            Shape::Make({1, image.dim(0), image.dim(1), image.dim(2)}));
    return image.Reshaped(shape);
  }

  static Status ReadWindow(const Tensor& window, JpegDecoding* options) {
    if (window.rank() != 1 || window.dim(0) != 4) {
      return InvalidArgument(
          "crop_window must have four elements [y, x, height, width], not shape ",
          window.shape().ToString());
    }
    const auto values = window.values<int32_t>();
    options->crops = true;
    options->crop_y = values[0];
    options->crop_x = values[1];
    options->crop_height = values[2];
    options->crop_width = values[3];
    return OkStatus();
  }

  StatusOr<Tensor> DecodeFrames(absl::string_view contents, const CancellationManager* step) const {
    if (channels_ != 0 && channels_ != 3) {
      return InvalidArgument("channels must be 0 or 3 for GIF, got ", channels_);
    }
    int64_t frames = 0;
    TFLEET_ASSIGN_OR_RETURN(
        Tensor image,
        DecodeGif(contents, expands_ ? std::numeric_limits<int64_t>::max() : 1, &frames, step));
    if (expands_) return image;
    if (frames > 1 && op_ != "DecodeImage") {
      return InvalidArgument("Got ", frames, " frames, but animated gifs can only be decoded by ",
                             "tf.io.decode_gif or tf.io.decode_image");
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(image.shape().dims().subspan(1)));
    return image.Reshaped(shape);
  }

  StatusOr<Tensor> Converted(const KernelContext& ctx, Tensor image) const {
    if (image.dtype() == type_) return image;
    if (type_ == DType::kUInt16) return Scaled<uint16_t, uint8_t>(ctx, image, 256);
    if (image.dtype() == DType::kUInt16) {
      return Scaled<float, uint16_t>(ctx, image, 1.0f / 65535);
    }
    return Scaled<float, uint8_t>(ctx, image, 1.0f / 255);
  }

  const std::string op_;
  int channels_ = 0;
  DType type_ = DType::kUInt8;
  bool expands_ = false;
  JpegDecoding jpeg_;
};

class ExtractJpegShapeKernel final : public Kernel {
 public:
  explicit ExtractJpegShapeKernel(KernelInit& init) { init.Get("output_type", &type_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const absl::string_view contents, Contents(ctx));
    TFLEET_ASSIGN_OR_RETURN(const JpegShape shape, ReadJpegShape(contents));
    if (type_ == DType::kInt32) {
      ctx.SetOutput(0, Tensor::Vector<int32_t>({static_cast<int32_t>(shape.height),
                                                static_cast<int32_t>(shape.width),
                                                static_cast<int32_t>(shape.channels)}));
    } else {
      ctx.SetOutput(0, Tensor::Vector<int64_t>({shape.height, shape.width, shape.channels}));
    }
    return OkStatus();
  }

 private:
  DType type_ = DType::kInt32;
};

}  // namespace

void RegisterDecodeImageKernels(KernelRegistry& r) {
  for (const char* op :
       {"DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng"}) {
    r.Add<DecodeKernel>(op, kCpu);
  }
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    r.Add<ExtractJpegShapeKernel>("ExtractJpegShape", kCpu, {{"output_type", type}});
  }
}

}  // namespace tensorfleet::cpu
