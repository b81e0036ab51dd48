#include "runtime/execute/function_runtime.h"

#include <google/protobuf/text_format.h>

#include "runtime/execute/testing/step_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::NameAttrList Named(const std::string& name) {
  tensorflow::NameAttrList list;
  list.set_name(name);
  return list;
}

// A function over int64s; `nodes` in NodeDef text, `ret` the endpoint of its one result `y`.
std::string Function(const std::string& name, int num_args, const std::string& nodes,
                     const std::string& ret, const char* result_type = "DT_INT64") {
  std::string text = "signature { name: '" + name + "' ";
  for (int i = 0; i < num_args; ++i) {
    text += "input_arg { name: 'a" + std::to_string(i) + "' type: DT_INT64 } ";
  }
  text += std::string("output_arg { name: 'y' type: ") + result_type + " } } " + nodes;
  return text + " ret { key: 'y' value: '" + ret + "' }";
}
std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::string& attrs = "") {
  std::string text = "node_def { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& input : inputs) text += "input: '" + input + "' ";
  return text + attrs + " } ";
}
std::string IntAttr(const std::string& name, int64_t value) {
  return "attr { key: '" + name + "' value { i: " + std::to_string(value) + " } } ";
}
std::string FuncAttr(const std::string& name, const std::string& function) {
  return "attr { key: '" + name + "' value { func { name: '" + function + "' } } } ";
}
std::string TypesAttr(const std::string& name, int n, const char* type = "DT_INT64") {
  std::string text = "attr { key: '" + name + "' value { list { ";
  for (int i = 0; i < n; ++i) text += std::string("type: ") + type + " ";
  return text + "} } } ";
}

class FunctionRuntimeTest : public StepFixture {
 protected:
  FunctionRuntimeTest() {
    AddFunction(Function("Twice", 1, Node("s", "Add", {"a0", "a0"}), "s:z:0"));
    AddFunction(Function("Minus", 1, Node("n", "Neg", {"a0"}), "n:y:0"));
    AddFunction(Function("SlowTwice", 1,
                         Node("w", "Later", {"a0"}) + Node("s", "Add", {"w:y:0", "a0"}), "s:z:0"));
    AddFunction(Function("Breaks", 1,
                         Node("f", "Fail", {"a0"}, "attr { key: 'message' value { s: 'no' } }"),
                         "f:y:0"));
    AddFunction(
        Function("Below100", 1,
                 Node("l", "Value", {}, IntAttr("v", 100)) + Node("less", "Less", {"a0", "l:y:0"}),
                 "less:z:0", "DT_BOOL"));
    AddFunction(Function("Always", 1,
                         Node("z", "Value", {}, IntAttr("v", 0)) +
                             Node("o", "Value", {}, IntAttr("v", 1)) +
                             Node("less", "Less", {"z:y:0", "o:y:0"}),
                         "less:z:0", "DT_BOOL"));
    AddFunction(Function(
        "Inc", 1, Node("o", "Value", {}, IntAttr("v", 1)) + Node("s", "Add", {"a0", "o:y:0"}),
        "s:z:0"));
    AddFunction(Function("SlowInc", 1,
                         Node("o", "Value", {}, IntAttr("v", 1)) + Node("w", "Later", {"a0"}) +
                             Node("s", "Add", {"w:y:0", "o:y:0"}),
                         "s:z:0"));
    AddFunction(
        Function("ForEver", 1,
                 Node("c", "PartitionedCall", {"a0"},
                      FuncAttr("f", "ForEver") + TypesAttr("Tin", 1) + TypesAttr("Tout", 1)),
                 "c:output:0"));
    // down(x) = x > 0 ? down(x - 1) : x, one call inside the other.
    AddFunction(Function("Same", 1, Node("i", "Identity", {"a0"}), "i:y:0"));
    AddFunction(Function("CountedSame", 1, Node("c", "Count", {"a0"}), "c:y:0"));
    AddFunction(
        Function("Down", 1,
                 Node("m1", "Value", {}, IntAttr("v", -1)) + Node("d", "Add", {"a0", "m1:y:0"}) +
                     Node("p", "Positive", {"a0"}) +
                     Node("r", "If", {"p:z:0", "d:z:0"},
                          FuncAttr("then_branch", "Down") + FuncAttr("else_branch", "Same") +
                              TypesAttr("Tin", 1) + TypesAttr("Tout", 1) +
                              "attr { key: 'Tcond' value { type: DT_BOOL } }"),
                 "r:output:0"));
    // Has a node that nothing needs, and a stateful one that nothing needs.
    AddFunction(
        Function("Unused", 1, Node("u", "Count", {"a0"}) + Node("n", "Neg", {"a0"}), "n:y:0"));
  }

  static GraphText::NodeRef Call(GraphText* g, const std::string& function,
                                 const std::string& input) {
    return g->Add("call", "PartitionedCall", {input})
        .Attr("f", Named(function))
        .Attr("Tin", absl::Span<const DType>({DType::kInt64}))
        .Attr("Tout", absl::Span<const DType>({DType::kInt64}));
  }
  static void While(GraphText* g, const std::string& cond, const std::string& body,
                    const std::string& input) {
    g->Add("while", "While", {input})
        .Attr("cond", Named(cond))
        .Attr("body", Named(body))
        .Attr("T", absl::Span<const DType>({DType::kInt64}));
  }
};

TEST_F(FunctionRuntimeTest, CallsAFunction) {
  for (const char* function : {"Twice", "SlowTwice"}) {
    GraphText g;
    g.Arg(0);
    Call(&g, function, "arg0");
    g.Return(0, "call");
    auto executor = *Compile(g);
    for (int i = 0; i < 30; ++i) EXPECT_THAT(*Run(*executor, {i}, 1), ElementsAre(2 * i));
  }
}

TEST_F(FunctionRuntimeTest, CallsAFunctionByItsName) {
  (void)Compile(GraphText());  // makes the library
  auto graph = std::make_unique<Graph>(&TestOps(), library_);
  GraphText g;
  g.Arg(0);
  g.Add("named", "Minus", {"arg0"});
  g.Return(0, "named");
  EXPECT_THAT(*Run(g, 1, {4}), ElementsAre(-4));
}

TEST_F(FunctionRuntimeTest, AnErrorInAFunctionNamesItsNode) {
  GraphText g;
  g.Arg(0);
  Call(&g, "Breaks", "arg0");
  g.Return(0, "call");
  const Status status = Run(g, 1, {1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "no\n\t [[{{node f}}]]");
}

TEST_F(FunctionRuntimeTest, RefusesAnUnknownFunctionWhenTheGraphIsCompiled) {
  GraphText g;
  g.Arg(0);
  Call(&g, "Nowhere", "arg0");
  const Status status = Compile(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Nowhere"));
}

TEST_F(FunctionRuntimeTest, DoesNotRunWhatNothingNeeds) {
  GraphText g;
  g.Arg(0);
  Call(&g, "Unused", "arg0");
  g.Return(0, "call");
  EXPECT_THAT(*Run(g, 1, {4}), ElementsAre(-4));
  EXPECT_EQ(runs(), 0);
}

TEST_F(FunctionRuntimeTest, IfCallsOneBranch) {
  GraphText g;
  g.Arg(0);
  g.Arg(1);
  g.Add("if", "If", {"arg0", "arg1"})
      .Attr("Tcond", DType::kInt64)
      .Attr("Tin", absl::Span<const DType>({DType::kInt64}))
      .Attr("Tout", absl::Span<const DType>({DType::kInt64}))
      .Attr("then_branch", Named("Twice"))
      .Attr("else_branch", Named("Minus"));
  g.Return(0, "if");
  auto executor = *Compile(g);
  EXPECT_THAT(*Run(*executor, {7, 5}, 1), ElementsAre(10));
  EXPECT_THAT(*Run(*executor, {0, 5}, 1), ElementsAre(-5));
}

TEST_F(FunctionRuntimeTest, CaseTakesTheLastBranchForIndicesOutOfRange) {
  for (const int64_t index : {0, 1, 2, -1, 99}) {
    auto graph = GraphText();
    graph.Arg(0);
    graph.Arg(1);
    graph.Add("pos", "Positive", {"arg1"});
    // An int32 for the index: value_index of a Merge.
    graph.Add("s", "Switch", {"arg1", "pos"});
    graph.Add("m", "Merge", {"s:0", "s:1"});
    tensorflow::AttrValue branches;
    for (const char* name : {"Twice", "Minus"}) branches.mutable_list()->add_func()->set_name(name);
    graph.Add("case", "Case", {"m:1", "arg0"})
        .Attr("Tin", absl::Span<const DType>({DType::kInt64}))
        .Attr("Tout", absl::Span<const DType>({DType::kInt64}));
    auto def = graph.def();
    (*const_cast<tensorflow::GraphDef&>(graph.def())
          .mutable_node(def.node_size() - 1)
          ->mutable_attr())["branches"] = branches;
    graph.Return(0, "case");
    // Merge's index is 0 for values that are not positive, 1 for others.
    EXPECT_THAT(*Run(graph, 1, {5, index}), ElementsAre(index > 0 ? -5 : 10));
  }
}

TEST_F(FunctionRuntimeTest, WhileRunsUntilItsConditionFails) {
  for (const char* body : {"Inc", "SlowInc"}) {
    GraphText g;
    g.Arg(0);
    While(&g, "Below100", body, "arg0");
    g.Return(0, "while");
    auto executor = *Compile(g);
    EXPECT_THAT(*Run(*executor, {0}, 1), ElementsAre(100));
    EXPECT_THAT(*Run(*executor, {500}, 1), ElementsAre(500));
  }
}

TEST_F(FunctionRuntimeTest, WhileDoesNotGrowTheStack) {
  GraphText g;
  g.Arg(0);
  While(&g, "Below100", "Inc", "arg0");
  g.Return(0, "while");
  EXPECT_THAT(*Run(g, 1, {-200'000}), ElementsAre(100));
}

TEST_F(FunctionRuntimeTest, AnEndlessWhileStopsWhenTheStepIsCancelled) {
  GraphText g;
  g.Arg(0);
  While(&g, "Always", "CountedSame", "arg0");
  g.Return(0, "while");
  auto executor = *Compile(g);
  on_count() = [this](int64_t rounds) {
    if (rounds == 100) cancellation_->StartCancel(Cancelled("enough"));
  };
  EXPECT_EQ(Run(*executor, {0}, 1).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FunctionRuntimeTest, RefusesAConditionOfTheWrongKind) {
  GraphText g;
  g.Arg(0);
  g.Add("c", "PartitionedCall", {"arg0"})
      .Attr("f", Named("Twice"))
      .Attr("Tin", absl::Span<const DType>({DType::kInt64, DType::kInt64}))
      .Attr("Tout", absl::Span<const DType>({DType::kInt64}));
  EXPECT_FALSE(Compile(g).ok());
}

TEST_F(FunctionRuntimeTest, RecursionEndsWithAnErrorWhenItIsTooDeep) {
  GraphText g;
  g.Arg(0);
  Call(&g, "ForEver", "arg0");
  g.Return(0, "call");
  const Status status = Run(g, 1, {1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nested more than"));
}

TEST_F(FunctionRuntimeTest, RecursionThatEndsWorks) {
  GraphText g;
  g.Arg(0);
  Call(&g, "Down", "arg0");
  g.Return(0, "call");
  EXPECT_THAT(*Run(g, 1, {400}), ElementsAre(-1));
}

TEST_F(FunctionRuntimeTest, RefusesRemoteCall) {
  GraphText g;
  g.Arg(0);
  g.Add("target", "Value").Attr("v", 1);
  (void)Compile(g);
  tensorflow::NodeDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'r' op: 'RemoteCall' attr { key: 'Tin' value { list { type: DT_INT64 } } } "
      "attr { key: 'Tout' value { list { type: DT_INT64 } } } "
      "attr { key: 'f' value { func { name: 'Twice' } } }",
      &def));
  Graph graph(&TestOps(), library_);
  const ::tensorfleet::Node* node = *graph.AddNode(def);
  KernelInit init(*node, device_.get(), resources_.get(), runtime_.get());
  const Status status = TestKernels().Make(init, kCpu).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("RemoteCall"));
}

TEST_F(FunctionRuntimeTest, CallsRunConcurrently) {
  GraphText g;
  g.Arg(0);
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "while" + std::to_string(i);
    g.Add(name, "While", {"arg0"})
        .Attr("cond", Named("Below100"))
        .Attr("body", Named(i % 2 == 0 ? "Inc" : "SlowInc"))
        .Attr("T", absl::Span<const DType>({DType::kInt64}));
    all.push_back(name);
  }
  g.Add("sum", "Sum", all);
  g.Return(0, "sum");
  auto executor = *Compile(g);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(*Run(*executor, {50}, 1), ElementsAre(800));
}

}  // namespace
}  // namespace tensorfleet
