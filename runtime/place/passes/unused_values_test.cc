// Values that nobody uses and something waits for.
#include "runtime/place/passes/unused_values.h"

#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using testing_place::Cpu;
using testing_place::Describe;

class UnusedValuesTest : public testing_place::PlaceTest {
 protected:
  UnusedValuesTest() {
    Add("p", "Placeholder", {}, Cpu("a0"));
    Add("x", "Identity", {"p"}, Cpu("a0"));
  }
  // All nodes are placed where they ask to be.
  std::vector<std::string> LeaveOut(const RewriteContext& context = {}) {
    for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
    EXPECT_EQ(LeaveOutUnusedValues(graph_.get(), context), OkStatus());
    return Describe(*graph_);
  }
};

TEST_F(UnusedValuesTest, WhatWaitedForOneWaitsForItsInputs) {
  Add("gate", "NoOp", {}, Cpu("a0"));
  Add("held", "NoOp", {"^gate"}, Cpu("a0"));
  Add("unused", "Neg", {"x", "^held"}, Cpu("a0"));
  Add("group", "NoOp", {"^unused"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), ElementsAre("gate = NoOp() @ a0", "group = NoOp(^held, ^x) @ a0",
                                      "held = NoOp(^gate) @ a0", "p = Placeholder() @ a0",
                                      "x = Identity(p) @ a0"));
}

TEST_F(UnusedValuesTest, WhatOnlyTheyUsedGoesToo) {
  AddConst("one", 1, Cpu("a0"));
  Add("sum", "Add", {"x", "one"}, Cpu("a0"));
  Add("unused", "Neg", {"sum"}, Cpu("a0"));
  Add("group", "NoOp", {"^unused"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), ElementsAre("group = NoOp(^x) @ a0", "p = Placeholder() @ a0",
                                      "x = Identity(p) @ a0"));
}

TEST_F(UnusedValuesTest, WhatIsUsedOrAskedForStays) {
  Add("used", "Neg", {"x"}, Cpu("a0"));
  Add("use", "Identity", {"used"}, Cpu("a0"));
  Add("target", "Neg", {"x"}, Cpu("a0"));
  Add("group", "NoOp", {"^used"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), IsSupersetOf({"used = Neg(x) @ a0", "target = Neg(x) @ a0",
                                        "group = NoOp(^used) @ a0"}));
}

TEST_F(UnusedValuesTest, WhatDoesMoreThanComputeStays) {
  Add("v", "VariableV2", {}, Cpu("a0"));
  Add("assign", "Assign", {"v", "x"}, Cpu("a0"));
  Add("read", "Neg", {"v"}, Cpu("a0"));
  Add("group", "NoOp", {"^assign", "^read"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), Contains("group = NoOp(^assign, ^read) @ a0"));
}

// A gradient as TensorFlow builds it, its weights on another task.
TEST_F(UnusedValuesTest, NoTaskIsWaitedForThatWasNotBefore) {
  Add("far", "Placeholder", {}, Cpu("a1"));
  Add("w", "Identity", {"far"}, Cpu("a1"));
  Add("y", "Add", {"x", "w"}, Cpu("a0"));
  Add("grad_x", "Add", {"y", "w"}, Cpu("a0"));
  Add("grad_w", "Add", {"x", "y"}, Cpu("a0"));
  Add("group", "NoOp", {"^grad_x", "^grad_w"}, Cpu("a0"));
  Add("use", "Identity", {"grad_w", "^group"}, Cpu("a0"));
  Add("alone", "Neg", {"w"}, Cpu("a0"));
  Add("waits", "NoOp", {"^alone"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), IsSupersetOf({"group = NoOp(^grad_w, ^y) @ a0", "alone = Neg(w) @ a0",
                                        "waits = NoOp(^alone) @ a0"}));
}

TEST_F(UnusedValuesTest, WhatTellsWhichBranchIsDeadStays) {
  Add("flag", "Less", {"x", "x"}, Cpu("a0"));
  Add("switch", "Switch", {"x", "flag"}, Cpu("a0"));
  Add("direct", "Neg", {"switch:1"}, Cpu("a0"));
  Add("inner", "Neg", {"direct"}, Cpu("a0"));
  Add("group", "NoOp", {"^inner"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(),
              IsSupersetOf({"direct = Neg(switch:1) @ a0", "group = NoOp(^direct) @ a0"}));
}

TEST_F(UnusedValuesTest, AMergeIsNoPromiseToWait) {
  Add("flag", "Less", {"x", "x"}, Cpu("a0"));
  Add("switch", "Switch", {"x", "flag"}, Cpu("a0"));
  Add("slow", "Identity", {"switch"}, Cpu("a0"));
  Add("fast", "Identity", {"switch:1"}, Cpu("a0"));
  Add("merge", "Merge", {"slow", "fast"}, Cpu("a0"));
  Add("unused", "Neg", {"slow"}, Cpu("a0"));
  Add("group", "NoOp", {"^unused", "^merge"}, Cpu("a0"));
  EXPECT_THAT(LeaveOut(), Contains("group = NoOp(^merge, ^slow) @ a0"));
}

}  // namespace
}  // namespace tensorfleet
