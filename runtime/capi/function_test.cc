#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// f(a, b) = -(a + b), of a graph with the placeholders "A" and "B".
class CFunction : public ::testing::Test {
 protected:
  CFunction() {
    inputs_[0] = Out(Placeholder(body_.get(), "A"));
    inputs_[1] = Out(Placeholder(body_.get(), "B"));
    sum_ = Binary(body_.get(), "AddV2", "sum", inputs_[0], inputs_[1]);
    output_ = Out(Unary(body_.get(), "Neg", "neg", Out(sum_)));
  }

  Owned<TF_Function> Make(int num_opers = -1, const TF_Operation* const* opers = nullptr) {
    return Owned<TF_Function>(TF_GraphToFunction(body_.get(), "F", 0, num_opers, opers, 2, inputs_,
                                                 1, &output_, nullptr, nullptr, "adds", outcome_));
  }

  // A call of "F" with 1 and 2 in a graph that knows it.
  std::vector<float> Call(TF_Graph* graph) {
    const Owned<TF_Tensor> one = FloatVector({1}), two = FloatVector({2});
    TF_Operation* call = Binary(graph, "F", "call", Out(Constant(graph, "one", one.get())),
                                Out(Constant(graph, "two", two.get())));
    const Owned<TF_Session> session = NewSession(graph);
    return FloatsOf(RunOne(session.get(), {}, {}, Out(call), outcome_).get());
  }

  const Owned<TF_Graph> body_{TF_NewGraph()};
  const Owned<TF_Graph> graph_{TF_NewGraph()};
  TF_Output inputs_[2];
  TF_Operation* sum_;
  TF_Output output_;
  Outcome outcome_;
};

TEST_F(CFunction, OfAGraphCanBeCalled) {
  const Owned<TF_Function> function = Make();
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_STREQ(TF_FunctionName(function.get()), "F");
  TF_GraphCopyFunction(graph_.get(), function.get(), nullptr, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(TF_GraphNumFunctions(graph_.get()), 1);
  EXPECT_THAT(Call(graph_.get()), ElementsAre(-3));
  EXPECT_TRUE(IsOk(outcome_));
}

TEST_F(CFunction, GoesThroughItsMessage) {
  const Owned<TF_Function> function = Make();
  const Owned<TF_Buffer> def(TF_NewBuffer());
  TF_FunctionToFunctionDef(function.get(), def.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  const Owned<TF_Function> copy(TF_FunctionImportFunctionDef(def->data, def->length, outcome_));
  ASSERT_TRUE(IsOk(outcome_));
  TF_GraphCopyFunction(graph_.get(), copy.get(), nullptr, outcome_);
  TF_Function* known = nullptr;
  EXPECT_EQ(TF_GraphGetFunctions(graph_.get(), &known, 1, outcome_), 1);
  const Owned<TF_Function> owner(known);
  EXPECT_STREQ(TF_FunctionName(known), "F");
  EXPECT_THAT(Call(graph_.get()), ElementsAre(-3));
}

TEST_F(CFunction, TakesNothingFromOutsideItsBody) {
  const TF_Operation* only = output_.oper;
  EXPECT_EQ(Make(1, &only), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  EXPECT_THAT(outcome_.message(), HasSubstr("'sum:0' is not available"));
  inputs_[1] = inputs_[0];
  EXPECT_EQ(Make(), nullptr);
  EXPECT_THAT(outcome_.message(), HasSubstr("more than once"));
}

TEST_F(CFunction, HashIsTheSameForTheSameBody) {
  const auto name = [&] {
    const Owned<TF_Function> function(TF_GraphToFunction(body_.get(), "F", 1, -1, nullptr, 2,
                                                         inputs_, 1, &output_, nullptr, nullptr,
                                                         nullptr, outcome_));
    return std::string(TF_FunctionName(function.get()));
  };
  EXPECT_EQ(name(), name());
  EXPECT_THAT(name(), ::testing::StartsWith("F_"));
}

TEST_F(CFunction, KeepsAttributes) {
  const Owned<TF_Function> function = Make();
  // An AttrValue with i = 5.
  TF_FunctionSetAttrValueProto(function.get(), "_mine", "\x18\x05", 2, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  const Owned<TF_Buffer> value(TF_NewBuffer());
  TF_FunctionGetAttrValueProto(function.get(), "_mine", value.get(), outcome_);
  EXPECT_EQ(TextOf(value.get()), "\x18\x05");
  const Owned<TF_Buffer> none(TF_NewBuffer());
  TF_FunctionGetAttrValueProto(function.get(), "_none", none.get(), outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST(CConstant, IsEvaluatedWhereNothingIsFed) {
  const Owned<TF_Graph> graph(TF_NewGraph());
  const Owned<TF_Tensor> two = FloatVector({2});
  TF_Operation* constant = Constant(graph.get(), "two", two.get());
  TF_Operation* square = Unary(graph.get(), "Square", "square", Out(constant));
  TF_Operation* fed =
      Binary(graph.get(), "AddV2", "fed", Out(square), Out(Placeholder(graph.get(), "x")));
  Outcome outcome;
  TF_Tensor* value = nullptr;
  EXPECT_EQ(TF_TryEvaluateConstant(graph.get(), Out(square), &value, outcome), 1);
  ASSERT_TRUE(IsOk(outcome));
  EXPECT_THAT(FloatsOf(Owned<TF_Tensor>(value).get()), ElementsAre(4));
  EXPECT_EQ(TF_TryEvaluateConstant(graph.get(), Out(fed), &value, outcome), 0);
  EXPECT_TRUE(IsOk(outcome));
  EXPECT_EQ(value, nullptr);
}

// while (x < limit) x = x + x
TEST(CWhile, RunsItsBodyAsLongAsItsConditionHolds) {
  const Owned<TF_Graph> graph(TF_NewGraph());
  Outcome outcome;
  TF_Operation* x = Placeholder(graph.get(), "x");
  TF_Output variable = Out(x);
  TF_WhileParams loop = TF_NewWhile(graph.get(), &variable, 1, outcome);
  ASSERT_TRUE(IsOk(outcome));
  const Owned<TF_Tensor> limit = FloatScalar(100);
  loop.cond_output = Out(Binary(loop.cond_graph, "Less", "less", loop.cond_inputs[0],
                                Out(Constant(loop.cond_graph, "limit", limit.get()))));
  loop.body_outputs[0] =
      Out(Binary(loop.body_graph, "AddV2", "twice", loop.body_inputs[0], loop.body_inputs[0]));
  loop.name = "loop";
  TF_Output last;
  TF_FinishWhile(&loop, outcome, &last);
  ASSERT_TRUE(IsOk(outcome));
  const Owned<TF_Session> session = NewSession(graph.get());
  const Owned<TF_Tensor> three = FloatScalar(3);
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {Out(x)}, {three.get()}, last, outcome).get()),
              ElementsAre(192));
  EXPECT_TRUE(IsOk(outcome));
}

TEST(CWhile, ThatIsNotFilledInIsAnError) {
  const Owned<TF_Graph> graph(TF_NewGraph());
  Outcome outcome;
  TF_Output variable = Out(Placeholder(graph.get(), "x"));
  TF_WhileParams loop = TF_NewWhile(graph.get(), &variable, 1, outcome);
  loop.name = "loop";
  TF_Output last;
  TF_FinishWhile(&loop, outcome, &last);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
  TF_NewWhile(graph.get(), &variable, 0, outcome);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tensorfleet::capi
