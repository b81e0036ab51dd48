// Pools over rows and columns, and their gradients.
#include "runtime/graph/window_attrs.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

struct Pool {
  std::vector<WindowAxis> axes;  // of all four dimensions
  Window windows[2];
  int space[2];
  Shape output;
};

StatusOr<Pool> PoolOf(LoweringContext& ctx, const Shape& image) {
  const StatusOr<WindowAttrs> attrs = ReadWindowAttrs(ctx.node().def());
  if (!attrs.ok()) return Unimplemented(attrs.status().message());
  if (image.rank() != 4 || image.num_elements() == 0) return Unimplemented("no images");
  Pool pool;
  pool.axes.resize(4);
  for (const int fixed : {0, attrs->channel_axis()}) {
    if (attrs->ksize[fixed] != 1 || attrs->strides[fixed] != 1) {
      return Unimplemented("a window over batch or channels");
    }
  }
  std::vector<int64_t> dims(image.dims().begin(), image.dims().end());
  for (int i = 0; i < 2; ++i) {
    const int axis = pool.space[i] = attrs->space_axis(i);
    const StatusOr<Window> window = attrs->AlongSpace(i, image.dim(axis), attrs->ksize[axis]);
    if (!window.ok()) return Unimplemented(window.status().message());
    pool.windows[i] = *window;
    const int64_t reach = (window->output - 1) * window->stride + window->size;
    pool.axes[axis] = {window->size, window->stride, window->before,
                       reach - window->input - window->before};
    dims[axis] = window->output;
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
  std::vector<WindowAxis> axes(4);
  for (int i = 0; i < 2; ++i) {
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
  for (const auto& [op, lower] : {std::pair<const char*, Lowering>{"MaxPool", MaxPool},
                                  {"MaxPoolGrad", MaxPoolGrad},
                                  {"AvgPool", AvgPool},
                                  {"AvgPoolGrad", AvgPoolGrad}}) {
    r.Add(op, lower, {{"T", FloatTypes()}});
  }
}

}  // namespace tensorfleet::pjrt
