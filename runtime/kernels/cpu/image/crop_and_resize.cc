// CropAndResize and its gradients. Schemas: runtime/ops/image/resize_ops.cc.
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Boxes [n, 4] of y1, x1, y2, x2, each of the image that box_ind says.
struct Boxes {
  const float* corners = nullptr;
  const int32_t* images = nullptr;
  int64_t count = 0;
};

StatusOr<Boxes> ReadBoxes(const KernelContext& ctx, int first, int64_t batch) {
  const Tensor &boxes = ctx.input(first), &images = ctx.input(first + 1);
  if (boxes.num_elements() == 0 && images.num_elements() == 0) return Boxes();
  if (boxes.rank() != 2) {
    return InvalidArgument("boxes must be 2-D, not of shape ", boxes.shape().ToString());
  }
  if (boxes.dim(1) != 4) return InvalidArgument("boxes must have 4 columns");
  if (images.rank() != 1) {
    return InvalidArgument("box_index must be 1-D, not of shape ", images.shape().ToString());
  }
  if (images.dim(0) != boxes.dim(0)) return InvalidArgument("box_index has incompatible shape");
  for (const int32_t image : images.values<int32_t>()) {
    if (image < 0 || image >= batch) {
      return OutOfRange("box_index has values outside [0, batch_size)");
    }
  }
  return Boxes{boxes.values<float>().data(), images.values<int32_t>().data(), boxes.dim(0)};
}

// A position along one side of an image, for one pixel of a crop.
struct Position {
  bool is_inside = false;
  int64_t lower = 0, upper = 0, nearest = 0;
  float part = 0;  // of the way to the upper one
};

// `is_gradient`: rounded as TensorFlow's gradients are, which matters where a position is a
// pixel's.
Position PositionOf(float begin, float end, int64_t i, int64_t crop, int64_t size,
                    bool is_gradient) {
  const auto last = static_cast<float>(size - 1);
  float at = 0.5f * (begin + end) * last;
  if (crop > 1) {
    const auto steps = static_cast<float>(crop - 1);
    const float scale = is_gradient ? (end - begin) * (last / steps) : (end - begin) * last / steps;
    at = begin * last + static_cast<float>(i) * scale;
  }
  Position position;
  position.is_inside = at >= 0 && at <= last;
  if (!position.is_inside) return position;
  // A float is not exact for every pixel of a large image.
  const auto pixel = [&](float value) {
    return std::min<int64_t>(static_cast<int64_t>(value), size - 1);
  };
  position.lower = pixel(std::floor(at));
  position.upper = pixel(std::ceil(at));
  position.nearest = pixel(std::roundf(at));
  position.part = at - std::floor(at);
  return position;
}

Status CheckImage(const Tensor& image) {
  if (image.rank() != 4) {
    return InvalidArgument("input image must be 4-D, not of shape ", image.shape().ToString());
  }
  if (image.dim(1) <= 0 || image.dim(2) <= 0) {
    return InvalidArgument("image dimensions must be positive");
  }
  return OkStatus();
}

template <typename T>
class CropAndResize final : public Kernel {
 public:
  explicit CropAndResize(KernelInit& init) {
    std::string method;
    init.Get("method", &method);
    init.Get("extrapolation_value", &outside_);
    is_nearest_ = method == "nearest";
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& image = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckImage(image));
    TFLEET_ASSIGN_OR_RETURN(const Boxes boxes, ReadBoxes(ctx, 1, image.dim(0)));
    const Tensor& size = ctx.input(3);
    if (size.rank() != 1 || size.dim(0) != 2) {
      return InvalidArgument("crop_size must have two elements, not the shape ",
                             size.shape().ToString());
    }
    const int64_t height = size.values<int32_t>()[0], width = size.values<int32_t>()[1];
    if (height <= 0 || width <= 0) return InvalidArgument("crop dimensions must be positive");
    TFLEET_ASSIGN_OR_RETURN(
        Tensor out, ctx.Allocate(DType::kFloat, {boxes.count, height, width, image.dim(3)}));
    const int64_t row = width * image.dim(3);
    float* const to = out.mutable_values<float>().data();
    ForEachRow(ctx, boxes.count, height, 4 * row, [&](int64_t n, int64_t y) {
      Row(image, boxes, n, y, height, width, to + (n * height + y) * row);
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  void Row(const Tensor& image, const Boxes& boxes, int64_t n, int64_t y, int64_t height,
           int64_t width, float* to) const {
    const float* const box = boxes.corners + n * 4;
    const int64_t channels = image.dim(3), in_row = image.dim(2) * channels;
    const Position rows = PositionOf(box[0], box[2], y, height, image.dim(1), false);
    const T* const from = image.values<T>().data() + boxes.images[n] * image.dim(1) * in_row;
    for (int64_t x = 0; x < width; ++x, to += channels) {
      const Position columns = PositionOf(box[1], box[3], x, width, image.dim(2), false);
      if (!rows.is_inside || !columns.is_inside) {
        std::fill(to, to + channels, outside_);
        continue;
      }
      if (is_nearest_) {
        const T* const pixel = from + rows.nearest * in_row + columns.nearest * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<float>(pixel[c]);
        continue;
      }
      const T* const top = from + rows.lower * in_row;
      const T* const bottom = from + rows.upper * in_row;
      const int64_t left = columns.lower * channels, right = columns.upper * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const auto top_left = static_cast<float>(top[left + c]);
        const auto bottom_left = static_cast<float>(bottom[left + c]);
        const float above =
            top_left + (static_cast<float>(top[right + c]) - top_left) * columns.part;
        const float below =
            bottom_left + (static_cast<float>(bottom[right + c]) - bottom_left) * columns.part;
        to[c] = above + (below - above) * rows.part;
      }
    }
  }

  bool is_nearest_ = false;
  float outside_ = 0;
};

Status CheckGrads(const Tensor& grads, const Boxes& boxes, int64_t channels) {
  if (grads.rank() != 4) {
    return InvalidArgument("grads image must be 4-D, not of shape ", grads.shape().ToString());
  }
  if (grads.dim(1) <= 0 || grads.dim(2) <= 0) {
    return InvalidArgument("grads dimensions must be positive");
  }
  if (grads.dim(0) != boxes.count)
    return InvalidArgument("boxes and grads have incompatible shape");
  if (grads.dim(3) != channels) return InvalidArgument("image_size and grads are incompatible");
  return OkStatus();
}

template <typename T>
class CropAndResizeGradImage final : public Kernel {
 public:
  explicit CropAndResizeGradImage(KernelInit& init) {
    std::string method;
    init.Get("method", &method);
    is_nearest_ = method == "nearest";
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &grads = ctx.input(0), &size = ctx.input(3);
    if (size.rank() != 1) {
      return InvalidArgument("image_size must be 1-D, not of shape ", size.shape().ToString());
    }
    if (size.dim(0) != 4) return InvalidArgument("image_size must have 4 elements");
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(size));
    if (shape.dim(1) <= 0 || shape.dim(2) <= 0) {
      return InvalidArgument("image dimensions must be positive");
    }
    TFLEET_ASSIGN_OR_RETURN(const Boxes boxes, ReadBoxes(ctx, 1, shape.dim(0)));
    TFLEET_RETURN_IF_ERROR(CheckGrads(grads, boxes, shape.dim(3)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    // Boxes may share pixels: one thread adds them up, in their order.
    LoopWatch watch(ctx, 8 * grads.dim(2) * grads.dim(3));
    for (int64_t n = 0; n < boxes.count; ++n) {
      for (int64_t y = 0; y < grads.dim(1); ++y) {
        watch.Pass();
        AddRow(grads, boxes, n, y, out);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  void AddRow(const Tensor& grads, const Boxes& boxes, int64_t n, int64_t y, Tensor& out) const {
    const float* const box = boxes.corners + n * 4;
    const int64_t crop_height = grads.dim(1), crop_width = grads.dim(2), channels = grads.dim(3);
    const int64_t in_row = out.dim(2) * channels;
    const Position rows = PositionOf(box[0], box[2], y, crop_height, out.dim(1), true);
    if (!rows.is_inside) return;
    T* const image = out.mutable_values<T>().data() + boxes.images[n] * out.dim(1) * in_row;
    const float* grad =
        grads.values<float>().data() + (n * crop_height + y) * crop_width * channels;
    const auto add = [](T& sum, float value) { sum = static_cast<T>(sum + static_cast<T>(value)); };
    for (int64_t x = 0; x < crop_width; ++x, grad += channels) {
      const Position columns = PositionOf(box[1], box[3], x, crop_width, out.dim(2), true);
      if (!columns.is_inside) continue;
      if (is_nearest_) {
        T* const pixel = image + rows.nearest * in_row + columns.nearest * channels;
        for (int64_t c = 0; c < channels; ++c) add(pixel[c], grad[c]);
        continue;
      }
      T* const top = image + rows.lower * in_row;
      T* const bottom = image + rows.upper * in_row;
      const int64_t left = columns.lower * channels, right = columns.upper * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const float above = (1 - rows.part) * grad[c], below = rows.part * grad[c];
        add(top[left + c], (1 - columns.part) * above);
        add(top[right + c], columns.part * above);
        add(bottom[left + c], (1 - columns.part) * below);
        add(bottom[right + c], columns.part * below);
      }
    }
  }

  bool is_nearest_ = false;
};

template <typename T>
class CropAndResizeGradBoxes final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor &grads = ctx.input(0), &image = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckImage(image));
    TFLEET_ASSIGN_OR_RETURN(const Boxes boxes, ReadBoxes(ctx, 2, image.dim(0)));
    TFLEET_RETURN_IF_ERROR(CheckGrads(grads, boxes, image.dim(3)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, {boxes.count, 4}));
    float* const to = out.mutable_values<float>().data();
    ParallelFor(ctx, boxes.count, 10 * grads.dim(1) * grads.dim(2) * grads.dim(3),
                [&](int64_t begin, int64_t end) {
                  for (int64_t n = begin; n < end; ++n) OneBox(grads, image, boxes, n, to + n * 4);
                });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Adds what a slope says of the two corners of one side.
  static void Add(float slope, int64_t i, int64_t crop, int64_t size, float* first, float* second) {
    const auto last = static_cast<float>(size - 1);
    if (crop > 1) {
      const float ratio = last / static_cast<float>(crop - 1);
      *first += slope * (last - static_cast<float>(i) * ratio);
      *second += slope * (static_cast<float>(i) * ratio);
    } else {
      *first += slope * 0.5f * last;
      *second += slope * 0.5f * last;
    }
  }

  static void OneBox(const Tensor& grads, const Tensor& image, const Boxes& boxes, int64_t n,
                     float* to) {
    const float* const box = boxes.corners + n * 4;
    const int64_t height = grads.dim(1), width = grads.dim(2), channels = grads.dim(3);
    const int64_t in_row = image.dim(2) * channels;
    const T* const from = image.values<T>().data() + boxes.images[n] * image.dim(1) * in_row;
    const float* grad = grads.values<float>().data() + n * height * width * channels;
    for (int64_t y = 0; y < height; ++y) {
      const Position rows = PositionOf(box[0], box[2], y, height, image.dim(1), true);
      for (int64_t x = 0; x < width; ++x, grad += channels) {
        const Position columns = PositionOf(box[1], box[3], x, width, image.dim(2), true);
        if (!rows.is_inside || !columns.is_inside) continue;
        const T* const top = from + rows.lower * in_row;
        const T* const bottom = from + rows.upper * in_row;
        const int64_t left = columns.lower * channels, right = columns.upper * channels;
        for (int64_t c = 0; c < channels; ++c) {
          const auto top_left = static_cast<float>(top[left + c]);
          const auto top_right = static_cast<float>(top[right + c]);
          const auto bottom_left = static_cast<float>(bottom[left + c]);
          const auto bottom_right = static_cast<float>(bottom[right + c]);
          const float down = (1 - columns.part) * (bottom_left - top_left) +
                             columns.part * (bottom_right - top_right);
          const float across =
              (1 - rows.part) * (top_right - top_left) + rows.part * (bottom_right - bottom_left);
          Add(down * grad[c], y, height, image.dim(1), &to[0], &to[2]);
          Add(across * grad[c], x, width, image.dim(2), &to[1], &to[3]);
        }
      }
    }
  }
};

}  // namespace

void RegisterCropAndResizeKernels(KernelRegistry& r) {
  AddForTypes<CropAndResize>(r, "CropAndResize", Reals());
  AddForTypes<CropAndResizeGradImage>(r, "CropAndResizeGradImage",
                                      Types<Eigen::half, float, double>());
  AddForTypes<CropAndResizeGradBoxes>(r, "CropAndResizeGradBoxes", Reals());
}

}  // namespace tensorfleet::cpu
