#include "runtime/train/optimizer/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

// The rate at each of these steps.
template <typename Schedule>
std::vector<float> RatesAt(const std::vector<int64_t>& steps, Schedule schedule) {
  Scope root;
  const Output step = ops::Placeholder(root, DType::kInt64);
  const Output rate = schedule(root, step);
  const auto session = *Session::Open("");
  std::vector<float> rates;
  for (const int64_t at : steps) {
    const auto values = session->Run(root, {{step, Tensor::Scalar(at)}}, {rate});
    EXPECT_TRUE(values.ok()) << values.status();
    rates.push_back(values.ok() ? values->front().template scalar<float>() : -1);
  }
  return rates;
}

auto Near(double value) { return FloatNear(static_cast<float>(value), 1e-5f); }

TEST(Schedules, Exponential) {
  EXPECT_THAT(RatesAt({0, 5, 10, 15},
                      [](const Scope& s, const Output& step) {
                        return ExponentialDecay(s, step, 0.8, 10, 0.25);
                      }),
              ElementsAre(Near(0.8), Near(0.4), Near(0.2), Near(0.1)));
  EXPECT_THAT(RatesAt({0, 9, 10},
                      [](const Scope& s, const Output& step) {
                        return ExponentialDecay(s, step, 0.8, 10, 0.25, /*staircase=*/true);
                      }),
              ElementsAre(Near(0.8), Near(0.8), Near(0.2)));
}

TEST(Schedules, Piecewise) {
  EXPECT_THAT(RatesAt({0, 10, 11, 20, 21},
                      [](const Scope& s, const Output& step) {
                        return PiecewiseConstant(s, step, {10, 20}, {3, 2, 1});
                      }),
              ElementsAre(3, 3, 2, 2, 1));
}

TEST(Schedules, Polynomial) {
  EXPECT_THAT(RatesAt({0, 5, 10, 100},
                      [](const Scope& s, const Output& step) {
                        return PolynomialDecay(s, step, 1, 10, 0.2, 2);
                      }),
              ElementsAre(Near(1), Near(0.4), Near(0.2), Near(0.2)));
  EXPECT_THAT(RatesAt({0, 5, 15},
                      [](const Scope& s, const Output& step) {
                        return PolynomialDecay(s, step, 1, 10, 0, 1, /*cycle=*/true);
                      }),
              ElementsAre(Near(1), Near(0.5), Near(0.25)));
}

TEST(Schedules, Cosine) {
  EXPECT_THAT(
      RatesAt({0, 5, 10, 20},
              [](const Scope& s, const Output& step) { return CosineDecay(s, step, 2, 10, 0.1); }),
      ElementsAre(Near(2), Near(1.1), Near(0.2), Near(0.2)));
}

TEST(Schedules, RefuseWhatMakesNoSense) {
  Scope root;
  PiecewiseConstant(root, Const(root, int64_t{0}), {1, 2}, {1});
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("1 and 2"));
  Scope other;
  CosineDecay(other, Const(other, int64_t{0}), 1, 0);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("CosineDecay"));
}

}  // namespace
}  // namespace tensorfleet::train
