// Pools over rows and columns, averages over volumes too, and their gradients.
#include "absl/strings/match.h"
#include "runtime/graph/volume_attrs.h"
#include "runtime/graph/window_attrs.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct Pool {
  std::vector<WindowAxis> axes;  // of all dimensions
  std::vector<Window> windows;   // by space: planes, rows and columns
  std::vector<int> space;        // their axes
  Shape output;
};

template <typename Attrs>
Status SetWindows(const StatusOr<Attrs>& attrs, const Shape& image, Pool* pool) {
  if (!attrs.ok()) return Unimplemented(attrs.status().message());
  for (const int fixed : {0, attrs->channel_axis()}) {
    if (attrs->ksize[fixed] != 1 || attrs->strides[fixed] != 1) {
      return Unimplemented("a window over batch or channels");
    }
  }
  for (int i = 0; i < image.rank() - 2; ++i) {
    const int axis = attrs->space_axis(i);
    const StatusOr<Window> window = attrs->AlongSpace(i, image.dim(axis), attrs->ksize[axis]);
    if (!window.ok()) return Unimplemented(window.status().message());
    pool->windows.push_back(*window);
    pool->space.push_back(axis);
  }
  return OkStatus();
}

StatusOr<Pool> PoolOf(LoweringContext& ctx, const Shape& image) {
  const tensorflow::NodeDef& def = ctx.node().def();
  const bool is_volume = absl::StrContains(def.op(), "3D");
  const int rank = is_volume ? 5 : 4;
  if (image.rank() != rank || image.num_elements() == 0) return Unimplemented("no images");
  Pool pool;
  TFLEET_RETURN_IF_ERROR(is_volume ? SetWindows(ReadVolumeAttrs(def), image, &pool)
                                   : SetWindows(ReadWindowAttrs(def), image, &pool));
  pool.axes.resize(rank);
  std::vector<int64_t> dims(image.dims().begin(), image.dims().end());
  for (size_t i = 0; i < pool.windows.size(); ++i) {
    const Window& window = pool.windows[i];
    const int64_t reach = (window.output - 1) * window.stride + window.size;
    pool.axes[pool.space[i]] = {window.size, window.stride, window.before,
                                reach - window.input - window.before};
    dims[pool.space[i]] = window.output;
  }
  TFLEET_ASSIGN_OR_RETURN(pool.output, Shape::Make(dims));
  if (pool.output.num_elements() == 0) return Unimplemented("nothing");
  return pool;
}

constexpr double kLowest = -std::numeric_limits<double>::infinity();

Status MaxPool(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Pool pool, PoolOf(ctx, ctx.shape(0)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  ctx.Set(0, b.ReduceWindow("maximum", x, b.Scalar(x.dtype, kLowest), pool.axes, pool.output));
  return OkStatus();
}

Status MaxPoolGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Pool pool, PoolOf(ctx, ctx.shape(0)));
  if (ctx.shape(2) != pool.output) return Unimplemented("a gradient of another shape");
  for (const WindowAxis& axis : pool.axes) {
    if (axis.pad_high < 0) return Unimplemented("windows that end before the image");
  }
  ctx.Set(0, ctx.hlo().SelectAndScatterMax(ctx.input(0), ctx.input(2), pool.axes));
  return OkStatus();
}

// How many elements each window covers.
Hlo Counts(LoweringContext& ctx, const Pool& pool, const Shape& image, DType dtype) {
  HloBuilder& b = ctx.hlo();
  return b.ReduceWindow("add", b.Full(dtype, image, 1), b.Scalar(dtype, 0), pool.axes, pool.output);
}

Status AvgPool(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Pool pool, PoolOf(ctx, ctx.shape(0)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(ctx.dtype(0)));
  const Hlo sum = b.ReduceWindow("add", x, b.Scalar(x.dtype, 0), pool.axes, pool.output);
  ctx.Set(0, b.Convert(b.Div(sum, Counts(ctx, pool, x.shape, x.dtype)), ctx.dtype(0)));
  return OkStatus();
}

// Each element gets its share of every window that covers it.
Status AvgPoolGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.ConstantInts(0));
  TFLEET_ASSIGN_OR_RETURN(const Shape image, Shape::Make(sizes));
  TFLEET_ASSIGN_OR_RETURN(const Pool pool, PoolOf(ctx, image));
  if (ctx.shape(1) != pool.output) return Unimplemented("a gradient of another shape");
  HloBuilder& b = ctx.hlo();
  const Hlo dy = b.Convert(ctx.input(1), AccumulatorType(ctx.dtype(1)));
  const Hlo share = b.Div(dy, Counts(ctx, pool, image, dy.dtype));
  std::vector<WindowAxis> axes(image.rank());
  for (size_t i = 0; i < pool.windows.size(); ++i) {
    const Window& w = pool.windows[i];
    WindowAxis& axis = axes[pool.space[i]];
    axis.size = w.size;
    axis.base_dilation = w.stride;
    axis.pad_low = w.size - 1 - w.before;
    axis.pad_high = w.input - ((w.output - 1) * w.stride + 1) - axis.pad_low + w.size - 1;
  }
  const Hlo dx = b.ReduceWindow("add", share, b.Scalar(share.dtype, 0), axes, image);
  ctx.Set(0, b.Convert(dx, ctx.dtype(1)));
  return OkStatus();
}

}  // namespace

void AddPoolLowerings(LoweringRegistry& r) {
  // MaxPool3DGrad gives to every largest element of a window, which XLA cannot say.
  for (const auto& [op, lower] : {std::pair<const char*, Lowering>{"MaxPool", MaxPool},
                                  {"MaxPoolGrad", MaxPoolGrad},
                                  {"AvgPool", AvgPool},
                                  {"AvgPoolGrad", AvgPoolGrad},
                                  {"AvgPool3D", AvgPool},
                                  {"AvgPool3DGrad", AvgPoolGrad}}) {
    r.Add(op, lower, {{"T", FloatTypes()}});
  }
}

}  // namespace tensorfleet::pjrt
