#include <cmath>
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using BinaryTest = OpTest;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();

Tensor Sequence(const Shape& shape, float step) {
  std::vector<float> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) * step;
  return Tensor::Vector<float>(values).Reshaped(shape);
}

// a - b by the definition of broadcasting, one element at a time.
Tensor NaiveDifference(const Tensor& a, const Tensor& b, const Shape& shape) {
  std::vector<float> values;
  for (int64_t at = 0; at < shape.num_elements(); ++at) {
    int64_t rest = at, in_a = 0, in_b = 0, size_a = 1, size_b = 1;
    for (int i = 1; i <= shape.rank(); ++i) {
      const int64_t index = rest % shape.dim(-i);
      rest /= shape.dim(-i);
      if (i <= a.rank()) {
        if (a.dim(-i) != 1) in_a += index * size_a;
        size_a *= a.dim(-i);
      }
      if (i <= b.rank()) {
        if (b.dim(-i) != 1) in_b += index * size_b;
        size_b *= b.dim(-i);
      }
    }
    values.push_back(a.values<float>()[in_a] - b.values<float>()[in_b]);
  }
  return Tensor::Vector<float>(values).Reshaped(shape);
}

TEST_F(BinaryTest, BroadcastsEveryCombinationOfShapes) {
  struct Case {
    Shape a, b, out;
  };
  const Case cases[] = {
      {{}, {}, {}},
      {{5}, {}, {5}},
      {{}, {2, 3}, {2, 3}},
      {{2, 3}, {3}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{4, 1, 3}, {2, 1}, {4, 2, 3}},
      {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
      {{1, 1}, {7}, {1, 7}},
      {{1, 7}, {7, 1, 1}, {7, 1, 7}},
      {{0, 3}, {3}, {0, 3}},
      {{0}, {1}, {0}},
      {{2, 1, 2, 1, 2}, {1, 2, 1, 2, 1}, {2, 2, 2, 2, 2}},
      {{100, 1}, {1, 101}, {100, 101}},
      {{90, 100}, {90, 100}, {90, 100}},
      {{9001}, {1}, {9001}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.a.ToString() + " - " + c.b.ToString());
    const Tensor a = Sequence(c.a, 1), b = Sequence(c.b, 100);
    ExpectSame(RunOne("Sub", {a, b}), NaiveDifference(a, b, c.out));
  }
}

TEST_F(BinaryTest, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(Run("AddV2", {Sequence({2}, 1), Sequence({3}, 1)}).status(),
            InvalidArgument("Incompatible shapes: [2] vs. [3]"));
}

TEST_F(BinaryTest, IntegerDivisionByZeroIsAnErrorWhereSomethingIsDivided) {
  const Tensor zero = Tensor::Scalar<int32_t>(0), ones = Tensor::Vector<int32_t>({1, 1});
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod"}) {
    EXPECT_EQ(Run(op, {ones, zero}).status(), InvalidArgument("Integer division by zero")) << op;
    ExpectSame(RunOne(op, {Tensor::Of<int32_t>({0}, {}), zero}), Tensor::Of<int32_t>({0}, {}));
  }
}

TEST_F(BinaryTest, TheLowestIntegerDividedByMinusOneWrapsAround) {
  const Tensor lowest = Tensor::Scalar(kLowest), minus_one = Tensor::Scalar<int32_t>(-1);
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv"}) {
    ExpectSame(RunOne(op, {lowest, minus_one}), lowest);
  }
  ExpectSame(RunOne("FloorMod", {lowest, minus_one}), Tensor::Scalar<int32_t>(0));
}

TEST_F(BinaryTest, FloorDivisionRoundsDownAndItsRemainderHasTheSignOfTheDivisor) {
  const Tensor a = Tensor::Vector<int32_t>({7, -7, 7, -7}),
               b = Tensor::Vector<int32_t>({3, 3, -3, -3});
  ExpectSame(RunOne("FloorDiv", {a, b}), Tensor::Vector<int32_t>({2, -3, -3, 2}));
  ExpectSame(RunOne("FloorMod", {a, b}), Tensor::Vector<int32_t>({1, 2, -2, -1}));
  ExpectSame(RunOne("TruncateDiv", {a, b}), Tensor::Vector<int32_t>({2, -2, -2, 2}));
  ExpectSame(RunOne("Mod", {a, b}), Tensor::Vector<int32_t>({1, -1, 1, -1}));
  const Tensor x = Tensor::Vector<float>({-3, 3, -3}), y = Tensor::Vector<float>({2, -2, -2});
  ExpectSame(RunOne("FloorMod", {x, y}), Tensor::Vector<float>({1, -1, -1}));
}

TEST_F(BinaryTest, ZetaAndPolygammaHaveTheirKnownValues) {
  const float basel = 1.64493407f, apery = 1.20205690f;
  ExpectClose(RunOne("Zeta", {Tensor::Vector<float>({2, 2, 3}), Tensor::Vector<float>({1, 2, 1})}),
              Tensor::Vector<float>({basel, basel - 1, apery}), 1e-5);
  ExpectClose(
      RunOne("Polygamma", {Tensor::Vector<float>({1, 2, 0}), Tensor::Vector<float>({1, 1, 1})}),
      Tensor::Vector<float>({basel, -2 * apery, -0.57721566f}), 1e-5);
}

TEST_F(BinaryTest, ZeroWinsInTheNoNanOps) {
  const Tensor x = Tensor::Vector<float>({kNan, 6}), y = Tensor::Vector<float>({0, 2});
  ExpectSame(RunOne("DivNoNan", {x, y}), Tensor::Vector<float>({0, 3}));
  ExpectSame(RunOne("MulNoNan", {x, y}), Tensor::Vector<float>({0, 12}));
  ExpectSame(RunOne("Xdivy", {y, y}), Tensor::Vector<float>({0, 1}));
  ExpectSame(RunOne("Xlogy", {y, Tensor::Vector<float>({0, 1})}), Tensor::Vector<float>({0, 0}));
}

TEST_F(BinaryTest, MaximumAndMinimumPassNanOnFromEitherSide) {
  const Tensor x = Tensor::Vector<float>({kNan, 1, 2}), y = Tensor::Vector<float>({1, kNan, 3});
  ExpectSame(RunOne("Maximum", {x, y}), Tensor::Vector<float>({kNan, kNan, 3}));
  ExpectSame(RunOne("Minimum", {x, y}), Tensor::Vector<float>({kNan, kNan, 2}));
}

TEST_F(BinaryTest, IntegerPowersAreExactAndNegativeOnesRefused) {
  ExpectSame(
      RunOne("Pow", {Tensor::Vector<int64_t>({3, -2, 5}), Tensor::Vector<int64_t>({4, 3, 0})}),
      Tensor::Vector<int64_t>({81, -8, 1}));
  EXPECT_THAT(
      Run("Pow", {Tensor::Scalar<int32_t>(2), Tensor::Scalar<int32_t>(-1)}).status().message(),
      HasSubstr("Integers to negative integer powers are not allowed"));
}

TEST_F(BinaryTest, HalfIsComputedInFloatAndRoundedOnce) {
  const Tensor a = Sequence({3, 400}, 0.37f), b = Sequence({400}, 1.3f);
  for (const DType type : {DType::kHalf, DType::kBFloat16}) {
    const auto as = [&](const Tensor& t, DType to) {
      return RunOne(OpNode("Cast").Attr("DstT", to), {t});
    };
    const Tensor x = as(a, type), y = as(b, type);
    for (const char* op : {"AddV2", "Mul", "RealDiv", "Maximum"}) {
      const Tensor want = as(RunOne(op, {as(x, DType::kFloat), as(y, DType::kFloat)}), type);
      ExpectSame(RunOne(op, {x, y}), want);
    }
  }
}

TEST_F(BinaryTest, ComparesNumbersAndStrings) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2, 3}), two = Tensor::Scalar<int32_t>(2);
  ExpectSame(RunOne("Less", {x, two}), Tensor::Vector<bool>({true, false, false}));
  ExpectSame(RunOne("LessEqual", {x, two}), Tensor::Vector<bool>({true, true, false}));
  ExpectSame(RunOne("Greater", {x, two}), Tensor::Vector<bool>({false, false, true}));
  ExpectSame(RunOne("GreaterEqual", {x, two}), Tensor::Vector<bool>({false, true, true}));
  const Tensor words = Tensor::Vector<std::string>({"a", "b"});
  ExpectSame(RunOne("Equal", {words, Tensor::Scalar("b")}), Tensor::Vector<bool>({false, true}));
  ExpectSame(RunOne("NotEqual", {Tensor::Scalar(kNan), Tensor::Scalar(kNan)}),
             Tensor::Scalar(true));
}

TEST_F(BinaryTest, UnequalShapesMayCompareAsOneAnswer) {
  const Tensor a = Tensor::Vector<float>({1, 2}), b = Tensor::Vector<float>({1, 2, 3});
  ExpectSame(RunOne(OpNode("Equal").Attr("incompatible_shape_error", false), {a, b}),
             Tensor::Scalar(false));
  ExpectSame(RunOne(OpNode("NotEqual").Attr("incompatible_shape_error", false), {a, b}),
             Tensor::Scalar(true));
  EXPECT_THAT(Run("Equal", {a, b}).status().message(),
              HasSubstr("Incompatible shapes: [2] vs. [3]"));
}

TEST_F(BinaryTest, AddJoinsStrings) {
  ExpectSame(RunOne("Add", {Tensor::Vector<std::string>({"a", "b"}), Tensor::Scalar("!")}),
             Tensor::Vector<std::string>({"a!", "b!"}));
}

TEST_F(BinaryTest, ShiftsStayWithinTheWidthOfTheType) {
  ExpectSame(
      RunOne("LeftShift", {Tensor::Vector<int8_t>({1, 1}), Tensor::Vector<int8_t>({3, 100})}),
      Tensor::Vector<int8_t>({8, -128}));
  ExpectSame(
      RunOne("RightShift", {Tensor::Vector<int8_t>({-8, -8}), Tensor::Vector<int8_t>({1, -5})}),
      Tensor::Vector<int8_t>({-4, -8}));
}

TEST_F(BinaryTest, AddNAddsAllInputsAndWantsOneShape) {
  const Tensor a = Sequence({5000}, 1), b = Sequence({5000}, 10), c = Sequence({5000}, 100);
  ExpectClose(RunOne("AddN", {a, b, c}), Sequence({5000}, 111));
  std::vector<OpInput> inputs = {a};
  for (int count = 2; count <= 10; ++count) {
    inputs.push_back(a);
    ExpectClose(RunOne("AddN", inputs), Sequence({5000}, count));
  }
  EXPECT_THAT(Run("AddN", {a, Sequence({2}, 1)}).status().message(),
              HasSubstr("must have the same size and shape.  Input 0: [5000] != input 1: [2]"));
}

TEST_F(BinaryTest, BroadcastGradientArgsListsTheAxesToSumOver) {
  const auto run = [&](std::initializer_list<int32_t> a, std::initializer_list<int32_t> b) {
    return *Run("BroadcastGradientArgs", {Tensor::Vector<int32_t>(a), Tensor::Vector<int32_t>(b)});
  };
  ExpectSame(run({1, 2, 1}, {3, 2, 1})[0], Tensor::Vector<int32_t>({0, 2}));
  ExpectSame(run({1, 2, 1}, {3, 2, 1})[1], Tensor::Vector<int32_t>({2}));
  ExpectSame(run({}, {4})[0], Tensor::Vector<int32_t>({0}));
  ExpectSame(run({1, 1}, {1, 1})[0], Tensor::Vector<int32_t>({}));
}

}  // namespace
}  // namespace tensorfleet
