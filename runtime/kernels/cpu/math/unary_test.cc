#include <cmath>
#include <limits>

#include "absl/base/casts.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using UnaryTest = OpTest;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// n numbers that grow from about -4 to about 4, none of them 0.
Tensor Ramp(int64_t n) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i)
    values[i] = 8.0f * (static_cast<float>(i) + 0.3f) / static_cast<float>(n) - 4;
  return Tensor::Vector<float>(values);
}

Tensor Map(const Tensor& x, double (*f)(double)) {
  std::vector<float> values;
  for (const float v : x.values<float>()) values.push_back(static_cast<float>(f(v)));
  return Tensor::Vector<float>(values);
}

struct FloatFunction {
  const char* op;
  double (*f)(double);
};
constexpr FloatFunction kFunctions[] = {
    {"Abs", [](double x) { return std::abs(x); }},
    {"Neg", [](double x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Sign", [](double x) { return x < 0 ? -1.0 : 1.0; }},
    {"Square", [](double x) { return x * x; }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Expm1", [](double x) { return std::expm1(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Log1p", [](double x) { return std::log1p(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }},
    {"Atanh", [](double x) { return std::atanh(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Rint", [](double x) { return std::nearbyint(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Erfc", [](double x) { return std::erfc(x); }},
    {"Lgamma", [](double x) { return std::lgamma(x); }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"Relu", [](double x) { return x < 0 ? 0 : x; }},
    {"Relu6", [](double x) { return x < 0 ? 0 : std::min(x, 6.0); }},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"Selu",
     [](double x) { return x < 0 ? 1.7580993408473769 * std::expm1(x) : 1.0507009873554805 * x; }},
};

TEST_F(UnaryTest, DigammaHasItsKnownValues) {
  ExpectClose(RunOne("Digamma", {Tensor::Vector<float>({1, 0.5, 2, -0.5})}),
              Tensor::Vector<float>({-0.57721566f, -1.96351003f, 0.42278434f, 0.03648998f}), 1e-6);
}

TEST_F(UnaryTest, FloatFunctionsAgreeWithTheStandardLibrary) {
  for (const FloatFunction& function : kFunctions) {
    SCOPED_TRACE(function.op);
    for (const int64_t n : {1, 7, 100, 9001}) {
      const Tensor x = Ramp(n);
      ExpectClose(RunOne(function.op, {x}), Map(x, function.f), 3e-6);
    }
  }
}

TEST_F(UnaryTest, HalfAndBfloat16AreRoundedOnceFromFloat) {
  for (const DType type : {DType::kHalf, DType::kBFloat16}) {
    for (const FloatFunction& function : kFunctions) {
      SCOPED_TRACE(function.op);
      const Tensor x = RunOne(OpNode("Cast").Attr("DstT", type), {Ramp(700)});
      const Tensor wide = RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {x});
      const Tensor want = RunOne(OpNode("Cast").Attr("DstT", type), {RunOne(function.op, {wide})});
      ExpectSame(RunOne(function.op, {x}), want);
    }
  }
}

TEST_F(UnaryTest, ExponentialsAndErrorFunctionAreRightAtTheEdges) {
  const Tensor x = Tensor::Vector<float>({-kInf, -200, -0.0f, 1e-30f, 88.7f, 89, kInf, kNan});
  ExpectClose(RunOne("Expm1", {x}),
              Tensor::Vector<float>(
                  {-1, -1, -0.0f, 1e-30f, static_cast<float>(std::exp(88.7)), kInf, kInf, kNan}),
              1e-4);
  ExpectClose(RunOne("Elu", {x}),
              Tensor::Vector<float>({-1, -1, -0.0f, 1e-30f, 88.7f, 89, kInf, kNan}));
  ExpectClose(RunOne("Erf", {x}),
              Tensor::Vector<float>({-1, -1, -0.0f, 1.1283792e-30f, 1, 1, 1, kNan}));
  const Tensor wide = Tensor::Vector<double>({-1e300, -1e-300, 1e-9, 709.7, 710});
  ExpectClose(RunOne("Expm1", {wide}),
              Tensor::Vector<double>({-1, -1e-300, std::expm1(1e-9), std::expm1(709.7), kInf}),
              1e-14);
}

TEST_F(UnaryTest, ReciprocalSquareRootsAreRightAtTheEdgesAndToTheLastPlaces) {
  const Tensor x = Tensor::Vector<float>({0, -0.0f, kInf, kNan, -1, 1e-40f, 4, 3.4e38f, 1.2e-38f});
  const Tensor got = RunOne("Rsqrt", {x});
  ExpectClose(got,
              Tensor::Vector<float>({kInf, -kInf, 0, kNan, kNan, 1.00000269e20f, 0.5f,
                                     5.42326143e-20f, 9.12870938e18f}),
              1e-6);
  EXPECT_NEAR(got.values<float>()[7] / 5.42326143e-20f, 1, 3e-7);
}

TEST_F(UnaryTest, LongIntegersBecomeTheNearestFloatingNumbers) {
  std::vector<int64_t> values = {0, -1, std::numeric_limits<int64_t>::min(), (1LL << 53) + 1};
  for (int64_t i = 0; i < 100; ++i) values.push_back((int64_t{1} << (i % 62)) - i * i * 1001);
  std::vector<float> want;
  std::vector<double> wide;
  for (const int64_t value : values) {
    want.push_back(static_cast<float>(value));
    wide.push_back(static_cast<double>(value));
  }
  const Tensor x = Tensor::Vector<int64_t>(values);
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {x}), Tensor::Vector<float>(want));
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kDouble), {x}),
             Tensor::Vector<double>(wide));
}

TEST_F(UnaryTest, Bfloat16IsTheNearestOneWithTiesToEven) {
  const auto float_of = [](uint32_t bits) { return absl::bit_cast<float>(bits); };
  const Tensor x =
      Tensor::Vector<float>({float_of(0x3f808000), float_of(0x3f818000), float_of(0x3f808001),
                             float_of(0xff7fffff), float_of(0x7f800001), float_of(0x00000001)});
  const Tensor small = RunOne(OpNode("Cast").Attr("DstT", DType::kBFloat16), {x});
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {small}),
             Tensor::Vector<float>({float_of(0x3f800000), float_of(0x3f820000),
                                    float_of(0x3f810000), -kInf, kNan, 0}));
}

TEST_F(UnaryTest, KeepsScalarsAndEmptyTensors) {
  ExpectSame(RunOne("Neg", {Tensor::Scalar<int32_t>(3)}), Tensor::Scalar<int32_t>(-3));
  ExpectSame(RunOne("Exp", {Tensor::Of<float>({0, 3}, {})}), Tensor::Of<float>({0, 3}, {}));
}

TEST_F(UnaryTest, WritesIntoTheMemoryOfAnInputThatNobodyElseHolds) {
  Tensor x = Ramp(50);
  const void* memory = x.raw();
  std::vector<OpInput> inputs;
  inputs.emplace_back(std::move(x));
  EXPECT_EQ(RunOne("Neg", std::move(inputs)).raw(), memory);

  const Tensor kept = Ramp(50);
  EXPECT_NE(RunOne("Neg", {kept}).raw(), kept.raw());
}

TEST_F(UnaryTest, IntegersWrapAround) {
  constexpr int8_t kLowest = std::numeric_limits<int8_t>::min();
  ExpectSame(RunOne("Abs", {Tensor::Vector<int8_t>({-3, kLowest})}),
             Tensor::Vector<int8_t>({3, kLowest}));
  ExpectSame(RunOne("Square", {Tensor::Vector<uint16_t>({65535})}), Tensor::Vector<uint16_t>({1}));
}

TEST_F(UnaryTest, NanIsKeptByReluAndSign) {
  ExpectSame(RunOne("Relu", {Tensor::Vector<float>({kNan, -1, 2})}),
             Tensor::Vector<float>({kNan, 0, 2}));
  ExpectSame(RunOne("Sign", {Tensor::Vector<float>({kNan, -0.0f})}),
             Tensor::Vector<float>({kNan, 0}));
}

TEST_F(UnaryTest, TellsKindsOfNumbersApart) {
  const Tensor x = Tensor::Vector<float>({1, kNan, kInf, -kInf});
  ExpectSame(RunOne("IsNan", {x}), Tensor::Vector<bool>({false, true, false, false}));
  ExpectSame(RunOne("IsInf", {x}), Tensor::Vector<bool>({false, false, true, true}));
  ExpectSame(RunOne("IsFinite", {x}), Tensor::Vector<bool>({true, false, false, false}));
}

TEST_F(UnaryTest, ComplexFunctionsInvertEachOther) {
  using C = std::complex<double>;
  const Tensor x = Tensor::Vector<C>({{1, 2}, {-0.5, 0.25}, {0.1, -3}});
  ExpectClose(RunOne("Square", {RunOne("Sqrt", {x})}), x, 1e-12);
  ExpectClose(RunOne("Log", {RunOne("Exp", {x})}), x, 1e-12);
  ExpectClose(RunOne("Log1p", {RunOne("Expm1", {x})}), x, 1e-12);
  ExpectClose(RunOne("Sign", {Tensor::Vector<C>({{3, 4}, {0, 0}})}),
              Tensor::Vector<C>({{0.6, 0.8}, {0, 0}}), 1e-12);
}

TEST_F(UnaryTest, LeakyReluScalesWhatIsNegative) {
  const Tensor x = Tensor::Vector<float>({-2, 3});
  ExpectClose(RunOne(OpNode("LeakyRelu").Attr("alpha", 0.1f), {x}),
              Tensor::Vector<float>({-0.2f, 3}));
  ExpectClose(
      RunOne(OpNode("LeakyReluGrad").Attr("alpha", 0.1f), {Tensor::Vector<float>({5, 5}), x}),
      Tensor::Vector<float>({0.5f, 5}));
}

TEST_F(UnaryTest, NoGradientOfASqrtIsNoneAtZeroEither) {
  const Tensor zeros = Tensor::Vector<float>({0, 0});
  ExpectSame(RunOne("SqrtGrad", {zeros, zeros}), zeros);
}

struct Gradient {
  const char* op;
  const char* function;
  bool takes_result;  // (y, dy) instead of (dy, x)
};

// Each gradient op against a central difference of its function.
TEST_F(UnaryTest, GradientsAreTheSlopesOfTheirFunctions) {
  constexpr Gradient kGradients[] = {
      {"TanhGrad", "Tanh", true},          {"SigmoidGrad", "Sigmoid", true},
      {"SqrtGrad", "Sqrt", true},          {"RsqrtGrad", "Rsqrt", true},
      {"ReciprocalGrad", "Inv", true},     {"InvGrad", "Inv", true},
      {"ReluGrad", "Relu", false},         {"Relu6Grad", "Relu6", false},
      {"SoftplusGrad", "Softplus", false}, {"SoftsignGrad", "Softsign", false},
  };
  const Tensor x = Tensor::Vector<double>({0.3, 0.7, 1.9, 3.1, 6.5});
  const Tensor dy = Tensor::Vector<double>({1, 2, -1, 0.5, 3});
  constexpr double kStep = 1e-6;
  for (const Gradient& gradient : kGradients) {
    SCOPED_TRACE(gradient.op);
    const Tensor above = RunOne(gradient.function, {RunOne("Add", {x, Tensor::Scalar(kStep)})});
    const Tensor below = RunOne(gradient.function, {RunOne("Sub", {x, Tensor::Scalar(kStep)})});
    const Tensor slope =
        RunOne("RealDiv", {RunOne("Sub", {above, below}), Tensor::Scalar(2 * kStep)});
    const Tensor want = RunOne("Mul", {slope, dy});
    const Tensor got = gradient.takes_result
                           ? RunOne(gradient.op, {RunOne(gradient.function, {x}), dy})
                           : RunOne(gradient.op, {dy, x});
    ExpectClose(got, want, 1e-6);
  }
}

}  // namespace
}  // namespace tensorfleet
