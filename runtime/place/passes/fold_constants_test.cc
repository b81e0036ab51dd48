// What constant folding makes of graphs.
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing_place::Describe;
using testing_place::RewriteTest;

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

TEST_F(FoldConstantsTest, FlushesDenormalsAsTheStepWould) {
  AddConst("denormal", 1e-40f);
  Add("two", "Twice", {"denormal"});
  Add("p", "Placeholder");
  Add("out", "Add", {"two", "p"});
  Rewrite();
  EXPECT_EQ(ValueOf("two"), 0);
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

// A scalar that differs from step to step: its shape does not.
TEST_F(FoldConstantsTest, AKnownShapeIsAConstantThatWaitsForItsTensor) {
  Add("p", "Placeholder");
  Add("r", "Random", {"p"});
  Add("shape", "Shape", {"r"});
  Add("rank", "Rank", {"r"});
  Add("out", "UseInts", {"shape", "rank"});
  EXPECT_THAT(Rewrite(), IsSupersetOf({"out = UseInts(shape, rank) @ a0", "rank = Const(^r) @ a0",
                                       "shape = Const(^r) @ a0"}));
  EXPECT_EQ(GetAttr<Tensor>(graph_->FindNode("shape")->def(), "value")->ToString(), "int32 [0]:");
  EXPECT_EQ(GetAttr<Tensor>(graph_->FindNode("rank")->def(), "value")->ToString(), "int32 []: 0");
}

TEST_F(FoldConstantsTest, WhatIsComputedFromKnownShapesIsConstantToo) {
  Add("p", "Placeholder");
  Add("r", "Random", {"p"});
  Add("rank", "Rank", {"r"});
  Add("next", "PlusOne", {"rank"});
  Add("out", "UseInts", {"next", "next"});
  EXPECT_THAT(Rewrite(),
              AllOf(Contains("next = Const(^r) @ a0"), Not(Contains(HasSubstr("Rank")))));
}

TEST_F(FoldConstantsTest, AShapeThatIsNotKnownIsLeftToTheStep) {
  Add("p", "Placeholder");
  Add("shape", "Shape", {"p"});
  Add("out", "UseInts", {"shape", "shape"});
  EXPECT_THAT(Rewrite(), Contains("shape = Shape(p) @ a0"));
}

// Who waits for a Switch runs whichever way it goes.
TEST_F(FoldConstantsTest, AShapeInABranchIsAsDeadAsTheBranch) {
  Add("p", "Placeholder");
  Add("r", "Random", {"p"});
  Add("flag", "Less", {"p", "p"});
  Add("switch", "Switch", {"r", "flag"});
  Add("direct", "Rank", {"switch:1"});
  Add("inside", "Random", {"switch:1"});
  Add("rank", "Rank", {"inside"});
  Add("out", "UseInts", {"direct", "rank"});
  EXPECT_THAT(Rewrite(),
              IsSupersetOf({"direct = Rank(switch:1) @ a0", "rank = Const(^inside) @ a0"}));
}

}  // namespace
}  // namespace tensorfleet
