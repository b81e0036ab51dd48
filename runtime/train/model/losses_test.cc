#include "runtime/train/model/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

double Value(const Scope& root, const Output& loss) {
  const auto values = (*Session::Open(""))->Run(root, {}, {loss});
  if (!values.ok()) {
    ADD_FAILURE() << values.status();
    return NAN;
  }
  return (*values)[0].scalar<float>();
}

TEST(Losses, CrossEntropyOfClasses) {
  Scope root;
  const Output logits = Const(root, Tensor::Of<float>(Shape({2, 2}), {0, 0, 2, 0}));
  const double expected = (std::log(2) + std::log(1 + std::exp(2))) / 2;
  const Output labels = Const(root, Tensor::Vector<int64_t>({0, 1}));
  EXPECT_NEAR(Value(root, SparseSoftmaxCrossEntropy(root, labels, logits)), expected, 1e-6);
  const Output one_hot = Const(root, Tensor::Of<float>(Shape({2, 2}), {1, 0, 0, 1}));
  EXPECT_NEAR(Value(root, SoftmaxCrossEntropy(root, one_hot, logits)), expected, 1e-6);
}

TEST(Losses, SigmoidCrossEntropyHoldsForLargeLogits) {
  Scope root;
  const Output logits = Const(root, Tensor::Vector<float>({100, -100, 0}));
  const Output labels = Const(root, Tensor::Vector<float>({1, 1, 0}));
  EXPECT_NEAR(Value(root, SigmoidCrossEntropy(root, labels, logits)), (100 + std::log(2)) / 3,
              1e-4);
}

TEST(Losses, OfDistances) {
  Scope root;
  const Output labels = Const(root, Tensor::Vector<float>({0, 0}));
  const Output predictions = Const(root, Tensor::Vector<float>({0.5, -3}));
  EXPECT_NEAR(Value(root, MeanSquaredError(root, labels, predictions)), 9.25 / 2, 1e-6);
  EXPECT_NEAR(Value(root, AbsoluteDifference(root, labels, predictions)), 3.5 / 2, 1e-6);
  EXPECT_NEAR(Value(root, HuberLoss(root, labels, predictions)), (0.125 + 2.5) / 2, 1e-6);
  const Output classes = Const(root, Tensor::Vector<float>({1, 0}));
  EXPECT_NEAR(Value(root, HingeLoss(root, classes, predictions)), 0.5 / 2, 1e-6);
}

TEST(Losses, PenaltyOfLargeWeights) {
  Scope root;
  Variables variables({.use_resource = false});
  const Variable w = variables.Make(root.Named("w"), Shape({2}), Constant(3));
  const Output penalty = L2Penalty(root, {w, w}, 0.5);
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  EXPECT_EQ((*session->Run(root, {}, {penalty}))[0].scalar<float>(), 9);
}

}  // namespace
}  // namespace tensorfleet::train
