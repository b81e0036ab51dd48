#include <cstring>

#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CGraph : public ::testing::Test {
 protected:
  const Owned<TF_Graph> graph_{TF_NewGraph()};
  Outcome outcome_;
};

TEST_F(CGraph, TellsWhatItsOperationsAre) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* y = Placeholder(graph_.get(), "y");
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "AddV2", "sum");
  TF_AddInput(description, Out(x));
  TF_AddInput(description, Out(y));
  TF_AddControlInput(description, y);
  TF_SetDevice(description, "/cpu:0");
  TF_ColocateWith(description, x);
  TF_Operation* sum = TF_FinishOperation(description, outcome_);
  ASSERT_TRUE(IsOk(outcome_));

  EXPECT_STREQ(TF_OperationName(sum), "sum");
  EXPECT_STREQ(TF_OperationOpType(sum), "AddV2");
  EXPECT_STREQ(TF_OperationDevice(sum), "/cpu:0");
  EXPECT_EQ(TF_OperationNumInputs(sum), 2);
  EXPECT_EQ(TF_OperationNumOutputs(sum), 1);
  EXPECT_EQ(TF_OperationInputType({sum, 1}), TF_FLOAT);
  EXPECT_EQ(TF_OperationOutputType(Out(sum)), TF_FLOAT);
  EXPECT_EQ(TF_OperationInput({sum, 1}).oper, y);
  TF_Output inputs[2];
  TF_OperationAllInputs(sum, inputs, 2);
  EXPECT_EQ(inputs[0].oper, x);
  EXPECT_EQ(TF_OperationOutputNumConsumers(Out(x)), 1);
  TF_Input consumer;
  EXPECT_EQ(TF_OperationOutputConsumers(Out(x), &consumer, 1), 1);
  EXPECT_EQ(consumer.oper, sum);
  EXPECT_EQ(consumer.index, 0);
  EXPECT_EQ(TF_OperationNumControlInputs(sum), 1);
  TF_Operation* control = nullptr;
  EXPECT_EQ(TF_OperationGetControlInputs(sum, &control, 1), 1);
  EXPECT_EQ(control, y);
  EXPECT_EQ(TF_OperationNumControlOutputs(y), 1);
  EXPECT_EQ(TF_OperationInputListLength(sum, "x", outcome_), 1);
  EXPECT_EQ(TF_OperationOutputListLength(sum, "nothing", outcome_), -1);
  EXPECT_NE(outcome_.code(), TF_OK);

  EXPECT_EQ(TF_GraphOperationByName(graph_.get(), "sum"), sum);
  EXPECT_EQ(TF_GraphOperationByName(graph_.get(), "none"), nullptr);
  size_t place = 0;
  EXPECT_EQ(TF_GraphNextOperation(graph_.get(), &place), x);
  EXPECT_EQ(TF_GraphNextOperation(graph_.get(), &place), y);
  EXPECT_EQ(TF_GraphNextOperation(graph_.get(), &place), sum);
  EXPECT_EQ(TF_GraphNextOperation(graph_.get(), &place), nullptr);

  const TF_AttrMetadata classes = TF_OperationGetAttrMetadata(sum, "_class", outcome_);
  EXPECT_EQ(classes.list_size, 1);
  EXPECT_EQ(classes.total_size, 6);  // "loc:@x"
}

TEST_F(CGraph, TakesListsAsListsAndInfersTheirLength) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  const TF_Output inputs[] = {Out(x), Out(x), Out(x)};
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "AddN", "sum");
  TF_AddInputList(description, inputs, 3);
  TF_Operation* sum = TF_FinishOperation(description, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(TF_OperationInputListLength(sum, "inputs", outcome_), 3);
  int64_t count = 0;
  TF_OperationGetAttrInt(sum, "N", &count, outcome_);
  EXPECT_EQ(count, 3);

  description = TF_NewOperation(graph_.get(), "AddN", "one_by_one");
  TF_AddInput(description, Out(x));
  EXPECT_EQ(TF_FinishOperation(description, outcome_), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CGraph, RefusesOperationsThatDoNotFitTheirOp) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* i = Placeholder(graph_.get(), "i", TF_INT32);
  const auto add = [&](const char* op, const char* name, std::vector<TF_Output> inputs) {
    TF_OperationDescription* description = TF_NewOperation(graph_.get(), op, name);
    for (const TF_Output& input : inputs) TF_AddInput(description, input);
    EXPECT_EQ(TF_FinishOperation(description, outcome_), nullptr);
    return outcome_.code();
  };
  EXPECT_EQ(add("NoSuchOp", "a", {}), TF_INVALID_ARGUMENT);
  EXPECT_EQ(add("AddV2", "b", {Out(x)}), TF_INVALID_ARGUMENT);
  EXPECT_EQ(add("AddV2", "c", {Out(x), Out(i)}), TF_INVALID_ARGUMENT);
  EXPECT_EQ(add("Neg", "x", {Out(x)}), TF_INVALID_ARGUMENT);
  EXPECT_THAT(outcome_.message(), HasSubstr("Duplicate node name in graph: 'x'"));
  EXPECT_EQ(add("Neg", "d", {Out(x, 3)}), TF_INVALID_ARGUMENT);
  EXPECT_EQ(add("Neg", "e", {Out(nullptr)}), TF_INVALID_ARGUMENT);
  // The graph is as it was.
  size_t place = 0;
  int count = 0;
  while (TF_GraphNextOperation(graph_.get(), &place) != nullptr) ++count;
  EXPECT_EQ(count, 2);
}

TEST_F(CGraph, RefusesOperationsOfOtherGraphs) {
  const Owned<TF_Graph> other(TF_NewGraph());
  TF_Operation* theirs = Placeholder(other.get(), "x");
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "Neg", "neg");
  TF_AddInput(description, Out(theirs));
  EXPECT_EQ(TF_FinishOperation(description, outcome_), nullptr);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CGraph, KnowsShapes) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  EXPECT_EQ(TF_GraphGetTensorNumDims(graph_.get(), Out(x), outcome_), -1);
  const int64_t dims[] = {2, -1}, other[] = {3, -1};
  TF_GraphSetTensorShape(graph_.get(), Out(x), dims, 2, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  // What is built of it sees the shape.
  TF_Operation* neg = Unary(graph_.get(), "Neg", "neg", Out(x));
  EXPECT_EQ(TF_GraphGetTensorNumDims(graph_.get(), Out(neg), outcome_), 2);
  int64_t got[2] = {};
  TF_GraphGetTensorShape(graph_.get(), Out(neg), got, 2, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(got, ElementsAre(2, -1));
  TF_GraphGetTensorShape(graph_.get(), Out(neg), got, 1, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_GraphSetTensorShape(graph_.get(), Out(x), other, 2, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CGraph, KeepsEveryKindOfAttribute) {
  // An op takes attributes that its schema does not name; their kinds are their values'.
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "NoOp", "attrs");
  TF_SetAttrString(description, "s", "text", 4);
  const void* texts[] = {"a", "bcd"};
  const size_t lengths[] = {1, 3};
  TF_SetAttrStringList(description, "ls", texts, lengths, 2);
  TF_SetAttrInt(description, "i", -7);
  const int64_t ints[] = {1, 2, 3};
  TF_SetAttrIntList(description, "li", ints, 3);
  TF_SetAttrFloat(description, "f", 1.5f);
  const float floats[] = {0.5f, 2};
  TF_SetAttrFloatList(description, "lf", floats, 2);
  TF_SetAttrBool(description, "b", 1);
  const unsigned char bools[] = {1, 0};
  TF_SetAttrBoolList(description, "lb", bools, 2);
  TF_SetAttrType(description, "t", TF_INT64);
  const TF_DataType types[] = {TF_FLOAT, TF_STRING};
  TF_SetAttrTypeList(description, "lt", types, 2);
  const int64_t dims[] = {4, -1};
  TF_SetAttrShape(description, "shape", dims, 2);
  TF_SetAttrShape(description, "any", nullptr, -1);
  const int64_t* shapes[] = {dims, nullptr};
  const int ranks[] = {2, -1};
  TF_SetAttrShapeList(description, "lshape", shapes, ranks, 2);
  TF_SetAttrFuncName(description, "func", "F", 1);
  const Owned<TF_Tensor> value = FloatVector({1, 2}), other = Int32Vector({3});
  TF_SetAttrTensor(description, "tensor", value.get(), outcome_);
  TF_Tensor* const tensors[] = {value.get(), other.get()};
  TF_SetAttrTensorList(description, "ltensor", tensors, 2, outcome_);
  TF_Operation* op = TF_FinishOperation(description, outcome_);
  ASSERT_TRUE(IsOk(outcome_));

  const auto kind = [&](const char* name) {
    const TF_AttrMetadata data = TF_OperationGetAttrMetadata(op, name, outcome_);
    EXPECT_TRUE(IsOk(outcome_)) << name;
    return data;
  };
  EXPECT_EQ(kind("s").type, TF_ATTR_STRING);
  EXPECT_EQ(kind("s").total_size, 4);
  EXPECT_EQ(kind("ls").list_size, 2);
  EXPECT_EQ(kind("ls").total_size, 4);
  EXPECT_EQ(kind("any").total_size, -1);
  EXPECT_EQ(kind("lshape").total_size, 2);
  EXPECT_EQ(kind("func").type, TF_ATTR_FUNC);
  EXPECT_EQ(kind("ltensor").type, TF_ATTR_TENSOR);
  EXPECT_EQ(kind("i").is_list, 0);

  char text[4];
  TF_OperationGetAttrString(op, "s", text, 4, outcome_);
  EXPECT_EQ(std::string(text, 4), "text");
  void* got_texts[2];
  size_t got_lengths[2];
  char storage[4];
  TF_OperationGetAttrStringList(op, "ls", got_texts, got_lengths, 2, storage, 4, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(std::string(static_cast<char*>(got_texts[1]), got_lengths[1]), "bcd");
  TF_OperationGetAttrStringList(op, "ls", got_texts, got_lengths, 2, storage, 3, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  int64_t got_int = 0, got_ints[3];
  TF_OperationGetAttrInt(op, "i", &got_int, outcome_);
  EXPECT_EQ(got_int, -7);
  TF_OperationGetAttrIntList(op, "li", got_ints, 3, outcome_);
  EXPECT_THAT(got_ints, ElementsAre(1, 2, 3));
  float got_floats[2];
  TF_OperationGetAttrFloatList(op, "lf", got_floats, 2, outcome_);
  EXPECT_THAT(got_floats, ElementsAre(0.5f, 2));
  unsigned char got_bools[2];
  TF_OperationGetAttrBoolList(op, "lb", got_bools, 2, outcome_);
  EXPECT_THAT(got_bools, ElementsAre(1, 0));
  TF_DataType got_types[2];
  TF_OperationGetAttrTypeList(op, "lt", got_types, 2, outcome_);
  EXPECT_THAT(got_types, ElementsAre(TF_FLOAT, TF_STRING));
  int64_t got_dims[2];
  TF_OperationGetAttrShape(op, "shape", got_dims, 2, outcome_);
  EXPECT_THAT(got_dims, ElementsAre(4, -1));
  int64_t* shape_places[2];
  int got_ranks[2];
  TF_OperationGetAttrShapeList(op, "lshape", shape_places, got_ranks, 2, got_dims, 2, outcome_);
  EXPECT_THAT(got_ranks, ElementsAre(2, -1));
  TF_Tensor* got_tensor = nullptr;
  TF_OperationGetAttrTensor(op, "tensor", &got_tensor, outcome_);
  EXPECT_THAT(FloatsOf(Owned<TF_Tensor>(got_tensor).get()), ElementsAre(1, 2));
  const Owned<TF_Buffer> proto(TF_NewBuffer());
  TF_OperationGetAttrValueProto(op, "i", proto.get(), outcome_);
  EXPECT_TRUE(IsOk(outcome_));

  TF_OperationGetAttrInt(op, "f", &got_int, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_OperationGetAttrInt(op, "none", &got_int, outcome_);
  EXPECT_THAT(outcome_.message(), HasSubstr("has no attr named 'none'"));
  ASSERT_EQ(TF_OperationGetNumAttrs(op), 16);
  std::string name(TF_OperationGetAttrNameLength(op, 0), '\0');
  TF_OperationGetAttrName(op, 0, name.data(), outcome_);
  EXPECT_EQ(name, "any");
}

TEST_F(CGraph, TellsSessionsThatSomethingWasChanged) {
  const Owned<TF_Tensor> one = FloatVector({1});
  TF_Operation* constant = Constant(graph_.get(), "one", one.get());
  const Owned<TF_Session> session = NewSession(graph_.get());
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {}, {}, Out(constant), outcome_).get()),
              ElementsAre(1));
  TF_SetRequestedDevice(graph_.get(), constant, "/cpu:0");
  EXPECT_STREQ(TF_OperationDevice(constant), "/cpu:0");
  RunOne(session.get(), {}, {}, Out(constant), outcome_);
  EXPECT_EQ(outcome_.code(), TF_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.message(), HasSubstr("Operation 'one' was changed by setting device"));
}

TEST_F(CGraph, AddsGradients) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* square = Unary(graph_.get(), "Square", "square", Out(x));
  TF_Output ys[] = {Out(square)}, xs[] = {Out(x)}, dys[1];
  TF_AddGradients(graph_.get(), ys, 1, xs, 1, nullptr, outcome_, dys);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(TF_OperationName(dys[0].oper), ::testing::StartsWith("gradients/"));
  const Owned<TF_Session> session = NewSession(graph_.get());
  const Owned<TF_Tensor> three = FloatVector({3});
  EXPECT_THAT(FloatsOf(RunOne(session.get(), {Out(x)}, {three.get()}, dys[0], outcome_).get()),
              ElementsAre(6));
  TF_AddGradientsWithPrefix(graph_.get(), "again", ys, 1, xs, 1, nullptr, outcome_, dys);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_THAT(TF_OperationName(dys[0].oper), ::testing::StartsWith("again/"));
  TF_AddGradientsWithPrefix(graph_.get(), "again", ys, 1, xs, 1, nullptr, outcome_, dys);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

TEST_F(CGraph, HasNoGradientWhereNothingDependsOnTheInput) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* other = Placeholder(graph_.get(), "other");
  TF_Operation* count = Placeholder(graph_.get(), "count", TF_INT64);
  TF_Output ys[] = {Out(other), Out(count)}, xs[] = {Out(x)}, dys[1];
  TF_AddGradients(graph_.get(), ys, 2, xs, 1, nullptr, outcome_, dys);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(dys[0].oper, nullptr);
}

TEST_F(CGraph, HasNoGradientOfIntegersThatDependOnTheInput) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_OperationDescription* description = TF_NewOperation(graph_.get(), "Cast", "int");
  TF_AddInput(description, Out(x));
  TF_SetAttrType(description, "DstT", TF_INT64);
  TF_Operation* cast = TF_FinishOperation(description, outcome_);
  TF_Output ys[] = {Out(cast)}, xs[] = {Out(x)}, dys[1];
  TF_AddGradients(graph_.get(), ys, 1, xs, 1, nullptr, outcome_, dys);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  ys[0] = Out(Unary(graph_.get(), "StopGradient", "stopped", Out(cast)));
  TF_AddGradients(graph_.get(), ys, 1, xs, 1, nullptr, outcome_, dys);
  EXPECT_TRUE(IsOk(outcome_));
  EXPECT_EQ(dys[0].oper, nullptr);
}

TEST_F(CGraph, IsAsItWasAfterAGradientThatIsMissing) {
  TF_Operation* x = Placeholder(graph_.get(), "x");
  TF_Operation* y = Unary(graph_.get(), "PreventGradient", "y", Out(x));
  TF_Output ys[] = {Out(y)}, xs[] = {Out(x)}, dys[1];
  TF_AddGradients(graph_.get(), ys, 1, xs, 1, nullptr, outcome_, dys);
  ASSERT_NE(outcome_.code(), TF_OK);
  size_t place = 0;
  int count = 0;
  while (TF_GraphNextOperation(graph_.get(), &place) != nullptr) ++count;
  EXPECT_EQ(count, 2);
  Unary(graph_.get(), "Neg", "neg", Out(x));  // expects that it can be added
}

TEST(CGraphNull, IsAnError) {
  Outcome outcome;
  EXPECT_EQ(TF_NewSession(nullptr, nullptr, outcome), nullptr);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
  EXPECT_EQ(TF_FinishOperation(nullptr, outcome), nullptr);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
  TF_AddInput(nullptr, {nullptr, 0});
  EXPECT_EQ(TF_NewOperation(nullptr, "NoOp", "x"), nullptr);
  EXPECT_EQ(TF_GraphOperationByName(nullptr, "x"), nullptr);
  EXPECT_EQ(TF_OperationNumInputs(nullptr), 0);
  TF_DeleteGraph(nullptr);
}

TEST(CRegistry, ListsOpsAndKernels) {
  Outcome outcome;
  const Owned<TF_Buffer> ops(TF_GetAllOpList());
  ASSERT_NE(ops, nullptr);
  EXPECT_THAT(TextOf(ops.get()), HasSubstr("MatMul"));
  const Owned<TF_Buffer> kernels(TF_GetRegisteredKernelsForOp("MatMul", outcome));
  ASSERT_TRUE(IsOk(outcome));
  EXPECT_THAT(TextOf(kernels.get()), HasSubstr("CPU"));
  const Owned<TF_Buffer> none(TF_GetRegisteredKernelsForOp("NoSuchOp", outcome));
  ASSERT_TRUE(IsOk(outcome));
  EXPECT_EQ(none->length, 0u);
}

}  // namespace
}  // namespace tensorfleet::capi
