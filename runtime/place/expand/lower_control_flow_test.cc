// If, Case and While as Switch and Merge nodes.
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing_place::kNegate;
using testing_place::RewriteTest;

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
  context_.options.leave_out_unused_values = false;
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
                  {"case/branch_0/index = Const(^index) @ a0",  // in the index's frame
                   "case/branch_0/chosen = Equal(index, case/branch_0/index) @ a0",
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

}  // namespace
}  // namespace tensorfleet
