#include "runtime/train/model/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

TEST(Metrics, AccuracyIsTheShareOfRowsThatAreRight) {
  Scope root;
  const Output logits = Const(root, Tensor::Of<float>(Shape({4, 3}), {3, 1, 2,  //
                                                                      1, 2, 3,  //
                                                                      1, 3, 2,  //
                                                                      2, 1, 3}));
  const Output labels = Const(root, Tensor::Vector<int32_t>({0, 0, 1, 0}));
  const auto values =
      (*Session::Open(""))
          ->Run(root, {}, {Accuracy(root, labels, logits), TopKAccuracy(root, labels, logits, 2)});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].scalar<float>(), 0.5f);
  EXPECT_EQ((*values)[1].scalar<float>(), 0.75f);
}

TEST(Metrics, AStreamingMeanIsOverAllBatches) {
  Scope root;
  Variables variables;
  const Output batch = ops::Placeholder(root, DType::kFloat);
  const StreamingMetric mean = StreamingMean(root, variables, batch);
  const Operation init = variables.LocalInitOp(root);
  EXPECT_TRUE(variables.global().empty());
  const auto session = *Session::Open("");
  const auto value = [&] { return (*session->Run(root, {}, {mean.value}))[0].scalar<float>(); };
  const auto update = [&](const Tensor& values) {
    const auto done = session->Run(root, {{batch, values}}, {mean.update});
    EXPECT_TRUE(done.ok()) << done.status();
    return done.ok() ? (*done)[0].scalar<float>() : -1;
  };
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  EXPECT_EQ(value(), 0);
  EXPECT_EQ(update(Tensor::Vector<float>({1, 2, 3})), 2);
  EXPECT_EQ(update(Tensor::Vector<float>({10})), 4);
  EXPECT_EQ(value(), 4);
}

TEST(Metrics, AStreamingAccuracyIsOverAllBatches) {
  Scope root;
  Variables variables;
  const Output logits = ops::Placeholder(root, DType::kFloat);
  const Output labels = Const(root, Tensor::Vector<int64_t>({0}));
  const StreamingMetric accuracy = StreamingAccuracy(root, variables, labels, logits);
  const Operation init = variables.LocalInitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  const Tensor right = Tensor::Of<float>(Shape({1, 2}), {1, 0});
  const Tensor wrong = Tensor::Of<float>(Shape({1, 2}), {0, 1});
  EXPECT_EQ((*session->Run(root, {{logits, right}}, {accuracy.update}))[0].scalar<float>(), 1);
  EXPECT_EQ((*session->Run(root, {{logits, wrong}}, {accuracy.update}))[0].scalar<float>(), 0.5);
}

}  // namespace
}  // namespace tensorfleet::train
