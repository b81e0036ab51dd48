// Images in another size, and the gradients. Kernels: runtime/kernels/cpu/image/resize_nearest.cc
// and resize_bilinear.cc; where pixels come from is reckoned by the same code.
#include "runtime/kernels/cpu/image/resize_input.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

using cpu::ResizeGrid;

constexpr int kRows = 1, kColumns = 2;  // axes of [batch, height, width, channels]

StatusOr<ResizeGrid> GridOf(LoweringContext& ctx) {
  ResizeGrid grid;
  grid.align_corners = ctx.BoolAttr("align_corners");
  grid.half_pixels = ctx.BoolAttr("half_pixel_centers");
  if (grid.align_corners && grid.half_pixels) return Unimplemented("both grids");
  return grid;
}

// Images that have pixels, and not so many in a row that the program would grow large.
Status CheckImages(const Shape& shape) {
  constexpr int64_t kMost = 1 << 16;
  if (shape.rank() != 4 || shape.num_elements() == 0) return Unimplemented("no images");
  if (shape.dim(kRows) > kMost || shape.dim(kColumns) > kMost) return Unimplemented("large images");
  return OkStatus();
}

// Images of the size that input 1 says.
StatusOr<Shape> ResizedShape(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> size, ctx.ConstantInts(1));
  if (ctx.shape(1).rank() != 1 || size.size() != 2) return Unimplemented("a size that is none");
  const Shape& images = ctx.shape(0);
  TFLEET_RETURN_IF_ERROR(CheckImages(images));
  if (size[0] <= 0 || size[1] <= 0) return Unimplemented("a size that is none");
  TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
  TFLEET_RETURN_IF_ERROR(CheckImages(shape));
  return shape;
}

// For each pixel along an axis of the larger or smaller images, the one that it comes from.
using Places = std::vector<int32_t>;

StatusOr<Hlo> Tuples(HloBuilder& b, const Places& places) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({static_cast<int64_t>(places.size()), 1}));
  return b.Constant(Tensor::Vector<int32_t>(places).Reshaped(shape));
}

StatusOr<Hlo> Taken(HloBuilder& b, const Hlo& x, int axis, const Places& places) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo tuples, Tuples(b, places));
  return b.Gather(x, tuples, {axis}, 0, axis);
}

// The other way round: what several places share is added up.
StatusOr<Hlo> Given(HloBuilder& b, const Hlo& x, int axis, const Places& places, int64_t size) {
  std::vector<int64_t> order = {axis}, back(4), dims;
  for (int i = 0; i < 4; ++i) {
    if (i != axis) order.push_back(i);
  }
  for (int i = 0; i < 4; ++i) back[order[i]] = i;
  for (const int64_t i : order) dims.push_back(i == axis ? size : x.shape.dim(static_cast<int>(i)));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const Hlo tuples, Tuples(b, places));
  const Hlo zeros = b.Full(x.dtype, shape, 0);
  return b.Transpose(b.Scatter("add", zeros, tuples, b.Transpose(x, order)), back);
}

Places Nearest(const ResizeGrid& grid, int64_t from, int64_t to) {
  Places places;
  const float scale = grid.Scale(from, to);
  for (int64_t i = 0; i < to; ++i) {
    places.push_back(static_cast<int32_t>(grid.Nearest(i, scale, from)));
  }
  return places;
}

Status ResizeNearest(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ResizeGrid grid, GridOf(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ResizedShape(ctx));
  Hlo x = ctx.input(0);
  for (const int axis : {kRows, kColumns}) {
    const Places places = Nearest(grid, x.shape.dim(axis), shape.dim(axis));
    TFLEET_ASSIGN_OR_RETURN(x, Taken(ctx.hlo(), x, axis, places));
  }
  ctx.Set(0, x);
  return OkStatus();
}

// The gradients are the images here, and input 1 says the size of the original.
Status ResizeNearestGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ResizeGrid grid, GridOf(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ResizedShape(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  for (const int axis : {kRows, kColumns}) {
    const Places places = Nearest(grid, shape.dim(axis), x.shape.dim(axis));
    TFLEET_ASSIGN_OR_RETURN(x, Given(b, x, axis, places, shape.dim(axis)));
  }
  ctx.Set(0, b.Convert(x, dtype));
  return OkStatus();
}

// For each pixel the two that it lies between, and the part of the way to the upper one.
struct Between {
  Places lower, upper;
  std::vector<float> part;

  Between(const ResizeGrid& grid, int64_t from, int64_t to) {
    const float scale = grid.Scale(from, to);
    const auto pixel = [&](float at) {
      return static_cast<int32_t>(std::clamp<int64_t>(static_cast<int64_t>(at), 0, from - 1));
    };
    for (int64_t i = 0; i < to; ++i) {
      const float at = grid.At(i, scale), floor = std::floor(at);
      lower.push_back(pixel(floor));
      upper.push_back(pixel(std::ceil(at)));
      part.push_back(at - floor);
    }
  }
  // The parts along an axis of `shape`.
  StatusOr<Hlo> Parts(HloBuilder& b, DType dtype, const Shape& shape, int axis) const {
    TFLEET_ASSIGN_OR_RETURN(const Hlo parts, b.Constant(Tensor::Vector<float>(part)));
    return b.Broadcast(b.Convert(parts, dtype), shape, {axis});
  }
};

Status ResizeBilinear(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ResizeGrid grid, GridOf(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ResizedShape(ctx));
  HloBuilder& b = ctx.hlo();
  Hlo x = b.Convert(ctx.input(0), DType::kFloat);
  if (x.shape == shape) {
    ctx.Set(0, x);
    return OkStatus();
  }
  for (const int axis : {kColumns, kRows}) {
    const Between between(grid, x.shape.dim(axis), shape.dim(axis));
    TFLEET_ASSIGN_OR_RETURN(const Hlo lower, Taken(b, x, axis, between.lower));
    TFLEET_ASSIGN_OR_RETURN(const Hlo upper, Taken(b, x, axis, between.upper));
    TFLEET_ASSIGN_OR_RETURN(const Hlo part, between.Parts(b, x.dtype, lower.shape, axis));
    x = b.Add(lower, b.Mul(b.Sub(upper, lower), part));
  }
  ctx.Set(0, x);
  return OkStatus();
}

Status ResizeBilinearGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const ResizeGrid grid, GridOf(ctx));
  const Shape &gradient = ctx.shape(0), &image = ctx.shape(1);
  TFLEET_RETURN_IF_ERROR(CheckImages(gradient));
  TFLEET_RETURN_IF_ERROR(CheckImages(image));
  if (gradient.dim(0) != image.dim(0) || gradient.dim(3) != image.dim(3)) {
    return Unimplemented("a gradient of other images");
  }
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(1);
  Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  for (const int axis : {kRows, kColumns}) {
    const int64_t size = image.dim(axis);
    const Between between(grid, size, x.shape.dim(axis));
    TFLEET_ASSIGN_OR_RETURN(const Hlo part, between.Parts(b, x.dtype, x.shape, axis));
    const Hlo up = b.Mul(x, part), down = b.Mul(x, b.Sub(b.Full(x.dtype, x.shape, 1), part));
    TFLEET_ASSIGN_OR_RETURN(const Hlo lower, Given(b, down, axis, between.lower, size));
    TFLEET_ASSIGN_OR_RETURN(const Hlo upper, Given(b, up, axis, between.upper, size));
    x = b.Add(lower, upper);
  }
  ctx.Set(0, b.Convert(x, dtype));
  return OkStatus();
}

}  // namespace

void AddResizeLowerings(LoweringRegistry& r) {
  r.Add("ResizeNearestNeighbor", ResizeNearest, {{"T", RealTypes()}});
  r.Add("ResizeNearestNeighborGrad", ResizeNearestGrad, {{"T", RealTypes()}});
  r.Add("ResizeBilinear", ResizeBilinear, {{"T", RealTypes()}});
  r.Add("ResizeBilinearGrad", ResizeBilinearGrad, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
