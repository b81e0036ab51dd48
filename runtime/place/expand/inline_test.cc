// Calls of functions that become the nodes of their bodies.
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_place::kNegate;
using testing_place::RewriteTest;

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
  context_.options.leave_out_unused_values = false;
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

}  // namespace
}  // namespace tensorfleet
