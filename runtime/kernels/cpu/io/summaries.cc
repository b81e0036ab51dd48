// Summaries: serialized tensorflow.Summary messages, as TensorBoard reads them from event files.
// Schemas: runtime/ops/io/summary_ops.cc.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proto/summary.pb.h"
#include "proto/tensor.pb.h"
#include "runtime/kernels/cpu/image/codecs.h"
#include "runtime/kernels/cpu/io/histogram.h"
#include "runtime/kernels/cpu/io/media.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::cpu {
namespace {

Status SetSummary(KernelContext& ctx, const tensorflow::Summary& summary) {
  ctx.SetOutput(0, Tensor::Scalar<std::string>(summary.SerializeAsString()));
  return OkStatus();
}

StatusOr<std::string> TagInput(const KernelContext& ctx) {
  if (ctx.input(0).num_elements() != 1) return InvalidArgument("tag must be scalar");
  return ctx.input(0).values<std::string>()[0];
}

// The i-th of at most `max` outputs is called TAG/KIND/i, an only one TAG/KIND.
std::string OutputTag(const std::string& tag, const char* kind, int64_t i, int64_t max) {
  return max > 1 ? absl::StrCat(tag, "/", kind, "/", i) : absl::StrCat(tag, "/", kind);
}

// Calls visit(value) with each element of a tensor of real numbers as a double.
template <typename Visit>
void ForEachValue(const Tensor& t, const Visit& visit) {
  ForEachType(Reals(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> != t.dtype()) return;
    for (const T& value : t.values<T>()) visit(static_cast<double>(value));
  });
}

class ScalarSummaryKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &tags = ctx.input(0), &values = ctx.input(1);
    if (tags.shape() != values.shape() &&
        !(tags.num_elements() == 1 && values.num_elements() == 1)) {
      return InvalidArgument("tags and values are not the same shape: ", tags.shape().ToString(),
                             " != ", values.shape().ToString(),
                             tags.num_elements() > 0
                                 ? absl::StrCat(" (tag '", tags.values<std::string>()[0], "')")
                                 : "");
    }
    tensorflow::Summary summary;
    int64_t i = 0;
    ForEachValue(values, [&](double value) {
      tensorflow::Summary::Value* out = summary.add_value();
      out->set_tag(tags.values<std::string>()[i++]);
      out->set_simple_value(static_cast<float>(value));
    });
    return SetSummary(ctx, summary);
  }
};

class HistogramSummaryKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string tag, TagInput(ctx));
    Histogram histogram;
    const char* bad = nullptr;
    ForEachValue(ctx.input(1), [&](double value) {
      if (std::isnan(value)) bad = "Nan";
      if (std::isinf(value)) bad = "Infinity";
      histogram.Add(value);
    });
    if (bad != nullptr) {
      return InvalidArgument(bad, " in summary histogram for: ", ctx.node().name());
    }
    tensorflow::Summary summary;
    tensorflow::Summary::Value* value = summary.add_value();
    value->set_tag(tag);
    histogram.ToProto(value->mutable_histo());
    return SetSummary(ctx, summary);
  }
  bool IsExpensive() const override { return true; }
};

class ImageSummaryKernel final : public Kernel {
 public:
  explicit ImageSummaryKernel(KernelInit& init) {
    init.Get("max_images", &max_images_);
    init.Get("bad_color", &bad_color_);
    if (bad_color_.is_valid() && bad_color_.dtype() != DType::kUInt8) {
      init.Fail(InvalidArgument("bad_color must be uint8, got ", DTypeName(bad_color_.dtype())));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string tag, TagInput(ctx));
    const Tensor& images = ctx.input(1);
    const Shape& shape = images.shape();
    if (shape.rank() != 4 || (shape.dim(3) != 1 && shape.dim(3) != 3 && shape.dim(3) != 4)) {
      return InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not ", shape.ToString());
    }
    constexpr int64_t kMaxSide = int64_t{1} << 16;
    if (shape.dim(1) > kMaxSide || shape.dim(2) > kMaxSide) {
      return InvalidArgument("images of ", shape.dim(1), " x ", shape.dim(2),
                             " are too big to be encoded");
    }
    const int channels = static_cast<int>(shape.dim(3));
    if (bad_color_.num_elements() < channels) {
      return InvalidArgument("expected depth <= bad_color.size, got depth = ", channels,
                             ", bad_color.size = ", bad_color_.num_elements());
    }
    const int64_t pixels = shape.dim(1) * shape.dim(2);
    tensorflow::Summary summary;
    for (int64_t i = 0; i < std::min(shape.dim(0), max_images_); ++i) {
      const std::vector<uint8_t> bytes = ToBytes(images, i, pixels, channels);
      tensorflow::Summary::Value* value = summary.add_value();
      value->set_tag(OutputTag(tag, "image", i, max_images_));
      tensorflow::Summary::Image* image = value->mutable_image();
      image->set_height(static_cast<int>(shape.dim(1)));
      image->set_width(static_cast<int>(shape.dim(2)));
      image->set_colorspace(channels);
      TFLEET_ASSIGN_OR_RETURN(std::string png, EncodePng(bytes.data(), DType::kUInt8, shape.dim(1),
                                                         shape.dim(2), channels, -1));
      image->set_encoded_image_string(std::move(png));
    }
    return SetSummary(ctx, summary);
  }
  bool IsExpensive() const override { return true; }

 private:
  std::vector<uint8_t> ToBytes(const Tensor& images, int64_t i, int64_t pixels,
                               int channels) const {
    const int64_t n = pixels * channels;
    if (images.dtype() == DType::kUInt8) {
      const auto values = images.values<uint8_t>().subspan(i * n, n);
      return {values.begin(), values.end()};
    }
    std::vector<float> values;
    ForEachType(Types<Eigen::half, float, double>(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (kDTypeOf<T> != images.dtype()) return;
      for (const T v : images.values<T>().subspan(i * n, n))
        values.push_back(static_cast<float>(v));
    });
    return Normalized(values, pixels, channels);
  }

  // Values of both signs are scaled about 128, others from 0, such that the greatest just fits. A
  // pixel with a value that is no finite number gets the bad colour.
  std::vector<uint8_t> Normalized(const std::vector<float>& values, int64_t pixels,
                                  int channels) const {
    float low = INFINITY, high = -INFINITY;
    for (const float v : values) {
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    constexpr float kAlmostZero = 1e-6f;
    const bool both_signs = low < 0;
    const float greatest = both_signs ? std::max(std::abs(low), std::abs(high)) : high;
    const float range = both_signs ? 127.0f : 255.0f;
    const float scale = greatest < kAlmostZero ? 0.0f : range / greatest;
    const float offset = both_signs ? 128.0f : 0.0f;
    std::vector<uint8_t> bytes(values.size());
    for (int64_t p = 0; p < pixels; ++p) {
      const float* pixel = values.data() + p * channels;
      const bool is_finite =
          std::all_of(pixel, pixel + channels, [](float v) { return std::isfinite(v); });
      for (int c = 0; c < channels; ++c) {
        bytes[p * channels + c] = is_finite ? static_cast<uint8_t>(pixel[c] * scale + offset)
                                            : bad_color_.values<uint8_t>()[c];
      }
    }
    return bytes;
  }

  int64_t max_images_ = 3;
  Tensor bad_color_;
};

// AudioSummary, with the rate as an attribute, and AudioSummaryV2, with the rate as an input.
class AudioSummaryKernel final : public Kernel {
 public:
  explicit AudioSummaryKernel(KernelInit& init) : rate_is_input_(init.node().num_inputs() == 3) {
    init.Get("max_outputs", &max_outputs_);
    if (!rate_is_input_) init.Get("sample_rate", &sample_rate_);
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string tag, TagInput(ctx));
    const Tensor& sounds = ctx.input(1);
    if (sounds.rank() != 2 && sounds.rank() != 3) {
      return InvalidArgument("Tensor must be 3-D or 2-D, got: ", sounds.shape().ToString());
    }
    float sample_rate = sample_rate_;
    if (rate_is_input_) {
      if (ctx.input(2).num_elements() != 1)
        return InvalidArgument("sample_rate must be rank-0 or contain a single value");
      sample_rate = ctx.input(2).values<float>()[0];
    }
    if (!(sample_rate > 0) || sample_rate > 1e9f)
      return InvalidArgument("sample_rate must be > 0, got ", sample_rate);
    const int64_t frames = sounds.dim(1), channels = sounds.rank() == 2 ? 1 : sounds.dim(2);
    if (channels < 1 || channels > 65535 || frames > (int64_t{1} << 31) / (2 * channels) - 64) {
      return InvalidArgument("sounds of ", frames, " frames and ", channels,
                             " channels cannot be encoded");
    }
    tensorflow::Summary summary;
    for (int64_t i = 0; i < std::min(sounds.dim(0), max_outputs_); ++i) {
      tensorflow::Summary::Value* value = summary.add_value();
      value->set_tag(OutputTag(tag, "audio", i, max_outputs_));
      tensorflow::Summary::Audio* audio = value->mutable_audio();
      audio->set_sample_rate(sample_rate);
      audio->set_num_channels(channels);
      audio->set_length_frames(frames);
      audio->set_content_type("audio/wav");
      audio->set_encoded_audio_string(EncodeWav(
          sounds.values<float>().subspan(i * frames * channels, frames * channels), frames,
          static_cast<int>(channels), static_cast<int>(std::lround(sample_rate))));
    }
    return SetSummary(ctx, summary);
  }
  bool IsExpensive() const override { return true; }

 private:
  const bool rate_is_input_;
  int64_t max_outputs_ = 3;
  float sample_rate_ = 0;
};

class TensorSummaryKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string tag, TagInput(ctx));
    if (ctx.input(2).num_elements() != 1)
      return InvalidArgument("serialized_summary_metadata must be scalar");
    const Tensor& tensor = ctx.input(1);
    tensorflow::Summary summary;
    tensorflow::Summary::Value* value = summary.add_value();
    value->set_tag(tag);
    if (!value->mutable_metadata()->ParseFromString(ctx.input(2).values<std::string>()[0])) {
      return InvalidArgument("serialized_summary_metadata of tag ", tag, " cannot be parsed");
    }
    if (tensor.dtype() == DType::kString) {
      // Readers of summaries look for strings in their own field.
      tensorflow::TensorProto* proto = value->mutable_tensor();
      proto->set_dtype(tensorflow::DT_STRING);
      tensor.shape().ToProto(proto->mutable_tensor_shape());
      for (const std::string& s : tensor.values<std::string>()) proto->add_string_val(s);
    } else {
      TFLEET_RETURN_IF_ERROR(TensorToProto(tensor, value->mutable_tensor()));
    }
    return SetSummary(ctx, summary);
  }
};

class MergeSummaryKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    tensorflow::Summary merged;
    std::unordered_set<std::string> tags;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      for (const std::string& serialized : ctx.input(i).values<std::string>()) {
        tensorflow::Summary summary;
        if (!summary.ParseFromString(serialized)) {
          return InvalidArgument("Could not parse one of the summary inputs");
        }
        for (tensorflow::Summary::Value& value : *summary.mutable_value()) {
          if (!value.tag().empty() && !tags.insert(value.tag()).second) {
            return InvalidArgument("Duplicate tag ", value.tag(), " found in summary inputs ");
          }
          merged.add_value()->Swap(&value);
        }
      }
    }
    return SetSummary(ctx, merged);
  }
};

}  // namespace

void RegisterSummaryKernels(KernelRegistry& kernels) {
  kernels.Add<ScalarSummaryKernel>("ScalarSummary", kCpu);
  kernels.Add<HistogramSummaryKernel>("HistogramSummary", kCpu);
  kernels.Add<ImageSummaryKernel>("ImageSummary", kCpu);
  kernels.Add<AudioSummaryKernel>("AudioSummary", kCpu);
  kernels.Add<AudioSummaryKernel>("AudioSummaryV2", kCpu);
  kernels.Add<TensorSummaryKernel>("TensorSummaryV2", kCpu);
  kernels.Add<MergeSummaryKernel>("MergeSummary", kCpu);
}

}  // namespace tensorfleet::cpu
