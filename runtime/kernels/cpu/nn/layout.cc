#include "runtime/kernels/cpu/nn/layout.h"

#include "runtime/kernels/cpu/elements.h"

namespace tensorfleet::cpu {
namespace {

// in[batch][rows][columns] to out[batch][columns][rows], in squares that fit the cache.
template <typename E>
void TransposeMatrices(const KernelContext& ctx, const E* in, int64_t batch, int64_t rows,
                       int64_t columns, E* out) {
  constexpr int64_t kSide = 32;
  const int64_t strips = (columns + kSide - 1) / kSide;
  ParallelFor(ctx, batch * strips, kSide * rows, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t offset = strip / strips * rows * columns;
      const int64_t first = strip % strips * kSide, last = std::min(first + kSide, columns);
      for (int64_t top = 0; top < rows; top += kSide) {
        const int64_t bottom = std::min(top + kSide, rows);
        for (int64_t c = first; c < last; ++c) {
          for (int64_t r = top; r < bottom; ++r) {
            out[offset + c * rows + r] = in[offset + r * columns + c];
          }
        }
      }
    }
  });
}

StatusOr<Tensor> Moved(const KernelContext& ctx, const Tensor& image, const Shape& shape,
                       int64_t rows, int64_t columns) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(image.dtype(), shape));
  if (shape.num_elements() == 0) return out;
  VisitElement(image.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::Type;
    TransposeMatrices<E>(ctx, ElementsOf<E>(image), image.dim(0), rows, columns,
                         MutableElementsOf<E>(out));
  });
  return out;
}

Shape Rotated(const Shape& shape, bool to_last) {
  absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
  if (to_last) {
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  } else {
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  }
  StatusOr<Shape> rotated = Shape::Make(dims);
  TFLEET_CHECK(rotated.ok());  // the same dimensions in another order
  return *std::move(rotated);
}

}  // namespace

Shape ShapeWithChannelsLast(const Shape& shape) { return Rotated(shape, true); }
Shape ShapeWithChannelsFirst(const Shape& shape) { return Rotated(shape, false); }

StatusOr<Tensor> ChannelsToLast(const KernelContext& ctx, const Tensor& image) {
  const int64_t channels = image.dim(1);
  const int64_t spaces =
      image.num_elements() == 0 ? 0 : image.num_elements() / image.dim(0) / channels;
  return Moved(ctx, image, ShapeWithChannelsLast(image.shape()), channels, spaces);
}

StatusOr<Tensor> ChannelsToFirst(const KernelContext& ctx, const Tensor& image) {
  const int64_t channels = image.dim(-1);
  const int64_t spaces =
      image.num_elements() == 0 ? 0 : image.num_elements() / image.dim(0) / channels;
  return Moved(ctx, image, ShapeWithChannelsFirst(image.shape()), spaces, channels);
}

}  // namespace tensorfleet::cpu
