// Gradients of normalizations.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

void Lrn(C& c) {
  c.Set(0, ops::LRNGrad(c.scope(), c.g(), c.x(0), c.y(0),
                        {.depth_radius = c.Attr<int64_t>("depth_radius"),
                         .bias = c.Attr<float>("bias"),
                         .alpha = c.Attr<float>("alpha"),
                         .beta = c.Attr<float>("beta")}));
}

// In training the gradient wants what the batch's statistics were, which the op reserved; else the
// statistics that it was given.
Output Mean(C& c) { return c.Attr<bool>("is_training") ? c.y(3) : c.x(3); }
Output Variance(C& c) { return c.Attr<bool>("is_training") ? c.y(4) : c.x(4); }

template <typename Attrs>
Attrs Shared(C& c) {
  Attrs attrs;
  attrs.epsilon = c.Attr<float>("epsilon");
  attrs.data_format = c.Attr<std::string>("data_format");
  attrs.is_training = c.Attr<bool>("is_training");
  return attrs;
}

// Of (x, scale, offset, mean, variance); a mean and a variance that were given are constants.
template <typename Outputs>
void SetBatchNorm(C& c, const Outputs& gradients) {
  c.Set(0, gradients.x_backprop);
  c.Set(1, gradients.scale_backprop);
  c.Set(2, gradients.offset_backprop);
}

void FusedBatchNorm(C& c) {
  SetBatchNorm(c, ops::FusedBatchNormGrad(c.scope(), c.g(0), c.x(0), c.x(1), Mean(c), Variance(c),
                                          Shared<ops::FusedBatchNormGradAttrs>(c)));
}
void FusedBatchNormV2(C& c) {
  const Output scale = CastTo(c.scope(), c.x(1), DType::kFloat);
  SetBatchNorm(c, ops::FusedBatchNormGradV2(c.scope(), c.g(0), c.x(0), scale, Mean(c), Variance(c),
                                            Shared<ops::FusedBatchNormGradV2Attrs>(c)));
}
void FusedBatchNormV3(C& c) {
  const Output scale = CastTo(c.scope(), c.x(1), DType::kFloat);
  SetBatchNorm(c, ops::FusedBatchNormGradV3(c.scope(), c.g(0), c.x(0), scale, Mean(c), Variance(c),
                                            c.y(5), Shared<ops::FusedBatchNormGradV3Attrs>(c)));
}

}  // namespace

void RegisterNormalizationGradients(GradientRegistry& registry) {
  registry.Add("LRN", Lrn);
  registry.Add("FusedBatchNorm", FusedBatchNorm);
  registry.Add("FusedBatchNormV2", FusedBatchNormV2);
  registry.Add("FusedBatchNormV3", FusedBatchNormV3);
  registry.AddMissing("LRNGrad",
                      "second derivatives of local response normalization are not there; write it "
                      "with Square, MatMul by a band of ones, and Pow, which have them");
}

}  // namespace tensorfleet
