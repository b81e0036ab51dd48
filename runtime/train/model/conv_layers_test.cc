#include "runtime/train/model/conv_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/train/model/losses.h"
#include "runtime/train/model/recurrent.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

// The loss after so many steps of Adam.
float Trained(const Scope& root, Variables& variables, const Output& loss, int steps,
              const std::vector<Operation>& also = {}) {
  Adam adam(0.02);
  std::vector<Operation> targets = also;
  targets.push_back(adam.Minimize(root, loss, variables));
  const Operation init = variables.InitOp(root);
  EXPECT_TRUE(root.status().ok()) << root.status();
  if (!root.status().ok()) return NAN;
  const auto session = *Session::Open("");
  EXPECT_TRUE(session->Run(root, {}, {}, {init}).ok());
  for (int step = 0; step < steps; ++step) {
    const auto done = session->Run(root, {}, {}, targets);
    EXPECT_TRUE(done.ok()) << done.status();
    if (!done.ok()) return NAN;
  }
  return (*session->Run(root, {}, {loss}))[0].scalar<float>();
}

Tensor Noise(const Shape& shape) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(shape.num_elements());
  for (float& v : values) v = normal(random);
  return Tensor::Vector<float>(values).Reshaped(shape);
}

TEST(Conv2D, KeepsThePlaceOfASingleOne) {
  Scope root;
  Variables variables;
  const Output x = Const(root, Tensor::Of<float>(Shape({1, 1, 3, 1}), {0, 1, 0}));
  const Output y =
      Conv2D(root, variables, x, 2, 1,
             {.kernel_initializer = InitialValue(Tensor::Of<float>(Shape({1, 1, 1, 2}), {3, -1}))});
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  EXPECT_EQ((*session->Run(root, {}, {y}))[0].ToString(), "float [1,1,3,2]: 0 0 3 -1 0 0");
}

TEST(Conv2D, NeedsKnownChannels) {
  Scope root;
  Variables variables;
  Conv2D(root, variables, ops::Placeholder(root, DType::kFloat), 2, 3);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("layer 'conv2d'"));
}

TEST(ConvLayers, LearnToTellImagesApart) {
  Scope root;
  Variables variables;
  const Output x = Const(root, Noise(Shape({8, 6, 6, 1})));
  const Output labels = Const(root, Tensor::Vector<int32_t>({0, 1, 1, 0, 1, 0, 0, 1}));
  const Normalized hidden = BatchNorm(
      root, variables, Conv2D(root, variables, x, 4, 3, {.kernel_initializer = HeNormal(3)}),
      Const(root, true));
  const Output pooled = MaxPool2D(root, ops::Relu(root, hidden.y), 2, 2);
  const Output mean = AveragePool2D(root, pooled, 1, 1);
  const Output logits =
      Dense(root, variables, Flatten(root, mean), 2, {.kernel_initializer = GlorotUniform(4)});
  EXPECT_LT(Trained(root, variables, SparseSoftmaxCrossEntropy(root, labels, logits), 60,
                    {hidden.update}),
            0.1f);
}

TEST(BatchNorm, UsesTheBatchWhileTrainingAndItsAveragesAfterwards) {
  Scope root;
  Variables variables;
  const Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape({-1, 1})});
  const Output training = ops::Placeholder(root, DType::kBool);
  const Normalized n = BatchNorm(root, variables, x, training, {.momentum = 0.5, .epsilon = 0});
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  const Tensor batch = Tensor::Of<float>(Shape({2, 1}), {2, 6});
  const auto trained =
      session->Run(root, {{x, batch}, {training, Tensor::Scalar(true)}}, {n.y}, {n.update});
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ((*trained)[0].ToString(), "float [2,1]: -1 1");
  // The mean moved half way from 0 to 4, the variance from 1 to 4.
  EXPECT_EQ((*session->Run(root, {}, {variables.global()[2].value}))[0].scalar<float>(), 2);
  EXPECT_EQ((*session->Run(root, {}, {variables.global()[3].value}))[0].scalar<float>(), 2.5);
  const auto used = session->Run(root, {{x, batch}, {training, Tensor::Scalar(false)}}, {n.y});
  EXPECT_NEAR((*used)[0].values<float>()[1], 4 / std::sqrt(2.5), 1e-5);
}

TEST(Lstm, LearnsToRememberTheFirstOfASequence) {
  Scope root;
  Variables variables;
  // The class is the first number; those after it are noise.
  const int64_t kBatch = 8, kTime = 5;
  Tensor sequences = Noise(Shape({kBatch, kTime, 1}));
  std::vector<int32_t> classes;
  for (int64_t i = 0; i < kBatch; ++i) {
    classes.push_back(static_cast<int32_t>(i % 2));
    sequences.mutable_values<float>()[i * kTime] = i % 2 == 0 ? -1 : 1;
  }
  const LstmOutputs out =
      Lstm(root, variables, Const(root, sequences), 6, {.kernel_initializer = GlorotUniform(9)});
  EXPECT_EQ(root.ShapeOf(out.sequence), PartialShape({kBatch, kTime, 6}));
  const Output logits =
      Dense(root, variables, out.last, 2, {.kernel_initializer = GlorotUniform(8)});
  const Output labels = Const(root, Tensor::Vector<int32_t>(classes));
  EXPECT_LT(Trained(root, variables, SparseSoftmaxCrossEntropy(root, labels, logits), 150), 0.2f);
}

TEST(Lstm, NeedsAKnownLength) {
  Scope root;
  Variables variables;
  Lstm(root, variables, ops::Placeholder(root, DType::kFloat), 3);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("Lstm 'lstm'"));
}

}  // namespace
}  // namespace tensorfleet::train
