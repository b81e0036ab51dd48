// ImageProjectiveTransformV2 and V3. Schemas: runtime/ops/image/resize_ops.cc.
#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

enum class Fill { kConstant, kReflect, kWrap, kNearest };

// Where a coordinate outside an image of `length` pixels is read from. What is far outside, or no
// number, is cut off rather than counted in turns.
float Mapped(Fill fill, float at, int64_t length) {
  const auto size = static_cast<float>(length), last = static_cast<float>(length - 1);
  if (fill == Fill::kConstant) return at;
  if (fill == Fill::kNearest) return std::min(std::max(at, 0.0f), last);
  if (!(std::abs(at) < 1e9f)) return std::isnan(at) ? 0.0f : std::min(std::max(at, 0.0f), last);
  if (at >= 0 && at <= last) return at;
  if (length <= 1) return 0;
  const auto turns = [](float x) { return static_cast<float>(static_cast<int64_t>(x)); };
  if (fill == Fill::kReflect) {
    const float period = 2 * size;
    if (at < 0) {
      if (at < period) at = period * turns(-at / period) + at;
      at = at < -size ? at + period : -at - 1;
    } else {
      at -= period * turns(at / period);
      if (at >= size) at = period - at - 1;
    }
  } else if (at < 0) {
    at += size * (turns(-at / last) + 1);
  } else {
    at -= size * turns(at / last);
  }
  return std::min(std::max(at, 0.0f), last);
}

template <typename T>
class ProjectiveTransform final : public Kernel {
 public:
  explicit ProjectiveTransform(KernelInit& init) {
    std::string interpolation, fill;
    init.Get("interpolation", &interpolation);
    init.Get("fill_mode", &fill);
    if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
      init.Fail(InvalidArgument("Invalid interpolation ", interpolation,
                                ". Supported types: NEAREST, BILINEAR"));
    }
    is_nearest_ = interpolation == "NEAREST";
    if (fill == "REFLECT") {
      fill_ = Fill::kReflect;
    } else if (fill == "WRAP") {
      fill_ = Fill::kWrap;
    } else if (fill == "NEAREST") {
      fill_ = Fill::kNearest;
    } else if (fill != "CONSTANT") {
      init.Fail(InvalidArgument("Invalid mode ", fill,
                                ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST"));
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &images = ctx.input(0), &transforms = ctx.input(1), &shape = ctx.input(2);
    if (images.rank() != 4) return InvalidArgument("Input images must have rank 4");
    const bool is_matrix = transforms.rank() == 2 && transforms.dim(1) == 8 &&
                           (transforms.dim(0) == images.dim(0) || transforms.dim(0) == 1);
    if (!is_matrix) {
      return InvalidArgument("Input transform should be num_images x 8 or 1 x 8, not of shape ",
                             transforms.shape().ToString());
    }
    if (shape.rank() != 1 || shape.dim(0) != 2) {
      return InvalidArgument("output shape must be a vector of two elements, not of shape ",
                             shape.shape().ToString());
    }
    const int64_t height = shape.values<int32_t>()[0], width = shape.values<int32_t>()[1];
    if (height <= 0 || width <= 0) {
      return InvalidArgument("new height and width must be positive, not ", height, " x ", width);
    }
    T outside(0);
    if (ctx.num_inputs() > 3) {
      if (!ctx.input(3).shape().is_scalar()) {
        return InvalidArgument("fill_value must be a scalar, not of shape ",
                               ctx.input(3).shape().ToString());
      }
      outside = Converted(ctx.input(3).scalar<float>());
    }
    const int64_t channels = images.dim(3);
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.Allocate(kDTypeOf<T>, {images.dim(0), height, width, channels}));
    T* const to = out.mutable_values<T>().data();
    const int64_t row = width * channels;
    if (out.num_elements() > 0) {
      ForEachRow(ctx, images.dim(0), height, 8 * row, [&](int64_t b, int64_t y) {
        const float* const transform =
            transforms.values<float>().data() + (transforms.dim(0) == 1 ? 0 : b * 8);
        const Image image{images.values<T>().data() + b * images.dim(1) * images.dim(2) * channels,
                          images.dim(1), images.dim(2), channels, outside};
        Row(image, transform, y, width, to + (b * height + y) * row);
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  struct Image {
    const T* pixels;
    int64_t height, width, channels;
    T outside;
    T At(int64_t y, int64_t x, int64_t c) const {
      if (y < 0 || y >= height || x < 0 || x >= width) return outside;
      return pixels[(y * width + x) * channels + c];
    }
  };

  // As a cast, where the type can hold the value.
  static T Converted(float value) {
    if constexpr (std::is_integral_v<T>) {
      if (std::isnan(value)) return T(0);
      if (value >= static_cast<float>(std::numeric_limits<T>::max())) {
        return std::numeric_limits<T>::max();
      }
      if (value <= static_cast<float>(std::numeric_limits<T>::lowest())) {
        return std::numeric_limits<T>::lowest();
      }
    }
    return static_cast<T>(value);
  }
  // The pixel of a coordinate; what is no pixel of any image lies outside.
  static int64_t Pixel(float at) {
    return std::abs(at) < 1e12f ? static_cast<int64_t>(at) : int64_t{-2};
  }

  void Row(const Image& image, const float* t, int64_t row, int64_t width, T* to) const {
    const auto out_y = static_cast<float>(row);
    for (int64_t i = 0; i < width; ++i, to += image.channels) {
      const auto out_x = static_cast<float>(i);
      const float projection = t[6] * out_x + t[7] * out_y + 1.0f;
      if (projection == 0) {
        std::fill(to, to + image.channels, image.outside);
        continue;
      }
      const float x = Mapped(fill_, (t[0] * out_x + t[1] * out_y + t[2]) / projection, image.width);
      const float y =
          Mapped(fill_, (t[3] * out_x + t[4] * out_y + t[5]) / projection, image.height);
      if (is_nearest_) {
        const int64_t from_y = Pixel(std::round(y)), from_x = Pixel(std::round(x));
        for (int64_t c = 0; c < image.channels; ++c) to[c] = image.At(from_y, from_x, c);
      } else {
        Blend(image, y, x, to);
      }
    }
  }

  static void Blend(const Image& image, float y, float x, T* to) {
    const float top = std::floor(y), left = std::floor(x), bottom = top + 1, right = left + 1;
    const int64_t row = Pixel(top), column = Pixel(left);
    for (int64_t c = 0; c < image.channels; ++c) {
      const auto at = [&](int64_t from_y, int64_t from_x) {
        return static_cast<float>(image.At(from_y, from_x, c));
      };
      const float above = (right - x) * at(row, column) + (x - left) * at(row, column + 1);
      const float below = (right - x) * at(row + 1, column) + (x - left) * at(row + 1, column + 1);
      to[c] = Converted((bottom - y) * above + (y - top) * below);
    }
  }

  bool is_nearest_ = true;
  Fill fill_ = Fill::kConstant;
};

}  // namespace

void RegisterProjectiveKernels(KernelRegistry& r) {
  for (const char* op : {"ImageProjectiveTransformV2", "ImageProjectiveTransformV3"}) {
    AddForTypes<ProjectiveTransform>(
        r, op, Types<uint8_t, int32_t, int64_t, Eigen::half, float, double>(), "dtype");
  }
}

}  // namespace tensorfleet::cpu
