#include "runtime/place/rewrite.h"

#include "google/protobuf/text_format.h"
#include "proto/config.pb.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing_place::Cpu;
using testing_place::Describe;
using testing_place::Devices;

class RewriteTest : public testing_place::PlaceTest {
 protected:
  RewriteTest() {
    placement_.devices = Devices({Cpu("a0"), Cpu("a1")});
    placement_.client_device = Cpu("a0");
    placement_.first_job = "a";
    placement_.kernels = &testing_place::Kernels();
    context_.placement = &placement_;
    context_.cpu = cpu_.get();
    context_.cpu_kernels = &testing_place::Kernels();
  }

  // As a session does: the graph is placed as a whole, then a step's copy is rewritten.
  Status TryRewrite() {
    PlacementOptions whole = placement_;
    whole.calls_are_expanded = true;
    TFLEET_RETURN_IF_ERROR(Place(whole, graph_.get()));
    return RewriteGraph(graph_.get(), context_);
  }
  std::vector<std::string> Rewrite() {
    const Status status = TryRewrite();
    EXPECT_TRUE(status.ok()) << status;
    return Describe(*graph_);
  }
  float ValueOf(const std::string& name) {
    const Node* node = graph_->FindNode(name);
    if (node == nullptr || !node->IsConstant()) return -1;
    return GetAttr<Tensor>(node->def(), "value")->scalar<float>();
  }
  // `text` holds FunctionDefs; the graph starts anew.
  void Functions(const std::string& text) {
    tensorflow::FunctionDefLibrary proto;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
    const auto library = FunctionLibrary::FromProto(proto);
    ASSERT_TRUE(library.ok()) << library.status();
    graph_ = std::make_unique<Graph>(&testing_place::Ops(), *library);
  }
  // A node with functions as attributes and float inputs and outputs.
  Node* AddCall(const std::string& name, const std::string& op,
                const std::vector<std::pair<std::string, std::string>>& functions, int num_outputs,
                const std::vector<std::string>& inputs, const std::string& device = "") {
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op(op);
    def.set_device(device);
    for (const auto& [attr, function] : functions) {
      tensorflow::NameAttrList list;
      list.set_name(function);
      if (op == "Case") {
        *(*def.mutable_attr())[attr].mutable_list()->add_func() = list;
      } else {
        SetAttr(&def, attr, list);
      }
    }
    int data = 0;
    for (const std::string& input : inputs) data += input[0] != '^';
    if (op == "If" || op == "Case") --data;
    const std::vector<DType> in(data, DType::kFloat), out(num_outputs, DType::kFloat);
    SetAttr(&def, op == "While" ? "T" : "Tin", absl::MakeConstSpan(in));
    if (op != "While") SetAttr(&def, "Tout", absl::MakeConstSpan(out));
    SetAttr(&def, "_lower_using_switch_merge", true);
    StatusOr<Node*> node = graph_->AddNode(std::move(def));
    EXPECT_TRUE(node.ok()) << node.status();
    int slot = 0;
    for (const std::string& input : inputs) {
      const TensorName from = *ParseTensorName(input);
      Node* src = graph_->FindNode(from.node);
      if (from.index == kControlSlot) {
        graph_->AddControlEdge(src, *node);
      } else {
        EXPECT_TRUE(graph_->AddEdge(src, from.index, *node, slot++).ok());
      }
    }
    return *node;
  }

  ThreadPool pool_{"test", 1};
  std::unique_ptr<Device> cpu_ = MakeCpuDevice("/job:a/replica:0/task:0", &pool_);
  PlacementOptions placement_;
  RewriteContext context_;
};

using FoldConstantsTest = RewriteTest;

TEST_F(FoldConstantsTest, ComputesConstantExpressionsUnderTheirOwnNames) {
  AddConst("c", 1);
  Add("two", "Twice", {"c"});
  Add("four", "Twice", {"two"});
  Add("p", "Placeholder");
  Add("out", "Add", {"four", "p"});
  EXPECT_THAT(Rewrite(), ElementsAre("four = Const() @ a0", "out = Add(four, p) @ a0",
                                     "p = Placeholder() @ a0"));
  EXPECT_EQ(ValueOf("four"), 4);
}

TEST_F(FoldConstantsTest, KeepsWhatAConstantWaitsFor) {
  Add("gate", "NoOp");
  Add("other", "NoOp");
  AddConst("c", 1);
  graph_->AddControlEdge(graph_->FindNode("gate"), graph_->FindNode("c"));
  Add("two", "Twice", {"c", "^other"});
  Add("four", "Twice", {"two"});
  Add("after", "NoOp", {"^two"});
  EXPECT_THAT(Rewrite(), ElementsAre("after = NoOp(^two) @ a0", "four = Const(^gate, ^other) @ a0",
                                     "gate = NoOp() @ a0", "other = NoOp() @ a0",
                                     "two = Const(^gate, ^other) @ a0"));
}

TEST_F(FoldConstantsTest, WaitingForAFoldedNodeIsWaitingForItsControls) {
  Add("gate", "NoOp");
  AddConst("c", 1);
  Add("two", "Twice", {"c", "^gate"});
  AddConst("d", 3);
  graph_->AddControlEdge(graph_->FindNode("two"), graph_->FindNode("d"));
  Add("six", "Twice", {"d"});
  Add("p", "Placeholder");
  Add("out", "Add", {"six", "p"});
  EXPECT_THAT(Rewrite(), Contains("six = Const(^gate) @ a0"));
}

TEST_F(FoldConstantsTest, FoldsEachUsedOutput) {
  AddConst("c", 3);
  Add("both", "Both", {"c"});
  Add("p", "Placeholder");
  Add("x", "Add", {"both", "p"});
  Add("y", "Add", {"both:1", "p"});
  EXPECT_THAT(Rewrite(), IsSupersetOf({"x = Add(both, p) @ a0", "y = Add(both/output_1, p) @ a0"}));
  EXPECT_EQ(ValueOf("both"), 3);
  EXPECT_EQ(ValueOf("both/output_1"), -3);
}

TEST_F(FoldConstantsTest, ATargetStays) {
  AddConst("c", 1);
  Add("target", "Twice", {"c"});
  EXPECT_THAT(Rewrite(), ElementsAre("target = Const() @ a0"));
}

TEST_F(FoldConstantsTest, LeavesStateErrorsAndHugeResultsToTheStep) {
  AddConst("c", 1);
  AddConst("minus", -1);
  Add("random", "Random", {"c"});
  Add("fails", "Twice", {"minus"});
  Add("huge", "Huge", {"c"});
  Add("unknown", "Neg", {"c"});  // has no shape rule
  Add("p", "Placeholder");
  Add("sum", "Add", {"p", "c"});
  const std::vector<std::string> before = [&] {
    EXPECT_TRUE(Place(placement_, graph_.get()).ok());
    return Describe(*graph_);
  }();
  EXPECT_EQ(Rewrite(), before);
}

TEST_F(FoldConstantsTest, StaysOnTheNodesDevice) {
  AddConst("c", 1, "/job:a/task:0");
  Add("two", "Twice", {"c"}, "/job:a/task:1");
  EXPECT_THAT(Rewrite(), ElementsAre("two = Const() @ a1"));
  EXPECT_EQ(graph_->FindNode("two")->requested_device(), "/job:a/task:1");
}

TEST_F(FoldConstantsTest, KeepsToTheLimitOnSizes) {
  context_.options.max_folded_bytes = 2;
  AddConst("c", 1);
  Add("two", "Twice", {"c"});
  EXPECT_THAT(Rewrite(), Contains("two = Twice(c) @ a0"));
}

TEST_F(FoldConstantsTest, CanBeSwitchedOff) {
  context_.options.fold_constants = false;
  AddConst("c", 1);
  Add("two", "Twice", {"c"});
  EXPECT_THAT(Rewrite(), Contains("two = Twice(c) @ a0"));
}

using TidyTest = RewriteTest;

TEST_F(TidyTest, LeavesOutIdentitiesOnOneDevice) {
  Add("p", "Placeholder");
  Add("id", "Identity", {"p"});
  Add("neg", "Neg", {"id"});
  Add("after", "NoOp", {"^id"});
  EXPECT_THAT(Rewrite(),
              ElementsAre("after = NoOp(^p) @ a0", "neg = Neg(p) @ a0", "p = Placeholder() @ a0"));
}

TEST_F(TidyTest, KeepsIdentitiesThatMean) {
  Add("v", "VariableV2");
  Add("read", "Identity", {"v"});  // takes the value of a reference
  Add("moved", "Identity", {"read"}, "/job:a/task:1");
  Add("gate", "NoOp");
  Add("held", "Identity", {"read", "^gate"});
  Add("target", "Identity", {"read"});
  Add("use", "Add", {"moved", "held"});
  EXPECT_THAT(Rewrite(),
              IsSupersetOf({"read = Identity(v) @ a0", "moved = Identity(read) @ a1",
                            "held = Identity(read, ^gate) @ a0", "target = Identity(read) @ a0"}));
}

TEST_F(TidyTest, KeepsThePivotOfABranch) {
  Add("p", "Placeholder");
  Add("flag", "Less", {"p", "p"});
  Add("switch", "Switch", {"p", "flag"});
  Add("pivot", "Identity", {"switch:1"});
  Add("plain", "Identity", {"switch:1"});
  Add("in_branch", "NoOp", {"^pivot"});
  Add("use", "Neg", {"plain"});
  EXPECT_THAT(Rewrite(),
              AllOf(IsSupersetOf({"in_branch = NoOp(^pivot) @ a0", "use = Neg(switch:1) @ a0"}),
                    Not(Contains(HasSubstr("plain")))));
}

TEST_F(TidyTest, ComputesEqualExpressionsOnce) {
  Add("p", "Placeholder");
  AddConst("c1", 1);
  AddConst("c2", 1);
  AddConst("c3", 2);
  Add("x", "Add", {"p", "c1"});
  Add("y", "Add", {"p", "c2"});
  Add("z", "Add", {"p", "c3"});
  Add("s", "Add", {"x", "y"});
  Add("t", "Add", {"s", "z"});
  EXPECT_THAT(Rewrite(),
              ElementsAre("c1 = Const() @ a0", "c3 = Const() @ a0", "p = Placeholder() @ a0",
                          "s = Add(x, x) @ a0", "t = Add(s, z) @ a0", "x = Add(p, c1) @ a0",
                          "z = Add(p, c3) @ a0"));
}

TEST_F(TidyTest, DoesNotMergeWhatDiffers) {
  Add("p", "Placeholder");
  Add("q", "Placeholder");
  Add("r1", "Random", {"p"});
  Add("r2", "Random", {"p"});
  Add("here", "Neg", {"p"});
  Add("there", "Neg", {"p"}, "/job:a/task:1");
  Add("later", "Neg", {"p", "^r1"});
  for (const char* name : {"q", "r1", "r2", "here", "there", "later"}) {
    Add(std::string("use_") + name, "Effect", {name});
  }
  EXPECT_EQ(Rewrite().size(), 13u);
}

constexpr char kNegate[] = R"(
  function {
    signature { name: "Negate" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "x" }
    node_def { name: "unused" op: "Neg" input: "x" }
    ret { key: "y" value: "neg:y:0" } }
)";

using InlineTest = RewriteTest;

TEST_F(InlineTest, ReplacesACallByTheFunctionsBody) {
  Functions(kNegate);
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "Negate"}}, 1, {"p"});
  Add("by_name", "Negate", {"call"});
  Add("out", "Neg", {"by_name"});
  EXPECT_THAT(Rewrite(), ElementsAre("by_name/neg = Neg(call/neg) @ a0", "call/neg = Neg(p) @ a0",
                                     "out = Neg(by_name/neg) @ a0", "p = Placeholder() @ a0"));
}

TEST_F(InlineTest, GivesTheBodyTheCallsDevice) {
  Functions(R"(
    function {
      signature { name: "F" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "here" op: "Neg" input: "x" }
      node_def { name: "there" op: "Neg" input: "here:y:0" device: "/task:0" }
      ret { key: "y" value: "there:y:0" } })");
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "F"}}, 1, {"p"}, "/job:a/task:1/device:CPU:0");
  EXPECT_THAT(Rewrite(), IsEmpty());  // nobody needs the result
  Functions(R"(
    function {
      signature { name: "F" input_arg { name: "x" type: DT_FLOAT } }
      node_def { name: "here" op: "Neg" input: "x" }
      node_def { name: "there" op: "Effect" input: "here:y:0" device: "/task:0" } })");
  Add("p", "Placeholder");
  AddCall("call", "StatefulPartitionedCall", {{"f", "F"}}, 0, {"p"}, "/job:a/task:1/device:CPU:0");
  EXPECT_THAT(Rewrite(),
              ElementsAre("call/here = Neg(p) @ a1", "call/there = Effect(call/here) @ a0",
                          "p = Placeholder() @ a1"));
}

TEST_F(InlineTest, KeepsTheOrderAroundACall) {
  Functions(R"(
    function {
      signature { name: "F" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } control_output: "done" }
      node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node_def { name: "effect" op: "Effect" input: "x" }
      node_def { name: "sum" op: "Add" input: "x" input: "one:output:0" }
      ret { key: "y" value: "sum:z:0" }
      control_ret { key: "done" value: "effect" } })");
  Add("p", "Placeholder");
  Add("first", "NoOp");
  AddCall("call", "StatefulPartitionedCall", {{"f", "F"}}, 1, {"p", "^first"});
  Add("last", "NoOp", {"^call"});
  EXPECT_THAT(
      Rewrite(),
      ElementsAre("call/arg_0 = Identity(p, ^call/start) @ a0",
                  "call/done = NoOp(^call/effect, ^call/start, ^call/sum) @ a0",
                  "call/effect = Effect(call/arg_0) @ a0", "call/one = Const(^call/start) @ a0",
                  "call/start = NoOp(^first) @ a0", "call/sum = Add(call/arg_0, call/one) @ a0",
                  "first = NoOp() @ a0", "last = NoOp(^call/done) @ a0", "p = Placeholder() @ a0"));
}

TEST_F(InlineTest, RenamesLoopsAndClassesOfTheBody) {
  Functions(R"(
    function {
      signature { name: "F" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "enter" op: "Enter" input: "x" attr { key: "frame_name" value { s: "loop" } }
        attr { key: "_class" value { list { s: "loc:@x" s: "loc:@exit" } } } }
      node_def { name: "exit" op: "Exit" input: "enter:y:0" }
      ret { key: "y" value: "exit:y:0" } })");
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "F"}}, 1, {"p"});
  Add("out", "Neg", {"call"});
  Rewrite();
  const Node* enter = graph_->FindNode("call/enter");
  ASSERT_NE(enter, nullptr);
  EXPECT_EQ(*GetAttr<std::string>(enter->def(), "frame_name"), "call/loop");
  EXPECT_THAT(*GetAttr<std::vector<std::string>>(enter->def(), "_class"),
              ElementsAre("loc:@p", "loc:@call/exit"));
}

TEST_F(InlineTest, InlinesCallsInBodiesButNotWithoutEnd) {
  Functions(R"(
    function {
      signature { name: "F" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "neg" op: "Neg" input: "x" }
      node_def { name: "again" op: "G" input: "neg:y:0" }
      ret { key: "y" value: "again:y:0" } }
    function {
      signature { name: "G" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "back" op: "F" input: "x" }
      ret { key: "y" value: "back:y:0" } })");
  Add("p", "Placeholder");
  Add("call", "F", {"p"});
  Add("out", "Neg", {"call"});
  const std::vector<std::string> lines = Rewrite();
  EXPECT_THAT(lines, Contains("call/neg = Neg(p) @ a0"));
  EXPECT_THAT(lines, Contains("call/again/back/call = PartitionedCall(call/neg) @ a0"));
}

TEST_F(InlineTest, LeavesCallsAloneWhenAskedTo) {
  context_.options.inline_functions = false;
  Functions(kNegate);
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "Negate"}}, 1, {"p"});
  Add("out", "Neg", {"call"});
  EXPECT_THAT(Rewrite(), ElementsAre("call = PartitionedCall(p) @ a0", "out = Neg(call) @ a0",
                                     "p = Placeholder() @ a0"));
}

TEST_F(InlineTest, NamesACallOfAnUnknownFunction) {
  Functions(kNegate);
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "Nothing"}}, 1, {"p"});
  Add("out", "Neg", {"call"});
  const Status status = TryRewrite();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("{{node call}}"), HasSubstr("Nothing")));
}

TEST_F(InlineTest, NamesACallWithTheWrongArguments) {
  Functions(kNegate);
  Add("p", "Placeholder");
  AddCall("call", "PartitionedCall", {{"f", "Negate"}}, 1, {"p", "p"});
  Add("out", "Neg", {"call"});
  EXPECT_THAT(std::string(TryRewrite().message()), HasSubstr("takes 1 arguments but is given 2"));
}

TEST_F(InlineTest, StopsBeforeFunctionsFillTheMemory) {
  // Each calls the next one twice: 2^30 bodies if followed to the end.
  std::string text;
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(
        &text, "function { signature { name: 'F", i,
        "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT "
        "} } node_def { name: 'a' op: '",
        i == 29 ? "Neg" : absl::StrCat("F", i + 1), "' input: 'x' } node_def { name: 'b' op: '",
        i == 29 ? "Neg" : absl::StrCat("F", i + 1),
        "' input: 'a:y:0' } ret { key: 'y' value: 'b:y:0' } }");
  }
  Functions(text);
  Add("p", "Placeholder");
  Add("call", "F0", {"p"});
  Add("out", "Neg", {"call"});
  ASSERT_TRUE(TryRewrite().ok());
  EXPECT_LT(graph_->num_nodes(), 200'000);
}

using LowerTest = RewriteTest;

constexpr char kBranches[] = R"(
  function {
    signature { name: "Then" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "x" }
    ret { key: "y" value: "neg:y:0" } }
  function {
    signature { name: "Else" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
    ret { key: "y" value: "one:output:0" } }
)";

TEST_F(LowerTest, AnIfBecomesSwitchesAndMerges) {
  Functions(kBranches);
  Add("p", "Placeholder");
  Add("flag", "Less", {"p", "p"});
  AddCall("if", "If", {{"then_branch", "Then"}, {"else_branch", "Else"}}, 1, {"flag", "p"});
  Add("out", "Neg", {"if"});
  EXPECT_THAT(
      Rewrite(),
      ElementsAre("flag = Less(p, p) @ a0", "if/else/one = Const(^if/pivot_f) @ a0",
                  "if/merge_0 = Merge(if/else/one, if/then/neg) @ a0",
                  "if/pivot_f = Identity(if/switch_pred) @ a0",
                  "if/switch_0 = Switch(p, flag) @ a0", "if/switch_pred = Switch(flag, flag) @ a0",
                  "if/then/neg = Neg(if/switch_0:1) @ a0", "out = Neg(if/merge_0) @ a0",
                  "p = Placeholder() @ a0"));
}

TEST_F(LowerTest, WhatWaitsForAnIfWaitsForTheBranchTaken) {
  Functions(kBranches);
  Add("p", "Placeholder");
  Add("flag", "Less", {"p", "p"});
  Add("first", "NoOp");
  AddCall("if", "If", {{"then_branch", "Then"}, {"else_branch", "Else"}}, 1,
          {"flag", "p", "^first"});
  Add("last", "NoOp", {"^if"});
  EXPECT_THAT(Rewrite(),
              IsSupersetOf({"last = NoOp(^if/done) @ a0",
                            "if/done = Merge(if/else/done, if/then/done) @ a0",
                            "if/then/done = Identity(if/switch_pred:1, ^if/then/neg) @ a0",
                            "if/switch_pred = Switch(flag, flag, ^first) @ a0",
                            "if/switch_0 = Switch(p, flag, ^first) @ a0"}));
}

TEST_F(LowerTest, ACaseIsAChainOfChoices) {
  Functions(kBranches);
  Add("p", "Placeholder");
  Add("index", "Shape", {"p"});
  AddCall("case", "Case", {{"branches", "Then"}, {"branches", "Else"}, {"branches", "Then"}}, 1,
          {"index", "p"});
  Add("out", "Neg", {"case"});
  EXPECT_THAT(Rewrite(),
              IsSupersetOf(
                  {"case/branch_0/chosen = Equal(index, case/branch_0/index) @ a0",
                   "case/branch_0/switch_1 = Switch(index, case/branch_0/chosen) @ a0",
                   "case/branch_1/chosen = Equal(case/branch_0/switch_1, case/branch_1/index) @ a0",
                   "case/branch_1/index = Const(^case/branch_0/pivot_f) @ a0",
                   "case/branch_1/merge_0 = Merge(case/branch_2/neg, case/branch_1/one) @ a0",
                   "case/branch_0/merge_0 = Merge(case/branch_1/merge_0, case/branch_0/neg) @ a0",
                   "out = Neg(case/branch_0/merge_0) @ a0"}));
}

constexpr char kLoop[] = R"(
  function {
    signature { name: "Cond" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "limit" type: DT_FLOAT }
                output_arg { name: "y" type: DT_BOOL } }
    node_def { name: "less" op: "Less" input: "x" input: "limit" }
    ret { key: "y" value: "less:z:0" } }
  function {
    signature { name: "Body" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "limit" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "same" type: DT_FLOAT } }
    node_def { name: "sum" op: "Add" input: "x" input: "half:y:0" }
    node_def { name: "half" op: "Neg" input: "limit" }
    ret { key: "y" value: "sum:z:0" }
    ret { key: "same" value: "limit" } }
)";

TEST_F(LowerTest, AWhileBecomesALoopOfNodes) {
  Functions(kLoop);
  Add("p", "Placeholder");
  Add("q", "Placeholder");
  AddCall("while", "While", {{"cond", "Cond"}, {"body", "Body"}}, 2, {"p", "q"});
  Add("out", "Add", {"while:0", "while:1"});
  EXPECT_THAT(
      Rewrite(),
      ElementsAre("out = Add(while/exit_0, q) @ a0", "p = Placeholder() @ a0",
                  "q = Placeholder() @ a0",
                  // Only the limit goes in: something of this iteration has to hold it back.
                  "while/body/half = Neg(while/enter_1, ^while/body_pivot) @ a0",
                  "while/body/sum = Add(while/switch_0:1, while/body/half) @ a0",
                  "while/body_pivot = Identity(while/switch_0:1) @ a0",
                  "while/cond/less = Less(while/merge_0, while/enter_1) @ a0",
                  "while/enter_0 = Enter(p) @ a0", "while/enter_1 = Enter(q) @ a0",
                  "while/exit_0 = Exit(while/switch_0) @ a0",
                  "while/loop_cond = LoopCond(while/cond/less) @ a0",
                  "while/merge_0 = Merge(while/enter_0, while/next_0) @ a0",
                  "while/next_0 = NextIteration(while/body/sum) @ a0",
                  "while/switch_0 = Switch(while/merge_0, while/loop_cond) @ a0"));
  EXPECT_TRUE(*GetAttr<bool>(graph_->FindNode("while/enter_1")->def(), "is_constant"));
  EXPECT_FALSE(*GetAttr<bool>(graph_->FindNode("while/enter_0")->def(), "is_constant"));
}

// The call takes a loop variable and an invariant; its body has a node for the invariant alone.
constexpr char kLoopWithCall[] = R"(
  function {
    signature { name: "Inner" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "limit" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
    node_def { name: "neg" op: "Neg" input: "x" }
    node_def { name: "effect" op: "Effect" input: "limit" }
    ret { key: "y" value: "neg:y:0" } }
  function {
    signature { name: "Cond" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "limit" type: DT_FLOAT }
                output_arg { name: "y" type: DT_BOOL } }
    node_def { name: "less" op: "Less" input: "x" input: "limit" }
    ret { key: "y" value: "less:z:0" } }
  function {
    signature { name: "Body" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "limit" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "same" type: DT_FLOAT } }
    node_def { name: "call" op: "Inner" input: "x" input: "limit" }
    ret { key: "y" value: "call:y:0" }
    ret { key: "same" value: "limit" } }
)";

TEST_F(LowerTest, ACallInALoopDoesNotRunAfterTheLastIteration) {
  Functions(kLoopWithCall);
  Add("p", "Placeholder");
  Add("q", "Placeholder");
  AddCall("while", "While", {{"cond", "Cond"}, {"body", "Body"}}, 2, {"p", "q"});
  Add("out", "Add", {"while:0", "while:1"});
  // Dead with the loop variable, although the limit is there.
  EXPECT_THAT(
      Rewrite(),
      IsSupersetOf({"while/body/call/effect = Effect(while/body/call/tied_1) @ a0",
                    "while/body/call/tied_1 = Identity(while/enter_1, ^while/body/call/alive) @ a0",
                    "while/body/call/alive = NoOp(^while/body/call/alive_0) @ a0",
                    "while/body/call/alive_0 = Identity(while/switch_0:1) @ a0"}));
}

TEST_F(LowerTest, ALoopStaysAnOpWhereTheClientDoesNotAllowLowering) {
  Functions(kLoop);
  Add("p", "Placeholder");
  Node* node = AddCall("while", "While", {{"cond", "Cond"}, {"body", "Body"}}, 2, {"p", "p"});
  SetAttr(&node->mutable_def(), "_lower_using_switch_merge", false);
  Add("out", "Neg", {"while"});
  EXPECT_THAT(Rewrite(), Contains("while = While(p, p) @ a0"));
}

TEST_F(LowerTest, AnUnusedLoopWithoutSideEffectsGoes) {
  Functions(kLoop);
  Add("p", "Placeholder");
  AddCall("while", "While", {{"cond", "Cond"}, {"body", "Body"}}, 2, {"p", "p"});
  EXPECT_THAT(Rewrite(), IsEmpty());
}

TEST_F(LowerTest, NamesALoopWhoseBodyDoesNotFit) {
  Functions(absl::StrCat(kLoop, kNegate));
  Add("p", "Placeholder");
  AddCall("while", "While", {{"cond", "Cond"}, {"body", "Negate"}}, 2, {"p", "p"});
  Add("out", "Neg", {"while"});
  EXPECT_THAT(std::string(TryRewrite().message()),
              AllOf(HasSubstr("'while'"), HasSubstr("takes 1 and returns 1")));
}

TEST(RewriteOptionsTest, FollowTheClientsConfiguration) {
  tensorflow::GraphOptions options;
  EXPECT_TRUE(RewriteOptionsFrom(options).fold_constants);
  options.mutable_rewrite_options()->set_constant_folding(tensorflow::RewriterConfig::OFF);
  EXPECT_FALSE(RewriteOptionsFrom(options).fold_constants);
  EXPECT_TRUE(RewriteOptionsFrom(options).merge_equal_nodes);
  options.mutable_rewrite_options()->set_disable_meta_optimizer(true);
  EXPECT_FALSE(RewriteOptionsFrom(options).inline_functions);
  EXPECT_FALSE(RewriteOptionsFrom(options).merge_equal_nodes);
  EXPECT_TRUE(RewriteOptionsFrom(options).lower_control_flow);
  options.Clear();
  options.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
  options.mutable_optimizer_options()->set_max_folded_constant_in_bytes(7);
  EXPECT_FALSE(RewriteOptionsFrom(options).remove_identities);
  EXPECT_EQ(RewriteOptionsFrom(options).max_folded_bytes, 7);
}

}  // namespace
}  // namespace tensorfleet
