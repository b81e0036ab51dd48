#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"
#include "runtime/client/term.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;
using Unary = Output (*)(const Scope&, const Output&);
using Binary = Output (*)(const Scope&, const Output&, const Output&);

GradientCase One(const char* op, Unary fn, double low = -2, double high = 2) {
  return {op,
          {Shape({2, 3})},
          [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; },
          low,
          high};
}

// The same shape, and two that repeat each other.
void Two(std::vector<GradientCase>& cases, const char* op, Binary fn, double low = -2,
         double high = 2) {
  const auto build = [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0], x[1])}; };
  cases.push_back({op, {Shape({2, 3}), Shape({2, 3})}, build, low, high, "of one shape"});
  cases.push_back({op, {Shape({2, 1, 3}), Shape({4, 1})}, build, low, high, "repeated"});
  cases.push_back({op, {Shape(), Shape({2, 3})}, build, low, high, "with a scalar"});
}

}  // namespace

std::vector<GradientCase> UnaryCases() {
  std::vector<GradientCase> cases = {One("Abs", ops::Abs),
                                     One("Neg", ops::Neg),
                                     One("Reciprocal", ops::Reciprocal, 0.5, 2),
                                     One("Inv", ops::Inv, 0.5, 2),
                                     One("Sign", ops::Sign),
                                     One("Square", ops::Square),
                                     One("Sqrt", ops::Sqrt, 0.5, 2),
                                     One("Rsqrt", ops::Rsqrt, 0.5, 2),
                                     One("Exp", ops::Exp),
                                     One("Expm1", ops::Expm1),
                                     One("Log", ops::Log, 0.5, 2),
                                     One("Log1p", ops::Log1p, -0.5, 2),
                                     One("Erf", ops::Erf),
                                     One("Erfc", ops::Erfc),
                                     One("Lgamma", ops::Lgamma, 0.5, 4),
                                     One("Digamma", ops::Digamma, 0.7, 4),
                                     One("Sin", ops::Sin),
                                     One("Cos", ops::Cos),
                                     One("Tan", ops::Tan, -1, 1),
                                     One("Asin", ops::Asin, -0.8, 0.8),
                                     One("Acos", ops::Acos, -0.8, 0.8),
                                     One("Atan", ops::Atan),
                                     One("Sinh", ops::Sinh),
                                     One("Cosh", ops::Cosh),
                                     One("Tanh", ops::Tanh),
                                     One("Asinh", ops::Asinh),
                                     One("Acosh", ops::Acosh, 1.5, 3),
                                     One("Atanh", ops::Atanh, -0.8, 0.8),
                                     One("Sigmoid", ops::Sigmoid),
                                     One("Softplus", ops::Softplus),
                                     One("Softsign", ops::Softsign),
                                     One("Relu", ops::Relu),
                                     One("Relu6", ops::Relu6, -2, 8),
                                     One("Elu", ops::Elu),
                                     One("Selu", ops::Selu),
                                     {"LeakyRelu", {Shape({5})}, [](const Scope& s, const Xs& x) {
                                        return Xs{ops::LeakyRelu(s, x[0], {.alpha = 0.3f})};
                                      }}};
  const std::pair<const char*, Binary> kSecond[] = {{"ReciprocalGrad", ops::ReciprocalGrad},
                                                    {"InvGrad", ops::InvGrad},
                                                    {"SqrtGrad", ops::SqrtGrad},
                                                    {"RsqrtGrad", ops::RsqrtGrad},
                                                    {"TanhGrad", ops::TanhGrad},
                                                    {"SigmoidGrad", ops::SigmoidGrad},
                                                    {"ReluGrad", ops::ReluGrad},
                                                    {"Relu6Grad", ops::Relu6Grad},
                                                    {"EluGrad", ops::EluGrad},
                                                    {"SeluGrad", ops::SeluGrad},
                                                    {"SoftplusGrad", ops::SoftplusGrad},
                                                    {"SoftsignGrad", ops::SoftsignGrad}};
  for (const auto& [op, fn] : kSecond) {
    cases.push_back({op,
                     {Shape({4}), Shape({4})},
                     [fn = fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0], x[1])}; },
                     0.3,
                     0.9,
                     "above 0"});
  }
  for (const char* op : {"EluGrad", "SeluGrad"}) {
    const Binary fn = std::string(op) == "EluGrad" ? ops::EluGrad : ops::SeluGrad;
    cases.push_back({op,
                     {Shape({4}), Shape({4})},
                     [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0], x[1])}; },
                     -0.9,
                     -0.3,
                     "below 0"});
  }
  cases.push_back({"LeakyReluGrad", {Shape({4}), Shape({4})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::LeakyReluGrad(s, x[0], x[1], {.alpha = 0.3f})};
                   }});
  return cases;
}

std::vector<GradientCase> BinaryCases() {
  std::vector<GradientCase> cases;
  Two(cases, "Add", ops::Add);
  Two(cases, "AddV2", ops::AddV2);
  Two(cases, "Sub", ops::Sub);
  Two(cases, "Mul", ops::Mul);
  Two(cases, "MulNoNan", ops::MulNoNan);
  Two(cases, "RealDiv", ops::RealDiv, 0.5, 2);
  Two(cases, "Div", ops::Div, 0.5, 2);
  Two(cases, "DivNoNan", ops::DivNoNan, 0.5, 2);
  Two(cases, "Maximum", ops::Maximum);
  Two(cases, "Minimum", ops::Minimum);
  Two(cases, "Pow", ops::Pow, 0.5, 2);
  Two(cases, "SquaredDifference", ops::SquaredDifference);
  Two(cases, "Xlogy", ops::Xlogy, 0.5, 2);
  Two(cases, "Xlog1py", ops::Xlog1py, 0.5, 2);
  Two(cases, "Xdivy", ops::Xdivy, 0.5, 2);
  Two(cases, "Atan2", ops::Atan2, 0.5, 2);
  // By their second arguments.
  for (const auto& [op, fn] :
       {std::pair<const char*, Binary>{"Polygamma", ops::Polygamma}, {"Zeta", ops::Zeta}}) {
    cases.push_back({op,
                     {Shape({2, 3})},
                     [fn = fn](const Scope& s, const Xs& x) {
                       const Output orders =
                           ops::Cast(s, Const(s, Tensor::Of<int32_t>(Shape({2, 1, 1}), {2, 3})),
                                     x[0].dtype());
                       return Xs{fn(s, orders, x[0])};
                     },
                     1,
                     3});
  }
  // The remainder of numbers whose quotient is no whole number.
  for (const auto& [op, fn] : {std::pair<const char*, Binary>{"FloorMod", ops::FloorMod},
                               {"Mod", ops::Mod},
                               {"TruncateMod", ops::TruncateMod}}) {
    cases.push_back({op,
                     {Shape({3}), Shape({3})},
                     [fn = fn](const Scope& s, const Xs& x) {
                       const Term seven = Term(s, x[0]) + 7.0, two = Term(s, x[1]) + 2.0;
                       return Xs{fn(s, -seven, two)};
                     },
                     0.1,
                     0.3});
  }
  const auto condition = [](const Scope& s, const Output& x) {
    return ops::Greater(s, x, ScalarConst(s, x.dtype(), 0));
  };
  cases.push_back({"Select", {Shape({5}), Shape({5})}, [=](const Scope& s, const Xs& x) {
                     return Xs{ops::Select(s, condition(s, x[0]), x[1], ops::Neg(s, x[0]))};
                   }});
  cases.push_back({"SelectV2", {Shape({2, 3}), Shape({3})}, [=](const Scope& s, const Xs& x) {
                     return Xs{ops::SelectV2(s, condition(s, x[0]), x[1], x[0])};
                   }});
  cases.push_back({"ClipByValue", {Shape({6}), Shape(), Shape()}, [](const Scope& s, const Xs& x) {
                     const Term low = Term(s, x[1]) - 2.0, high = Term(s, x[2]) + 2.0;
                     return Xs{ops::ClipByValue(s, Term(s, x[0]) * 3.0, low, high)};
                   }});
  return cases;
}

}  // namespace tensorfleet
