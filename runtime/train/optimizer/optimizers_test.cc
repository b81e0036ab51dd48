// Each optimizer against its formula, worked out here in doubles.
#include "runtime/train/optimizer/optimizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSteps = 3;

// What three steps make of one weight that starts at 2 with the gradient 2 * w.
using Formula = std::function<void(double& w, double g, int step)>;

double Expected(const Formula& formula) {
  double w = 2;
  for (int step = 1; step <= kSteps; ++step) formula(w, 2 * w, step);
  return w;
}

// The same by the optimizer. Sparse: two rows, of which the loss looks at the second one twice with
// half the weight.
double Trained(Optimizer& optimizer, bool use_resource, bool sparse) {
  Scope root;
  Variables variables({.use_resource = use_resource});
  const Shape shape = sparse ? Shape({2, 1}) : Shape();
  const Variable w = variables.Make(root.Named("w"), shape, Constant(2), {.dtype = DType::kDouble});
  Output loss;
  if (sparse) {
    const Output rows = Const(root, Tensor::Vector<int32_t>({1, 1}));
    const Output read = use_resource ? ops::ResourceGather(root, w.handle, rows, DType::kDouble)
                                     : ops::Gather(root, w.value, rows);
    loss = ops::L2Loss(root, read);  // half the sum of two equal squares
  } else {
    loss = ops::Square(root, w.value);
  }
  const Operation train = optimizer.Minimize(root, loss, variables);
  const Operation init = variables.InitOp(root);
  EXPECT_TRUE(root.status().ok()) << root.status();
  const auto session = *Session::Open("");
  EXPECT_TRUE(session->Run(root, {}, {}, {init}).ok());
  for (int step = 0; step < kSteps; ++step) {
    const auto done = session->Run(root, {}, {}, {train});
    EXPECT_TRUE(done.ok()) << done.status();
  }
  const auto values = session->Run(root, {}, {w.value, variables.GlobalStep(root).value});
  if (!values.ok()) {
    ADD_FAILURE() << values.status();
    return NAN;
  }
  EXPECT_EQ((*values)[1].scalar<int64_t>(), kSteps);
  if (sparse) {
    EXPECT_EQ((*values)[0].values<double>()[0], 2) << "a row that no gradient names has changed";
  }
  return (*values)[0].values<double>().back();
}

// The gradient of the sparse loss is 2 * w as well: w from each of the two mentions of the row.
template <typename Make>
void ExpectFormula(Make make, const Formula& formula) {
  for (const bool use_resource : {false, true}) {
    for (const bool sparse : {false, true}) {
      auto optimizer = make();
      EXPECT_NEAR(Trained(*optimizer, use_resource, sparse), Expected(formula), 1e-9)
          << (use_resource ? "by handle" : "by reference") << (sparse ? ", sparse" : "");
    }
  }
}

TEST(Optimizers, GradientDescent) {
  ExpectFormula([] { return std::make_unique<GradientDescent>(0.1); },
                [](double& w, double g, int) { w -= 0.1 * g; });
}

TEST(Optimizers, Momentum) {
  double a = 0;
  ExpectFormula([&] { return a = 0, std::make_unique<Momentum>(0.1, 0.9); },
                [&](double& w, double g, int) {
                  a = 0.9 * a + g;
                  w -= 0.1 * a;
                });
  ExpectFormula([&] { return a = 0, std::make_unique<Momentum>(0.1, 0.9, true); },
                [&](double& w, double g, int) {
                  a = 0.9 * a + g;
                  w -= 0.1 * g + 0.1 * 0.9 * a;
                });
}

TEST(Optimizers, Adagrad) {
  double a = 0;
  ExpectFormula([&] { return a = 0.1, std::make_unique<Adagrad>(0.1); },
                [&](double& w, double g, int) {
                  a += g * g;
                  w -= 0.1 * g / std::sqrt(a);
                });
}

TEST(Optimizers, RmsProp) {
  double s = 0, mean = 0, a = 0;
  const auto restart = [&](bool centered) {
    s = 1, mean = 0, a = 0;
    return std::make_unique<RmsProp>(
        0.1,
        RmsProp::Options{.decay = 0.8, .momentum = 0.5, .epsilon = 1e-3, .centered = centered});
  };
  ExpectFormula([&] { return restart(false); },
                [&](double& w, double g, int) {
                  s = 0.8 * s + 0.2 * g * g;
                  a = 0.5 * a + 0.1 * g / std::sqrt(s + 1e-3);
                  w -= a;
                });
  ExpectFormula([&] { return restart(true); },
                [&](double& w, double g, int) {
                  s = 0.8 * s + 0.2 * g * g;
                  mean = 0.8 * mean + 0.2 * g;
                  a = 0.5 * a + 0.1 * g / std::sqrt(s - mean * mean + 1e-3);
                  w -= a;
                });
}

TEST(Optimizers, Adam) {
  double m = 0, v = 0;
  ExpectFormula(
      [&] {
        return m = v = 0, std::make_unique<Adam>(
                              0.1, Adam::Options{.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3});
      },
      [&](double& w, double g, int step) {
        m = 0.8 * m + 0.2 * g;
        v = 0.9 * v + 0.1 * g * g;
        const double rate = 0.1 * std::sqrt(1 - std::pow(0.9, step)) / (1 - std::pow(0.8, step));
        w -= rate * m / (std::sqrt(v) + 1e-3);
      });
}

TEST(Optimizers, Ftrl) {
  double n = 0, z = 0;
  ExpectFormula(
      [&] {
        return n = 0.1, z = 0, std::make_unique<Ftrl>(0.1, Ftrl::Options{.l1 = 0.01, .l2 = 0.02});
      },
      [&](double& w, double g, int) {
        const double grown = n + g * g;
        z += g - (std::sqrt(grown) - std::sqrt(n)) / 0.1 * w;
        const double quadratic = std::sqrt(grown) / 0.1 + 2 * 0.02;
        w = std::abs(z) > 0.01 ? ((z > 0 ? 0.01 : -0.01) - z) / quadratic : 0;
        n = grown;
      });
}

TEST(Optimizers, ARateMayBeATensor) {
  Scope root;
  Variables variables;
  const Variable w = variables.Make(root.Named("w"), Shape(), Constant(2));
  const Output rate = ops::Placeholder(root, DType::kFloat);
  GradientDescent descent(rate);
  const Operation train = descent.Minimize(root, ops::Square(root, w.value), variables);
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  ASSERT_TRUE(session->Run(root, {{rate, Tensor::Scalar(0.25f)}}, {}, {train}).ok());
  EXPECT_EQ((*session->Run(root, {}, {w.value}))[0].scalar<float>(), 1.0f);
}

// So that a checkpoint of one program is read by the other.
TEST(Optimizers, VariablesAndNodesHaveTensorFlowsNames) {
  Scope root;
  Variables variables;
  const Variable w = variables.Make(root.Named("w"), Shape(), Constant(2));
  const Output loss = ops::Square(root, w.value);
  Adam adam(0.1);
  EXPECT_EQ(adam.Minimize(root, loss, variables).name(), "Adam");
  std::vector<std::string> names;
  for (const Variable& v : variables.global()) names.push_back(v.name);
  EXPECT_THAT(names,
              ElementsAre("w", "global_step", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"));
  EXPECT_TRUE(root.FindOutput("Adam/value").ok());
  EXPECT_NE(root.graph().FindNode("Adam/update_w/ResourceApplyAdam"), nullptr);
  EXPECT_NE(root.graph().FindNode("Adam/update"), nullptr);
}

TEST(Optimizers, RefuseALossThatDependsOnNothing) {
  Scope root;
  Variables variables;
  variables.Make(root.Named("w"), Shape(), Constant(2));
  GradientDescent(0.1).Minimize(root, Const(root, 1.0f), variables);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("no gradient for any of 1"));
}

TEST(Optimizers, RowsThatAreNamedTwiceAreSummed) {
  Scope root;
  const IndexedSlices slices{Const(root, Tensor::Of<float>(Shape({3, 1}), {1, 2, 4})),
                             Const(root, Tensor::Vector<int64_t>({7, 3, 7})),
                             Const(root, Tensor::Vector<int64_t>({9, 1}))};
  const IndexedSlices unique = WithUniqueRows(root, slices);
  const auto values = (*Session::Open(""))->Run(root, {}, {unique.indices, unique.values});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].ToString(), "int64 [2]: 7 3");
  EXPECT_EQ((*values)[1].ToString(), "float [2,1]: 5 2");
}

}  // namespace
}  // namespace tensorfleet::train
