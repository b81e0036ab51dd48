// Second derivatives of batch normalization: the gradients of its gradient ops, of
// (y_backprop, x, scale, ...) -> (x_backprop, scale_backprop, offset_backprop, ...).
//
// With n the normalized x, r its 1 / sqrt(variance + epsilon), dy the first input and means over
// each channel, the gradient ops compute in training
//   dx = scale r (dy - mean(dy) - n mean(dy n)),  dscale = sum(dy n),  doffset = sum(dy).
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

class BatchNormGrad {
 public:
  explicit BatchNormGrad(C& c)
      : c_(c),
        s_(c.scope()),
        is_nchw_(c.Attr<std::string>("data_format") == "NCHW"),
        axes_(is_nchw_ ? std::vector<int64_t>{0, 2, 3} : std::vector<int64_t>{0, 1, 2}) {}

  void Run() {
    const Term dy = Float(c_.x(0)), x = Float(c_.x(1)), scale = PerChannel(c_.x(2));
    // What comes back for the three outputs.
    const Term u = Float(c_.g(0)), v = PerChannel(c_.g(1)), w = PerChannel(c_.g(2));
    if (!c_.Attr<bool>("is_training")) {
      const Term r = Rsqrt(PerChannel(c_.x(4))), centered = x - PerChannel(c_.x(3));
      Set(u * scale * r + v * centered * r + w, dy * v * r, u * dy * r);
      return;
    }
    const Term centered = x - Mean(x);
    const Term r = Rsqrt(Mean(Of(ops::Square, centered))), n = centered * r;
    const Term p = Mean(u * n), q = Mean(dy * n);
    const Term of_u = u - Mean(u) - n * p, of_dy = dy - Mean(dy) - n * q;
    const Term covariance = Mean(u * dy) - Mean(u) * Mean(dy);
    const Term by_r = n * (covariance - p * q) + of_dy * p + of_u * q;
    Set(scale * r * of_u + v * n + w, v * r * of_dy - scale * r * r * by_r, u * of_dy * r);
  }

 private:
  Term Float(const Term& a) const { return {s_, CastTo(s_, a, DType::kFloat)}; }
  Term Mean(const Term& a) const {
    return {s_, ops::Mean(s_, a, Ints(s_, axes_), {.keep_dims = true})};
  }
  Term Rsqrt(const Term& variance) const {
    return Of(ops::Rsqrt, variance + static_cast<double>(c_.Attr<float>("epsilon")));
  }
  // A vector with an element for each channel, in a shape that broadcasts over images.
  Term PerChannel(const Term& vector) const {
    return is_nchw_ ? Expanded(Expanded(vector, -1), -1) : vector;
  }
  // `for_scale` is summed over each channel.
  void Set(const Term& for_dy, const Term& for_x, const Term& for_scale) {
    if (c_.wants(0)) c_.Set(0, CastTo(s_, for_dy, c_.x(0).dtype()));
    if (c_.wants(1)) c_.Set(1, CastTo(s_, for_x, c_.x(1).dtype()));
    if (c_.wants(2)) c_.Set(2, SumOf(for_scale, axes_));
  }

  C& c_;
  const Scope& s_;
  const bool is_nchw_;
  const std::vector<int64_t> axes_;
};

void FusedBatchNormGrad(C& c) { BatchNormGrad(c).Run(); }

}  // namespace

void RegisterNormalizationGradGradients(GradientRegistry& registry) {
  registry.Add("FusedBatchNormGrad", FusedBatchNormGrad);
  registry.Add("FusedBatchNormGradV2", FusedBatchNormGrad);
  registry.Add("FusedBatchNormGradV3", FusedBatchNormGrad);
}

}  // namespace tensorfleet
