// Gradients of biases, softmax and its losses.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

void BiasAdd(C& c) {
  c.Set(0, c.gradient(0));
  if (!c.wants(1)) return;
  c.Set(1, ops::BiasAddGrad(c.scope(), c.g(), {.data_format = c.Attr<std::string>("data_format")}));
}

void BiasAddV1(C& c) {
  c.Set(0, c.gradient(0));
  if (c.wants(1)) c.Set(1, ops::BiasAddGrad(c.scope(), c.g()));
}

// Each bias was the sum over everything but its channel: its gradient goes to all of them.
void BiasAddGrad(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(0);
  if (c.Attr<std::string>("data_format") == "NHWC") {
    c.Set(0, ops::BroadcastTo(s, c.g(), shape));
    return;
  }
  const Term rank(s, ops::Size(s, shape));
  const Output trailing =
      ops::Fill(s, ops::Reshape(s, rank - Term(s, Int(s, 2)), Ints(s, {1})), Int(s, 1));
  const Output channels = Joined(s, {ops::Shape(s, c.g()), trailing});
  c.Set(0, ops::BroadcastTo(s, Reshaped(c.g(), channels), shape));
}

void Softmax(C& c) {
  const Term y = c.y();
  c.Set(0, (c.g() - SumOf(c.g() * y, {-1}, /*keep_dims=*/true)) * y);
}

void LogSoftmax(C& c) {
  c.Set(0, c.g() - Of(ops::Exp, c.y()) * SumOf(c.g(), {-1}, /*keep_dims=*/true));
}

// Of (features, labels) -> (loss, backprop): backprop is the loss's gradient already. Its own
// gradient is asked for only by second derivatives.
Term FeaturesGradient(C& c) {
  Term result = Expanded(c.g(0), -1) * c.y(1);
  if (c.has_gradient(1)) {
    const Term softmax = Of(ops::Softmax, c.x(0));
    const Term second = c.g(1);
    result = result + (second - SumOf(second * softmax, {-1}, /*keep_dims=*/true)) * softmax;
  }
  return result;
}

void SoftmaxCrossEntropy(C& c) {
  if (c.wants(0)) c.Set(0, FeaturesGradient(c));
  if (c.wants(1)) c.Set(1, Expanded(c.g(0), -1) * -Of(ops::LogSoftmax, c.x(0)));
}

void SparseSoftmaxCrossEntropy(C& c) { c.Set(0, FeaturesGradient(c)); }

}  // namespace

void RegisterNnGradients(GradientRegistry& registry) {
  registry.Add("BiasAdd", BiasAdd);
  registry.Add("BiasAddV1", BiasAddV1);
  registry.Add("BiasAddGrad", BiasAddGrad);
  registry.Add("Softmax", Softmax);
  registry.Add("LogSoftmax", LogSoftmax);
  registry.Add("SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropy);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropy);
}

}  // namespace tensorfleet
