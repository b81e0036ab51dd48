// Gradients of activations, and of their gradients.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

Term Masked(const Term& condition, const Term& value) {
  return {value.scope(), ops::SelectV2(value.scope(), condition, value,
                                       ScalarConst(value.scope(), value.dtype(), 0))};
}

float Alpha(C& c) { return c.Attr<float>("alpha"); }

struct Rule {
  const char* op;
  GradientFn fn;
};

constexpr Rule kFirst[] = {
    {"Relu", [](C& c) { c.Set(0, Of(ops::ReluGrad, c.g(), c.y())); }},
    {"Relu6", [](C& c) { c.Set(0, Of(ops::Relu6Grad, c.g(), c.y())); }},
    {"Elu", [](C& c) { c.Set(0, Of(ops::EluGrad, c.g(), c.y())); }},
    {"Selu", [](C& c) { c.Set(0, Of(ops::SeluGrad, c.g(), c.y())); }},
    {"Softplus", [](C& c) { c.Set(0, Of(ops::SoftplusGrad, c.g(), c.x())); }},
    {"Softsign", [](C& c) { c.Set(0, Of(ops::SoftsignGrad, c.g(), c.x())); }},
    {"Sigmoid", [](C& c) { c.Set(0, Of(ops::SigmoidGrad, Conjugate(c.y()), c.g())); }},
    {"LeakyRelu",
     [](C& c) { c.Set(0, ops::LeakyReluGrad(c.scope(), c.g(), c.x(), {.alpha = Alpha(c)})); }},
};

// Of (gradients, features or outputs): the first is linear, the second often flat.
constexpr Rule kSecond[] = {
    {"ReluGrad",
     [](C& c) {
       c.Set(0, Of(ops::ReluGrad, c.g(), c.x(1)));
       c.Set(1, Of(ops::ZerosLike, c.x(1)));
     }},
    {"Relu6Grad",
     [](C& c) {
       c.Set(0, Of(ops::Relu6Grad, c.g(), c.x(1)));
       c.Set(1, Of(ops::ZerosLike, c.x(1)));
     }},
    {"LeakyReluGrad",
     [](C& c) {
       c.Set(0, ops::LeakyReluGrad(c.scope(), c.g(), c.x(1), {.alpha = Alpha(c)}));
       c.Set(1, Of(ops::ZerosLike, c.x(1)));
     }},
    {"EluGrad",
     [](C& c) {
       c.Set(0, Of(ops::EluGrad, c.g(), c.x(1)));
       c.Set(1, Masked(Of(ops::Less, c.x(1), c.x(1).Number(0)), c.g() * c.x(0)));
     }},
    {"SeluGrad",
     [](C& c) {
       c.Set(0, Of(ops::SeluGrad, c.g(), c.x(1)));
       c.Set(1, Masked(Of(ops::Less, c.x(1), c.x(1).Number(0)), c.g() * c.x(0)));
     }},
    {"SoftplusGrad",
     [](C& c) {
       const Term slope = Of(ops::Sigmoid, c.x(1));
       c.Set(0, Of(ops::SoftplusGrad, c.g(), c.x(1)));
       c.Set(1, c.g() * c.x(0) * slope * (1.0 - slope));
     }},
    {"SoftsignGrad",
     [](C& c) {
       const Term base = 1.0 + Of(ops::Abs, c.x(1));
       c.Set(0, Of(ops::SoftsignGrad, c.g(), c.x(1)));
       c.Set(1, c.g() * c.x(0) * Of(ops::Sign, c.x(1)) * -2.0 / (base * base * base));
     }},
    {"SigmoidGrad",
     [](C& c) {
       const Term y = Conjugate(c.x(0));
       const Term both = c.g() * Conjugate(c.x(1));
       c.Set(0, both - both * y * 2.0);
       c.Set(1, Of(ops::SigmoidGrad, y, c.g()));
     }},
};

}  // namespace

void RegisterActivationGradients(GradientRegistry& registry) {
  for (const Rule& rule : kFirst) registry.Add(rule.op, rule.fn);
  for (const Rule& rule : kSecond) registry.Add(rule.op, rule.fn);
}

}  // namespace tensorfleet
