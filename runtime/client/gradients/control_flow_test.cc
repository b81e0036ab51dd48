// Gradients through loops and conditionals, where the slopes are known in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/control_flow.h"
#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/term.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

// The values of the gradients of y with respect to xs.
std::vector<float> Slopes(const Scope& root, const Output& y, const Outputs& xs,
                          const Session::Feeds& feeds = {}) {
  Outputs fetches;
  for (const Gradient& g : AddSymbolicGradients(root, {y}, xs)) fetches.push_back(ToDense(root, g));
  const auto session = *Session::Open("");
  tensorflow::RunOptions options;
  options.set_timeout_in_ms(20000);
  const auto values = session->Run(root, feeds, fetches, {}, options);
  std::vector<float> slopes;
  if (!values.ok()) {
    ADD_FAILURE() << values.status();
    return slopes;
  }
  for (const Tensor& value : *values) slopes.push_back(value.scalar<float>());
  return slopes;
}

// body applied `rounds` times to x.
using Body = std::function<Outputs(const Scope&, const Outputs&, const Outputs&)>;
Outputs Repeat(const Scope& scope, const Output& rounds, const Outputs& initial,
               const Outputs& constants, const Body& body) {
  Outputs all = {ScalarConst(scope, DType::kInt32, 0)}, fixed = {rounds};
  all.insert(all.end(), initial.begin(), initial.end());
  fixed.insert(fixed.end(), constants.begin(), constants.end());
  const Outputs last = WhileLoop(
      scope, all, fixed,
      [](const Scope& s, const Outputs& v, const Outputs& c) { return ops::Less(s, v[0], c[0]); },
      [&](const Scope& s, const Outputs& v, const Outputs& c) {
        Outputs next = body(s, Outputs(v.begin() + 1, v.end()), Outputs(c.begin() + 1, c.end()));
        next.insert(next.begin(), Term(s, v[0]) + 1);
        return next;
      });
  return last.empty() ? last : Outputs(last.begin() + 1, last.end());
}

TEST(LoopGradients, OfARepeatedProduct) {
  Scope root;
  const Output x = Const(root, 2.0f), c = Const(root, 3.0f), n = Const(root, int32_t{4});
  // x c^4: by x 81, by c 4 x c^3.
  const Output y =
      Repeat(root, n, {x}, {c}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Outputs{ops::Mul(s, v[0], k[0])};
      })[0];
  EXPECT_THAT(Slopes(root, y, {x, c}), testing::ElementsAre(81, 216));
}

TEST(LoopGradients, UseTheValuesOfEachRound) {
  Scope root;
  const Output x = Const(root, 1.1f), n = Const(root, int32_t{3});
  // x^8.
  const Output y = Repeat(root, n, {x}, {}, [](const Scope& s, const Outputs& v, const Outputs&) {
    return Outputs{ops::Square(s, v[0])};
  })[0];
  EXPECT_THAT(Slopes(root, y, {x}),
              testing::ElementsAre(testing::FloatNear(8 * std::pow(1.1f, 7), 1e-4)));
}

TEST(LoopGradients, OfNoRoundsAtAll) {
  Scope root;
  const Output x = Const(root, 2.0f), c = Const(root, 3.0f);
  const Output n = ops::Placeholder(root, DType::kInt32);
  const Output y =
      Repeat(root, n, {x}, {c}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Outputs{ops::Mul(s, v[0], k[0])};
      })[0];
  EXPECT_THAT(Slopes(root, y, {x, c}, {{n, Tensor::Scalar<int32_t>(0)}}),
              testing::ElementsAre(1, 0));
}

TEST(LoopGradients, OfVariablesThatMix) {
  Scope root;
  const Output a = Const(root, 1.0f), b = Const(root, 1.0f), n = Const(root, int32_t{5});
  // Fibonacci: the last b is 5 a + 8 b of the first ones.
  const Outputs last =
      Repeat(root, n, {a, b}, {}, [](const Scope& s, const Outputs& v, const Outputs&) {
        return Outputs{v[1], ops::Add(s, v[0], v[1])};
      });
  EXPECT_THAT(Slopes(root, last[1], {a, b}), testing::ElementsAre(5, 8));
}

TEST(LoopGradients, OfManyRoundsOfMatrices) {
  Scope root;
  const Output w = Const(root, Tensor::Of<float>(Shape({2, 2}), {0.5, 0.1, -0.2, 0.7}));
  const Output x = Const(root, Tensor::Of<float>(Shape({1, 2}), {1, 2}));
  const Output n = Const(root, int32_t{50});
  const Output y =
      Repeat(root, n, {x}, {w}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Outputs{ops::Tanh(s, ops::AddV2(s, ops::MatMul(s, v[0], k[0]), v[0]))};
      })[0];
  // The same by hand.
  Output z = x;
  for (int i = 0; i < 50; ++i) z = ops::Tanh(root, ops::AddV2(root, ops::MatMul(root, z, w), z));
  const Gradient rolled = AddSymbolicGradients(root, {y}, {w})[0];
  const Gradient unrolled = AddSymbolicGradients(root, {z}, {w})[0];
  const auto values = (*Session::Open(""))->Run(root, {}, {rolled.dense(), unrolled.dense()});
  ASSERT_TRUE(values.ok()) << values.status();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR((*values)[0].values<float>()[i], (*values)[1].values<float>()[i], 1e-5);
  }
}

TEST(LoopGradients, OfALoopInsideALoop) {
  Scope root;
  const Output x = Const(root, 1.01f), c = Const(root, 1.02f);
  const Output outer = Const(root, int32_t{3}), inner = Const(root, int32_t{2});
  // Each outer round: twice x = x * x * c.
  const Output y =
      Repeat(root, outer, {x}, {c, inner}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Repeat(s, k[1], {v[0]}, {k[0]},
                      [](const Scope& t, const Outputs& w, const Outputs& m) {
                        return Outputs{ops::Mul(t, ops::Mul(t, w[0], w[0]), m[0])};
                      });
      })[0];
  // y = x^64 c^63.
  const double value = std::pow(1.01, 64) * std::pow(1.02, 63);
  EXPECT_THAT(Slopes(root, y, {x, c}),
              testing::ElementsAre(testing::FloatNear(64 * value / 1.01, 0.05),
                                   testing::FloatNear(63 * value / 1.02, 0.05)));
}

Outputs SquareOrTriple(const Scope& s, const Output& x, const Output& squares) {
  return Conditional(
      s, squares, {x},
      [](const Scope& t, const Outputs& v) { return Outputs{ops::Square(t, v[0])}; },
      [](const Scope& t, const Outputs& v) { return Outputs{Term(t, v[0]) * 3}; });
}

TEST(BranchGradients, AreThoseOfTheBranchThatWasTaken) {
  Scope root;
  const Output x = Const(root, 5.0f), squares = ops::Placeholder(root, DType::kBool);
  const Output y = ops::AddV2(root, SquareOrTriple(root, x, squares)[0], x);
  EXPECT_THAT(Slopes(root, y, {x}, {{squares, Tensor::Scalar(true)}}), testing::ElementsAre(11));
  EXPECT_THAT(Slopes(root, y, {x}, {{squares, Tensor::Scalar(false)}}), testing::ElementsAre(4));
}

TEST(BranchGradients, AreZeroWhereTheBranchDoesNotUseTheInput) {
  Scope root;
  const Output x = Const(root, 5.0f), uses = ops::Placeholder(root, DType::kBool);
  const Output y = Conditional(
      root, uses, {x},
      [](const Scope& t, const Outputs& v) { return Outputs{ops::Square(t, v[0])}; },
      [](const Scope& t, const Outputs&) { return Outputs{Const(t, 1.0f)}; })[0];
  EXPECT_THAT(Slopes(root, y, {x}, {{uses, Tensor::Scalar(true)}}), testing::ElementsAre(10));
  EXPECT_THAT(Slopes(root, y, {x}, {{uses, Tensor::Scalar(false)}}), testing::ElementsAre(0));
}

TEST(BranchGradients, MayBeInsideALoop) {
  Scope root;
  const Output x = Const(root, 2.0f), n = Const(root, int32_t{3}), limit = Const(root, 10.0f);
  // Triples while below 10, then squares: 2, 6, 18, 324 = (9 x)^2.
  const Output y =
      Repeat(root, n, {x}, {limit}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return SquareOrTriple(s, v[0], ops::Greater(s, v[0], k[0]));
      })[0];
  EXPECT_THAT(Slopes(root, y, {x}), testing::ElementsAre(324));
}

TEST(BranchGradients, WithALoopInTheBranchOfALoop) {
  Scope root;
  const Output x = Const(root, 2.0f), n = Const(root, int32_t{3}), limit = Const(root, 5.0f);
  // 2 -> 3 * 2 = 6 -> two rounds of squaring: 1296 -> again.
  const auto square = [](const Scope& t, const Outputs& w, const Outputs&) {
    return Outputs{Term(t, ops::Square(t, w[0])) * 0.1};
  };
  const Output y =
      Repeat(root, n, {x}, {limit}, [&](const Scope& s, const Outputs& v, const Outputs& k) {
        return Conditional(
            s, ops::Greater(s, v[0], k[0]), {v[0]},
            [&](const Scope& t, const Outputs& w) {
              return Repeat(t, ScalarConst(t, DType::kInt32, 2), {w[0]}, {}, square);
            },
            [](const Scope& t, const Outputs& w) { return Outputs{Term(t, w[0]) * 3}; });
      })[0];
  // Round 1: 3x = 6. Round 2: 6^4 / 1000 = 1.296. Round 3: 3 * 1.296; so y = 3 (3x)^4 / 1000.
  EXPECT_THAT(Slopes(root, y, {x}),
              testing::ElementsAre(testing::FloatNear(3 * 81 * 4 * 8 / 1000.0, 1e-3)));
}

// The first gradient as a value of its own, for the next derivative.
Output Slope(const Scope& root, const Output& y, const Output& x) {
  return AddSymbolicGradients(root, {y}, {x})[0].dense();
}

TEST(LoopGradients, HaveGradientsThemselves) {
  Scope root;
  const Output x = Const(root, 2.0f), c = Const(root, 3.0f), n = Const(root, int32_t{4});
  // x c^4: by c and c 12 x c^2, by c and x 4 c^3, by c three times 24 x c.
  const Output y =
      Repeat(root, n, {x}, {c}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Outputs{ops::Mul(s, v[0], k[0])};
      })[0];
  const Output by_c = Slope(root, y, c);
  EXPECT_THAT(Slopes(root, by_c, {c, x}), testing::ElementsAre(216, 108));
  EXPECT_THAT(Slopes(root, Slope(root, by_c, c), {c}), testing::ElementsAre(144));
}

TEST(LoopGradients, OfNoRoundsHaveNoFurtherSlope) {
  Scope root;
  const Output x = Const(root, 2.0f), n = ops::Placeholder(root, DType::kInt32);
  const Output y = Repeat(root, n, {x}, {}, [](const Scope& s, const Outputs& v, const Outputs&) {
    return Outputs{ops::Square(s, v[0])};
  })[0];
  const Output slope = Slope(root, y, x);
  EXPECT_THAT(Slopes(root, slope, {x}, {{n, Tensor::Scalar<int32_t>(0)}}), testing::ElementsAre(0));
  EXPECT_THAT(Slopes(root, slope, {x}, {{n, Tensor::Scalar<int32_t>(3)}}),
              testing::ElementsAre(56 * 64));  // of x^8
}

TEST(LoopGradients, OfALoopInsideALoopHaveGradientsThemselves) {
  Scope root;
  const Output x = Const(root, 1.01f), outer = Const(root, int32_t{2}),
               inner = Const(root, int32_t{2});
  // x^16.
  const Output y =
      Repeat(root, outer, {x}, {inner}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return Repeat(s, k[0], {v[0]}, {}, [](const Scope& t, const Outputs& w, const Outputs&) {
          return Outputs{ops::Square(t, w[0])};
        });
      })[0];
  EXPECT_THAT(Slopes(root, Slope(root, y, x), {x}),
              testing::ElementsAre(testing::FloatNear(240 * std::pow(1.01f, 14), 1e-2)));
}

TEST(BranchGradients, InsideALoopHaveGradientsThemselves) {
  Scope root;
  const Output x = Const(root, 2.0f), n = Const(root, int32_t{4}), limit = Const(root, 10.0f);
  // Triples while below 10, then squares: (9 x)^4, by x and x 12 9^4 x^2.
  const Output y =
      Repeat(root, n, {x}, {limit}, [](const Scope& s, const Outputs& v, const Outputs& k) {
        return SquareOrTriple(s, v[0], ops::Greater(s, v[0], k[0]));
      })[0];
  EXPECT_THAT(Slopes(root, Slope(root, y, x), {x}), testing::ElementsAre(12 * 6561 * 4));
}

TEST(LoopGradients, AreBetweenTensorsOutsideOfLoops) {
  Scope root;
  const Output x = Const(root, 2.0f), n = Const(root, int32_t{3});
  Output inside;
  const Output y = Repeat(root, n, {x}, {}, [&](const Scope& s, const Outputs& v, const Outputs&) {
    inside = ops::Square(s.Named("inner"), v[0]);
    return Outputs{inside};
  })[0];
  AddSymbolicGradients(root, {y}, {inside});
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("inner:0' is inside the loop"));
}

}  // namespace
}  // namespace tensorfleet
