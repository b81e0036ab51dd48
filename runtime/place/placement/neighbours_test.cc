// Where what is unplaced goes by default: worker1 is asked in a cluster of two parameter servers
// and two workers.
#include "runtime/place/placement/neighbours.h"

#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using testing_place::Cpu;
using testing_place::Devices;
using testing_place::Gpu;

class NeighboursTest : public testing_place::PlaceTest {
 protected:
  NeighboursTest() {
    options_.devices = Devices({Cpu("ps0"), Cpu("ps1"), Cpu("worker0"), Cpu("worker1")});
    options_.client_device = Cpu("worker1");
    options_.first_job = "ps";
    options_.kernels = &testing_place::Kernels();
  }

  // The places of the nodes after placing the whole graph.
  std::string Placed(const std::string& node) {
    if (graph_->FindNode(node)->assigned_device().empty()) {
      const Status status = Place(options_, graph_.get());
      EXPECT_TRUE(status.ok()) << status;
    }
    return graph_->FindNode(node)->assigned_device();
  }

  PlacementOptions options_;
};

TEST_F(NeighboursTest, StateGoesToTaskZeroOfTheFirstJobWithWhatWorksOnIt) {
  Add("ref", "VariableV2");
  Add("resource", "VarHandleOp");
  Add("queue", "Queue");
  Add("set", "Assign", {"ref", AddConst("one", 1)->name()});
  Add("read", "ReadVariableOp", {"resource"});
  Add("value", "Identity", {"ref"});
  for (const char* node : {"ref", "resource", "queue", "set", "one", "read", "value"}) {
    EXPECT_EQ(Placed(node), Cpu("ps0")) << node;
  }
}

TEST_F(NeighboursTest, WhatTouchesNothingIsDoneByTheTaskThatIsAsked) {
  AddConst("c", 1);
  Add("neg", "Neg", {"c"});
  Add("nothing", "NoOp");
  Add("x", "Placeholder");
  Add("y", "Neg", {"x"});
  for (const char* node : {"c", "neg", "nothing", "y"})
    EXPECT_EQ(Placed(node), Cpu("worker1")) << node;
}

TEST_F(NeighboursTest, ANodeGoesToItsOnlyInputAndSoDoesAChain) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("a", "Neg", {"v"});
  Add("b", "Neg", {"a"});
  Add("c", "Add", {"b", AddConst("one", 1)->name()});
  for (const char* node : {"a", "b", "c", "one"}) EXPECT_EQ(Placed(node), Cpu("ps1")) << node;
}

TEST_F(NeighboursTest, InputsFromSeveralTasksMeetWhereItWasAsked) {
  Add("v", "VariableV2", {}, "/job:ps/task:0");
  Add("w", "VariableV2", {}, "/job:ps/task:1");
  Add("read_v", "Identity", {"v"});
  Add("read_w", "Identity", {"w"});
  Add("sum", "Add", {"read_v", "read_w"});
  Add("neg", "Neg", {"sum"});
  EXPECT_EQ(Placed("v"), Cpu("ps0"));
  EXPECT_EQ(Placed("neg"), Cpu("worker1"));
}

TEST_F(NeighboursTest, AFedValueIsWhereItWasAsked) {
  Add("v", "VariableV2", {}, "/job:ps/task:0");
  Add("read", "Identity", {"v"});
  Add("x", "Placeholder");
  Add("product", "Add", {"x", "read"});
  EXPECT_EQ(Placed("product"), Cpu("worker1"));
  EXPECT_EQ(Placed("read"), Cpu("ps0"));
}

TEST_F(NeighboursTest, WhatComesFromConstantsGoesToItsOnlyUser) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  AddConst("shape", 1);
  Add("initial", "Neg", {"shape"});
  Add("set", "Assign", {"v", "initial"});
  EXPECT_EQ(Placed("initial"), Cpu("ps1"));
  EXPECT_EQ(Placed("shape"), Cpu("ps1"));
}

TEST_F(NeighboursTest, WhatComesFromConstantsForSeveralUsersStaysWhereItWasAsked) {
  Add("v", "VariableV2", {}, "/job:ps/task:0");
  Add("w", "VariableV2", {}, "/job:ps/task:1");
  Add("rate", "Neg", {AddConst("c", 1)->name()});
  Add("set_v", "Assign", {"v", "rate"});
  Add("set_w", "Assign", {"w", "rate"});
  EXPECT_EQ(Placed("rate"), Cpu("worker1"));
}

TEST_F(NeighboursTest, ANoOpGoesToWhatItWaitsFor) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("set", "Assign", {"v", AddConst("one", 1)->name()});
  Add("init", "NoOp", {"^set"});
  EXPECT_EQ(Placed("init"), Cpu("ps1"));
}

TEST_F(NeighboursTest, FilesAreThoseOfTheTaskThatIsAsked) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("read", "Identity", {"v"});
  Add("save", "SaveV2", {"read"});
  EXPECT_EQ(Placed("save"), Cpu("worker1"));
}

TEST_F(NeighboursTest, WhatEndsWithTheStepNeedNotBeShared) {
  Add("array", "TensorArray");
  Add("x", "Placeholder");
  Add("push", "Push", {"array", "x"});
  EXPECT_EQ(Placed("array"), Cpu("worker1"));
}

TEST_F(NeighboursTest, ALoopIsDrawnAsAWhole) {
  Add("v", "VariableV2", {}, "/job:ps/task:0");
  Add("x", "Placeholder");
  Add("enter_v", "Enter", {"v"});
  Add("enter_x", "Enter", {"x"});
  Node* merge = Add("merge", "Merge", {"enter_x"});
  Add("of_v", "Neg", {"enter_v"});
  Add("body", "Add", {"merge", "of_v"});
  Add("next", "NextIteration", {"body"});
  ASSERT_TRUE(graph_->AddEdge(graph_->FindNode("next"), 0, merge, 1).ok());
  Add("exit", "Exit", {"body"});
  // Enter of a reference reads it, so it is where the variable is.
  EXPECT_EQ(Placed("enter_v"), Cpu("ps0"));
  for (const char* node : {"enter_x", "merge", "of_v", "body", "next", "exit"}) {
    EXPECT_EQ(Placed(node), Cpu("worker1")) << node;
  }
}

TEST_F(NeighboursTest, ALoopOverWhatOneTaskHoldsRunsThere) {
  Add("v", "VarHandleOp", {}, "/job:ps/task:1");
  Add("read", "ReadVariableOp", {"v"});
  Add("enter", "Enter", {"read"});
  Node* merge = Add("merge", "Merge", {"enter"});
  Add("body", "Neg", {"merge"});
  Add("next", "NextIteration", {"body"});
  ASSERT_TRUE(graph_->AddEdge(graph_->FindNode("next"), 0, merge, 1).ok());
  Add("after", "Neg", {Add("exit", "Exit", {"body"})->name()});
  for (const char* node : {"enter", "body", "exit", "after"})
    EXPECT_EQ(Placed(node), Cpu("ps1")) << node;
}

TEST_F(NeighboursTest, APartOfADeviceStillCounts) {
  options_.devices =
      Devices({Cpu("ps0"), Gpu("ps0"), Cpu("worker0"), Cpu("worker1"), Gpu("worker1")});
  Add("v", "VariableV2", {}, "/job:ps/device:CPU:0");
  Add("read", "Identity", {"v"});
  Add("a", "Neg", {"read"}, "/device:GPU:0");
  Add("b", "Neg", {"read"}, "/job:worker");
  EXPECT_EQ(Placed("a"), Gpu("ps0"));
  EXPECT_EQ(Placed("b"), Gpu("worker1"));  // of that job, the one that is asked
}

TEST_F(NeighboursTest, APlaceThatWasAskedForIsKeptAndDraws) {
  AddConst("c", 1, "/job:worker/task:0");
  Add("neg", "Neg", {"c"});
  EXPECT_EQ(Placed("neg"), Cpu("worker0"));
}

TEST_F(NeighboursTest, StateIsSharedThoughTheGraphGrows) {
  Add("v", "VariableV2");
  AddConst("c", 1);
  EXPECT_EQ(Placed("c"), Cpu("worker1"));
  Add("set", "Assign", {"v", "c"});
  ForgetStatelessPlacement(graph_.get());
  EXPECT_EQ(Placed("c"), Cpu("ps0"));
  EXPECT_EQ(Placed("v"), Cpu("ps0"));
}

}  // namespace
}  // namespace tensorfleet
