#include "runtime/train/model/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

// Everything holds for both kinds of variables.
class VariablesTest : public testing::TestWithParam<bool> {
 protected:
  std::string Value(const Output& fetch) {
    const auto values = session_->Run(root_, {}, {fetch});
    return values.ok() ? (*values)[0].ToString() : std::string(values.status().message());
  }
  void Do(const Operation& op) {
    const auto done = session_->Run(root_, {}, {}, {op});
    ASSERT_TRUE(done.ok()) << done.status();
  }

  Scope root_;
  Variables variables_{{.use_resource = GetParam()}};
  std::unique_ptr<Session> session_ = *Session::Open("");
};

INSTANTIATE_TEST_SUITE_P(Kinds, VariablesTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "ByHandle" : "ByReference");
});

TEST_P(VariablesTest, HoldTheirInitialValuesOnceInitialized) {
  const Variable w = variables_.Make(root_.Named("w"), Shape({2}), Constant(3));
  const Variable b = variables_.Make(root_.Named("b"), Shape(), InitialValue(Tensor::Scalar(1.5f)));
  Do(variables_.InitOp(root_));
  EXPECT_EQ(Value(w.value), "float [2]: 3 3");
  EXPECT_EQ(Value(b.value), "float []: 1.5");
}

TEST_P(VariablesTest, AreAssignedAddedToAndScatteredInto) {
  const Variable w = variables_.Make(root_.Named("w"), Shape({3}), Zeros());
  Do(variables_.InitOp(root_));
  Do(Assign(root_, w, Const(root_, Tensor::Vector<float>({1, 2, 3}))));
  Do(AssignAdd(root_, w, Const(root_, Tensor::Vector<float>({1, 1, 1}))));
  Do(AssignSub(root_, w, Const(root_, Tensor::Vector<float>({2, 0, 0}))));
  const Output rows = Const(root_, Tensor::Vector<int32_t>({2, 2}));
  Do(ScatterAdd(root_, w, rows, Const(root_, Tensor::Vector<float>({10, 20}))));
  Do(ScatterSub(root_, w, rows, Const(root_, Tensor::Vector<float>({1, 1}))));
  EXPECT_EQ(Value(w.value), "float [3]: 0 3 32");
}

TEST_P(VariablesTest, HaveTensorFlowsNames) {
  const Scope layer = root_.SubScope("dense");
  const Variable kernel = variables_.Make(layer.Named("kernel"), Shape({2}), Zeros());
  EXPECT_EQ(kernel.name, "dense/kernel");
  EXPECT_EQ(kernel.initializer.name(), "dense/kernel/Assign");
  EXPECT_EQ(kernel.value.op().name(),
            GetParam() ? "dense/kernel/Read/ReadVariableOp" : "dense/kernel/read");
  const Variable slot =
      variables_.MakeSlot(layer, kernel, "Adam", Shape({2}), DType::kFloat, Zeros());
  EXPECT_EQ(slot.name, "dense/kernel/Adam");
  EXPECT_THAT(*GetAttr<std::vector<std::string>>(slot.handle.node()->def(), "_class"),
              testing::ElementsAre("loc:@dense/kernel"));
  if (GetParam()) {
    EXPECT_EQ(*GetAttr<std::string>(kernel.handle.node()->def(), "shared_name"), "dense/kernel");
  }
}

TEST_P(VariablesTest, ReportThoseThatHoldNothing) {
  const Variable a = variables_.Make(root_.Named("a"), Shape(), Zeros());
  variables_.Make(root_.Named("b"), Shape(), Zeros());
  const Output missing = variables_.ReportUninitialized(root_);
  Do(a.initializer);
  EXPECT_EQ(Value(missing), "string [1]: b");
  Do(variables_.InitOp(root_));
  EXPECT_EQ(Value(missing), "string [0]:");
}

TEST_P(VariablesTest, AreTrainedSavedOrLocalAsAsked) {
  variables_.Make(root_.Named("w"), Shape(), Zeros());
  variables_.Make(root_.Named("frozen"), Shape(), Zeros(), {.trainable = false});
  variables_.Make(root_.Named("mine"), Shape(), Zeros(), {.local = true});
  variables_.GlobalStep(root_);
  variables_.GlobalStep(root_);
  EXPECT_EQ(variables_.trainable().size(), 1u);
  EXPECT_EQ(variables_.global().size(), 3u);
  EXPECT_EQ(variables_.local().size(), 1u);
}

TEST_P(VariablesTest, RefuseAnInitialValueOfAnotherShape) {
  variables_.Make(root_.Named("w"), Shape({2}), InitialValue(Tensor::Scalar(1.5f)));
  EXPECT_THAT(std::string(root_.status().message()), HasSubstr("[2]"));
}

TEST_P(VariablesTest, RandomInitialValuesAreInTheirRange) {
  const Variable u = variables_.Make(root_.Named("u"), Shape({100}), RandomUniform(2, 3, 7));
  const Variable g = variables_.Make(root_.Named("g"), Shape({20, 40}), GlorotUniform(7));
  Do(variables_.InitOp(root_));
  const auto values = session_->Run(root_, {}, {u.value, g.value});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT((*values)[0].values<float>(),
              testing::Each(testing::AllOf(testing::Ge(2), testing::Lt(3))));
  const auto limit = testing::Le(std::sqrt(6.0f / 60));
  EXPECT_THAT((*values)[1].values<float>(),
              testing::Each(testing::ResultOf([](float v) { return std::abs(v); }, limit)));
}

}  // namespace
}  // namespace tensorfleet::train
