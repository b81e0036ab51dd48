// FusedBatchNorm, three versions, and their gradients: computed in float.
#include <algorithm>

#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// An image seen as channels: everything else is taken together where one value a channel is made.
class Channels {
 public:
  static StatusOr<Channels> Of(LoweringContext& ctx, int image) {
    const Shape& shape = ctx.shape(image);
    if (shape.rank() != 4 && shape.rank() != 5) return Unimplemented("an image of that rank");
    // Our kernel has answers of its own for an image without elements.
    if (shape.num_elements() == 0) return Unimplemented("an empty image");
    TFLEET_ASSIGN_OR_RETURN(const std::string format, ctx.Attr<std::string>("data_format"));
    Channels c(ctx.hlo(), shape, format.substr(0, 2) == "NC" ? 1 : shape.rank() - 1);
    TFLEET_ASSIGN_OR_RETURN(const float epsilon, ctx.Attr<float>("epsilon"));
    c.epsilon = epsilon;
    c.is_training = ctx.BoolAttr("is_training");
    return c;
  }
  Status Check(LoweringContext& ctx, int input) const {
    if (ctx.shape(input).rank() == 1 && ctx.shape(input).dim(0) == shape.dim(axis)) {
      return OkStatus();
    }
    return Unimplemented("a vector of another length than the channels");
  }

  Hlo Spread(const Hlo& vector) const { return b.Broadcast(vector, shape, {axis}); }
  Hlo Sum(const Hlo& x) const { return b.Reduce("add", x, b.Scalar(x.dtype, 0), others); }
  Hlo Mean(const Hlo& x) const { return b.Mul(Sum(x), 1.0 / static_cast<double>(rows)); }

  HloBuilder& b;
  const Shape shape;
  const int64_t axis;
  std::vector<int64_t> others;
  int64_t rows;
  float epsilon = 0;
  bool is_training = false;

 private:
  Channels(HloBuilder& builder, const Shape& image, int channels)
      : b(builder), shape(image), axis(channels), rows(image.num_elements() / image.dim(channels)) {
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (i != axis) others.push_back(i);
    }
  }
};

Status BatchNorm(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Channels c, Channels::Of(ctx, 0));
  TFLEET_ASSIGN_OR_RETURN(const float factor, ctx.Attr<float>("exponential_avg_factor"));
  HloBuilder& b = c.b;
  for (const int i : {1, 2}) TFLEET_RETURN_IF_ERROR(c.Check(ctx, i));
  for (const int i : {3, 4}) {
    if (ctx.shape(i).rank() != 1) return Unimplemented("a mean that is no vector");
    if (!c.is_training || factor != 1) TFLEET_RETURN_IF_ERROR(c.Check(ctx, i));
  }
  const Hlo x = b.Convert(ctx.input(0), DType::kFloat);
  Hlo mean, variance, told_mean, told_variance;
  if (c.is_training) {
    mean = c.Mean(x);
    const Hlo centered = b.Sub(x, c.Spread(mean));
    variance = c.Mean(b.Mul(centered, centered));
    // Told without bias, and mixed with what came before where the factor says so.
    const double rows = static_cast<double>(c.rows);
    told_mean = mean;
    told_variance = b.Mul(variance, rows / std::max(rows - 1, 1.0));
    if (factor != 1) {
      const auto mix = [&](int old, const Hlo& now) {
        return b.Add(b.Mul(ctx.input(old), 1 - factor), b.Mul(now, factor));
      };
      told_mean = mix(3, told_mean);
      told_variance = mix(4, told_variance);
    }
  } else {
    told_mean = mean = ctx.input(3);
    told_variance = variance = ctx.input(4);
  }
  const Hlo scale = b.Div(ctx.input(1), b.Unary("sqrt", b.Add(variance, c.epsilon)));
  const Hlo y = b.Add(b.Mul(b.Sub(x, c.Spread(mean)), c.Spread(scale)), c.Spread(ctx.input(2)));
  ctx.Set(0, b.Convert(y, ctx.dtype(0)));
  ctx.Set(1, told_mean);
  ctx.Set(2, told_variance);
  ctx.Set(3, mean);
  ctx.Set(4, variance);
  if (ctx.node().num_outputs() > 5) ctx.Set(5, b.Scalar(DType::kFloat, 0));
  return OkStatus();
}

// dx = factor (dy - mean of dy - slope (x - mean)).
Status BatchNormGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Channels c, Channels::Of(ctx, 1));
  HloBuilder& b = c.b;
  if (ctx.shape(0) != c.shape) return Unimplemented("a gradient of another shape");
  for (const int i : {2, 3, 4}) TFLEET_RETURN_IF_ERROR(c.Check(ctx, i));
  const Hlo dy = b.Convert(ctx.input(0), DType::kFloat);
  const Hlo x = b.Convert(ctx.input(1), DType::kFloat);
  const Hlo centered = b.Sub(x, c.Spread(ctx.input(3)));
  const Hlo spread = b.Add(ctx.input(4), c.epsilon);
  const Hlo inverse = b.Div(b.Full(DType::kFloat, spread.shape, 1), b.Unary("sqrt", spread));
  const Hlo sum = c.Sum(dy), product = c.Sum(b.Mul(dy, centered));
  Hlo dx = dy;
  if (c.is_training) {
    const double share = 1.0 / static_cast<double>(c.rows);
    const Hlo slope = b.Div(b.Mul(product, share), spread);
    dx = b.Sub(b.Sub(dy, c.Spread(b.Mul(sum, share))), b.Mul(c.Spread(slope), centered));
  }
  const Hlo factor = b.Mul(ctx.input(2), inverse);
  ctx.Set(0, b.Convert(b.Mul(c.Spread(factor), dx), ctx.dtype(0)));
  ctx.Set(1, b.Mul(product, inverse));
  ctx.Set(2, sum);
  TFLEET_ASSIGN_OR_RETURN(const Shape nothing, Shape::Make({0}));
  for (const int i : {3, 4}) ctx.Set(i, b.Full(DType::kFloat, nothing, 0));
  return OkStatus();
}

}  // namespace

void AddBatchNormLowerings(LoweringRegistry& r) {
  r.Add("FusedBatchNorm", BatchNorm, {{"T", {DType::kFloat}}});
  r.Add("FusedBatchNormGrad", BatchNormGrad, {{"T", {DType::kFloat}}});
  for (const char* version : {"V2", "V3"}) {
    const std::vector<DType> types = {DType::kFloat, DType::kHalf, DType::kBFloat16};
    const std::vector<DType> statistics = {DType::kFloat};
    r.Add(absl::StrCat("FusedBatchNorm", version), BatchNorm, {{"T", types}, {"U", statistics}});
    r.Add(absl::StrCat("FusedBatchNormGrad", version), BatchNormGrad,
          {{"T", types}, {"U", statistics}});
  }
}

}  // namespace tensorfleet::pjrt
