#include "runtime/train/model/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/train/model/losses.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

// The graph's initializer has run.
std::string Value(const Scope& root, const Variables& variables, const Output& fetch) {
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  const auto initialized = session->Run(root, {}, {}, {init});
  if (!initialized.ok()) return std::string(initialized.status().message());
  const auto values = session->Run(root, {}, {fetch});
  return values.ok() ? (*values)[0].ToString() : std::string(values.status().message());
}

TEST(Dense, IsAProductPlusABiasThroughAnActivation) {
  Scope root;
  Variables variables;
  const Output x = Const(root, Tensor::Of<float>(Shape({1, 2}), {1, -3}));
  const Output y = Dense(
      root, variables, x, 3,
      {.activation = ops::Relu,
       .kernel_initializer = InitialValue(Tensor::Of<float>(Shape({2, 3}), {1, 2, 3, 4, 0, -1})),
       .bias_initializer = Constant(0.5)});
  EXPECT_EQ(Value(root, variables, y), "float [1,3]: 0 2.5 6.5");
  EXPECT_EQ(variables.trainable()[0].name, "dense/kernel");
  EXPECT_EQ(variables.trainable()[1].name, "dense/bias");
}

TEST(Dense, KeepsTheOuterDimensions) {
  Scope root;
  Variables variables;
  const Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape({-1, 4, 2})});
  const Output y = Dense(root, variables, x, 3);
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  const auto values =
      session->Run(root, {{x, *Tensor::Zeros(DType::kFloat, Shape({5, 4, 2}))}}, {y});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].shape(), Shape({5, 4, 3}));
}

TEST(Dense, NeedsAKnownLastDimension) {
  Scope root;
  Variables variables;
  Dense(root, variables, ops::Placeholder(root, DType::kFloat), 3);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("Dense 'dense'"));
}

TEST(Flatten, KeepsTheBatchAndWhatIsKnownOfARow) {
  Scope root;
  const Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape({-1, 4, 2})});
  EXPECT_EQ(root.ShapeOf(Flatten(root, x)), PartialShape({-1, 8}));
}

TEST(Dropout, DropsAndScalesOnlyWhileTraining) {
  Scope root;
  const Output x = ops::Fill(root, Const(root, Tensor::Vector<int32_t>({1000})), Const(root, 1.0f));
  const Output training = ops::Placeholder(root, DType::kBool);
  const Output y = Dropout(root, x, 0.5, training, 3);
  const auto session = *Session::Open("");
  const auto kept = session->Run(root, {{training, Tensor::Scalar(false)}}, {y});
  const auto dropped = session->Run(root, {{training, Tensor::Scalar(true)}}, {y});
  ASSERT_TRUE(kept.ok() && dropped.ok()) << kept.status() << dropped.status();
  EXPECT_THAT((*kept)[0].values<float>(), testing::Each(1.0f));
  EXPECT_THAT((*dropped)[0].values<float>(), testing::Each(testing::AnyOf(0.0f, 2.0f)));
  double sum = 0;
  for (const float v : (*dropped)[0].values<float>()) sum += v;
  EXPECT_NEAR(sum, 1000, 150);
}

class EmbeddingTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, EmbeddingTest, testing::Values(1, 3));

TEST_P(EmbeddingTest, GivesTheRowsOfItsIds) {
  Scope root;
  Variables variables;
  const Output ids = Const(root, Tensor::Of<int64_t>(Shape({2, 2}), {4, 0, 3, 4}));
  const Output y = Embedding(root, variables, ids, 5, 2, {.parts = GetParam()});
  const Operation init = variables.InitOp(root);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  std::vector<Output> fetches = {y};
  for (const Variable& table : variables.trainable()) fetches.push_back(table.value);
  const auto values = session->Run(root, {}, fetches);
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_EQ((*values)[0].shape(), Shape({2, 2, 2}));
  const std::vector<int64_t> kIds = {4, 0, 3, 4};
  for (int i = 0; i < 4; ++i) {
    const auto table = (*values)[1 + kIds[i] % GetParam()].values<float>();
    const int64_t row = kIds[i] / GetParam();
    EXPECT_EQ((*values)[0].values<float>()[2 * i], table[2 * row]);
    EXPECT_EQ((*values)[0].values<float>()[2 * i + 1], table[2 * row + 1]);
  }
}

TEST_P(EmbeddingTest, HasGradientsOfRowsOnly) {
  Scope root;
  Variables variables;
  const Output ids = Const(root, Tensor::Vector<int64_t>({4, 0}));
  const Output y = Embedding(root, variables, ids, 5, 2, {.parts = GetParam()});
  for (const Variable& table : variables.trainable()) {
    const auto gradients = AddSymbolicGradients(root, {ops::Square(root, y)}, {table.handle});
    ASSERT_TRUE(root.status().ok()) << root.status();
    EXPECT_TRUE(gradients[0].is_sparse());
  }
}

TEST(Layers, LearnExclusiveOr) {
  Scope root;
  Variables variables;
  const Output x = Const(root, Tensor::Of<float>(Shape({4, 2}), {0, 0, 0, 1, 1, 0, 1, 1}));
  const Output labels = Const(root, Tensor::Vector<int64_t>({0, 1, 1, 0}));
  const Output hidden = Dense(root, variables, x, 8,
                              {.activation = ops::Tanh, .kernel_initializer = GlorotUniform(5)});
  const Output logits = Dense(root, variables, hidden, 2, {.kernel_initializer = GlorotUniform(6)});
  const Output loss = SparseSoftmaxCrossEntropy(root, labels, logits);
  Adam adam(0.05);
  const Operation train = adam.Minimize(root, loss, variables);
  const Operation init = variables.InitOp(root);
  ASSERT_TRUE(root.status().ok()) << root.status();
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  for (int step = 0; step < 300; ++step) {
    ASSERT_TRUE(session->Run(root, {}, {}, {train}).ok());
  }
  const auto values = session->Run(root, {}, {loss});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_LT((*values)[0].scalar<float>(), 0.05f);
}

}  // namespace
}  // namespace tensorfleet::train
