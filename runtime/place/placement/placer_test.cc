// Each test has three phases: build a graph, place it, look where nodes went. No runtime is
// involved.
#include "runtime/place/placement/placer.h"

#include <chrono>

#include "runtime/graph/attr.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_place::Cpu;
using testing_place::Devices;
using testing_place::Gpu;

class PlacerTest : public testing_place::PlaceTest {
 protected:
  PlacerTest() {
    options_.devices = Devices({Cpu("ps0"), Cpu("ps1"), Cpu("worker0"), Cpu("worker1")});
    options_.client_device = Cpu("worker1");
    options_.first_job = "ps";
    options_.default_placement = DefaultPlacement::kFirstJobTaskZero;
    options_.kernels = &testing_place::Kernels();
  }

  void PlaceAll() {
    const Status status = Place(options_, graph_.get());
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string Error() { return std::string(Place(options_, graph_.get()).message()); }
  std::string DeviceOf(const std::string& node) const {
    return graph_->FindNode(node)->assigned_device();
  }

  PlacementOptions options_;
};

TEST_F(PlacerTest, UnplacedNodesGoToTaskZeroOfTheFirstJob) {
  Add("v", "VariableV2");
  PlaceAll();
  EXPECT_EQ(DeviceOf("v"), Cpu("ps0"));
}

TEST_F(PlacerTest, UnplacedNodesGoToTheMastersTaskWhenAsked) {
  options_.default_placement = DefaultPlacement::kMasterTask;
  Add("v", "VariableV2");
  PlaceAll();
  EXPECT_EQ(DeviceOf("v"), Cpu("worker1"));
}

TEST_F(PlacerTest, UnplacedNodesGoToTheClientsTaskWhenTaskZeroIsFilteredOut) {
  options_.devices = Devices({Cpu("worker0"), Cpu("worker1")});
  Add("v", "VariableV2");
  PlaceAll();
  EXPECT_EQ(DeviceOf("v"), Cpu("worker1"));
}

TEST_F(PlacerTest, ExplicitDevicesAreKept) {
  Add("a", "VariableV2", {}, "/job:ps/replica:0/task:1/device:CPU:0");
  Add("b", "VariableV2", {}, "/job:worker/task:0");
  Add("c", "VariableV2", {}, "/job:worker/task:1/cpu:0");
  Add("d", "VariableV2", {}, "/job:ps/task:1/device:CPU:*");
  PlaceAll();
  EXPECT_EQ(DeviceOf("a"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("b"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("c"), Cpu("worker1"));
  EXPECT_EQ(DeviceOf("d"), Cpu("ps1"));
}

TEST_F(PlacerTest, APartialDeviceIsTheSameForEverySession) {
  Add("a", "VariableV2", {}, "/job:worker");
  Add("b", "VariableV2", {}, "/device:CPU:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("a"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("b"), Cpu("ps0"));
}

TEST_F(PlacerTest, TheDefaultTasksGpuComesBeforeItsCpu) {
  options_.devices = Devices({Cpu("ps0"), Gpu("ps0"), Cpu("worker1"), Gpu("worker1")});
  Add("v", "VariableV2");
  Add("only_cpu", "CpuOnly", {"v"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("v"), Gpu("ps0"));
  EXPECT_EQ(DeviceOf("only_cpu"), Cpu("ps0"));
}

TEST_F(PlacerTest, AClassKeepsNodesTogether) {
  AddConst("a", 1, "/job:worker/task:0");
  Colocate(Add("b", "Neg", {"a"}), "a");
  Colocate(AddConst("c", 1), "b");
  AddConst("lone", 1);
  Colocate(AddConst("d", 1), "somebody");
  Colocate(AddConst("e", 1, "/job:worker/task:1"), "somebody");
  PlaceAll();
  EXPECT_EQ(DeviceOf("b"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("c"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("lone"), Cpu("ps0"));
  EXPECT_EQ(DeviceOf("d"), Cpu("worker1"));
}

TEST_F(PlacerTest, AClassMayBeCyclic) {
  Colocate(AddConst("a", 1), "b");
  Colocate(AddConst("b", 1), "c");
  Colocate(AddConst("c", 1, "/job:worker/task:0"), "a");
  Colocate(AddConst("self", 1), "self");
  PlaceAll();
  EXPECT_EQ(DeviceOf("a"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("b"), Cpu("worker0"));
}

TEST_F(PlacerTest, ContradictionsInAClassNameBothNodes) {
  AddConst("a", 1, "/job:worker/task:0");
  Colocate(AddConst("b", 1, "/job:ps/task:1"), "a");
  EXPECT_THAT(Error(), AllOf(HasSubstr("{{colocation_node a}}"), HasSubstr("{{colocation_node b}}"),
                             HasSubstr("/job:worker/task:0"), HasSubstr("/job:ps/task:1")));
}

TEST_F(PlacerTest, UsersOfAReferenceGoToTheVariable) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  AddConst("one", 1);
  Add("set", "Assign", {"v", "one"});
  Add("again", "Assign", {"set", "one"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("set"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("again"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("one"), Cpu("ps1"));  // a constant goes where it is used
}

TEST_F(PlacerTest, AnUnplacedReaderOfAReferenceGoesToTheVariable) {
  Add("first", "Neg", {AddConst("x", 1)->name()});
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("read", "Identity", {"v", "^first"});
  Add("anywhere", "Identity", {"v"}, "/device:CPU:0");
  Add("user", "Neg", {"read"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("read"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("anywhere"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("user"), Cpu("ps0"));  // takes the value
}

TEST_F(PlacerTest, AReaderIsPlacedAfterAVariableThatStandsBehindIt) {
  Add("early", "Identity", {});
  Node* early = graph_->FindNode("early");
  Node* v = Add("v", "VariableV2", {}, "/job:worker");  // a choice of two
  ASSERT_TRUE(graph_->AddEdge(v, 0, early, 0).ok());
  PlaceAll();
  EXPECT_EQ(DeviceOf("early"), Cpu("worker0"));
}

TEST_F(PlacerTest, APlacedReaderOfAReferenceStays) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("read", "Identity", {"v"}, "/job:worker/task:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("read"), Cpu("worker0"));
}

TEST_F(PlacerTest, AVariableDoesNotFollowTheOneItIsSetFrom) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("w", "VariableV2");
  Add("copy", "Assign", {"w", "v"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("w"), Cpu("ps0"));
  EXPECT_EQ(DeviceOf("copy"), Cpu("ps0"));
}

TEST_F(PlacerTest, AReaderWithoutAKernelForTheVariablesDeviceGoesToItsTask) {
  options_.devices = Devices({Cpu("ps0"), Cpu("ps1"), Gpu("ps1"), Cpu("worker1")});
  Add("v", "VariableV2", {}, "/job:ps/task:1/device:GPU:0");
  Add("read", "CpuOnly", {"v"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("read"), Cpu("ps1"));
}

TEST_F(PlacerTest, UsersOfAResourceGoToIt) {
  Add("v", "VarHandleOp", {}, "/job:ps/task:1");
  AddConst("one", 1);
  Add("set", "AssignVariableOp", {"v", "one"});
  Add("read", "ReadVariableOp", {"v"});
  Add("neg", "Neg", {"read"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("set"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("read"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("neg"), Cpu("ps0"));
}

TEST_F(PlacerTest, AVariablesDeviceCountsMoreThanItsUsers) {
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  AddConst("one", 1);
  Add("set", "Assign", {"v", "one"}, "/job:worker/task:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("set"), Cpu("ps1"));
}

TEST_F(PlacerTest, AUsersDeviceDrawsAVariableThatAskedForNone) {
  Add("v", "VariableV2");
  AddConst("one", 1);
  Add("set", "Assign", {"v", "one"}, "/job:worker/task:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("v"), Cpu("worker0"));
}

TEST_F(PlacerTest, TwoResourcesOnTwoDevicesCannotMeet) {
  Add("v", "VarHandleOp", {}, "/job:ps/task:0");
  Add("w", "VarHandleOp", {}, "/job:ps/task:1");
  Add("use", "UseTwo", {"v", "w"});
  EXPECT_THAT(Error(), AllOf(HasSubstr("v}}"), HasSubstr("w}}"), HasSubstr("use}}")));
}

TEST_F(PlacerTest, AShapeGoesToItsInput) {
  Add("p", "Placeholder", {}, "/job:worker/task:1");
  Add("shape", "Shape", {"p"});
  PlaceAll();
  EXPECT_EQ(DeviceOf("shape"), Cpu("worker1"));
}

TEST_F(PlacerTest, ASourceStaysAtTheDefaultWhenItsUsersAreApart) {
  AddConst("c", 1);
  Add("a", "Neg", {"c"}, "/job:worker/task:0");
  Add("b", "Neg", {"c"}, "/job:worker/task:1");
  PlaceAll();
  EXPECT_EQ(DeviceOf("c"), Cpu("ps0"));
}

TEST_F(PlacerTest, ASourceDoesNotFollowAgainstItsOwnDevice) {
  AddConst("c", 1, "/job:ps/task:1");
  Add("a", "Neg", {"c"}, "/job:worker/task:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("c"), Cpu("ps1"));
}

TEST_F(PlacerTest, ALoopsBackEdgeStaysOnOneDevice) {
  AddConst("x", 1);
  Add("enter", "Enter", {"x"}, "/job:ps/task:0");
  Node* merge = Add("merge", "Merge", {"enter"}, "/job:ps/task:0");
  Add("next", "NextIteration", {"merge"}, "/job:worker/task:1");
  ASSERT_TRUE(graph_->AddEdge(graph_->FindNode("next"), 0, merge, 1).ok());
  PlaceAll();
  EXPECT_EQ(DeviceOf("next"), Cpu("ps0"));
}

TEST_F(PlacerTest, NamesTheAvailableDevicesWhenOneIsNotThere) {
  Add("N", "VariableV2", {}, "/job:ps/task:7/device:CPU:0");
  options_.devices = Devices({Cpu("worker1"), Cpu("ps0")});
  EXPECT_EQ(Error(),
            "Cannot assign a device for operation N: {{node N}} was explicitly assigned to "
            "/job:ps/task:7/device:CPU:0 but available devices are [ "
            "/job:ps/replica:0/task:0/device:CPU:0, /job:worker/replica:0/task:1/device:CPU:0 ]. "
            "Make sure the device specification refers to a valid device.");
  EXPECT_EQ(DeviceOf("N"), "");
}

TEST_F(PlacerTest, NamesADeviceThatCannotBeRead) {
  Add("N", "VariableV2", {}, "/job:ps/task:x");
  EXPECT_THAT(Error(), AllOf(HasSubstr("N"), HasSubstr("/job:ps/task:x")));
}

TEST_F(PlacerTest, SaysThatADeviceHasNoKernel) {
  options_.devices = Devices({Cpu("ps0"), Gpu("ps0"), Cpu("worker1")});
  AddConst("c", 1);
  Add("N", "CpuOnly", {"c"}, "/device:GPU:0");
  EXPECT_THAT(Error(), AllOf(HasSubstr("Cannot assign a device for operation N"),
                             HasSubstr("'/device:GPU:0' because no supported kernel for GPU")));
}

TEST_F(PlacerTest, SaysThatNoDeviceHasAKernel) {
  AddConst("c", 1);
  Add("N", "GpuOnly", {"c"});
  EXPECT_THAT(Error(), AllOf(HasSubstr("Cannot assign a device for operation N"),
                             HasSubstr("GpuOnly"), HasSubstr("CPU")));
}

TEST_F(PlacerTest, SoftPlacementStaysOnTheTask) {
  options_.allow_soft_placement = true;
  Add("missing", "VariableV2", {}, "/job:ps/task:1/device:GPU:0");
  options_.devices.push_back(Devices({Gpu("worker0")})[0]);
  AddConst("c", 1);
  Add("unsupported", "CpuOnly", {"c"}, "/job:worker/task:0/device:GPU:0");
  PlaceAll();
  EXPECT_EQ(DeviceOf("missing"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("unsupported"), Cpu("worker0"));
}

TEST_F(PlacerTest, SoftPlacementDoesNotInventTasks) {
  options_.allow_soft_placement = true;
  Add("N", "VariableV2", {}, "/job:ps/task:7");
  EXPECT_THAT(Error(), HasSubstr("was explicitly assigned to /job:ps/task:7 but available"));
}

TEST_F(PlacerTest, SoftPlacementSettlesTypesInAClass) {
  options_.allow_soft_placement = true;
  AddConst("a", 1, "/job:ps/task:1/device:GPU:0");
  Colocate(AddConst("b", 1, "/job:ps/task:1/device:CPU:0"), "a");
  PlaceAll();
  EXPECT_EQ(DeviceOf("a"), Cpu("ps1"));
  EXPECT_EQ(DeviceOf("b"), Cpu("ps1"));
}

TEST_F(PlacerTest, StateStaysWhereItIsWhenTheGraphGrows) {
  Add("v", "VariableV2");
  AddConst("c", 1);
  PlaceAll();
  EXPECT_EQ(DeviceOf("c"), Cpu("ps0"));
  Add("set", "Assign", {"v", "c"});
  Add("use", "Neg", {"c"}, "/job:ps/task:0");
  ForgetStatelessPlacement(graph_.get());
  EXPECT_EQ(DeviceOf("v"), Cpu("ps0"));
  EXPECT_EQ(DeviceOf("c"), "");
  PlaceAll();
  EXPECT_EQ(DeviceOf("set"), Cpu("ps0"));
  Colocate(AddConst("far", 1, "/job:worker/task:1"), "v");
  EXPECT_THAT(Error(), AllOf(HasSubstr("far"), HasSubstr("v}}")));
}

TEST_F(PlacerTest, LogsALinePerNode) {
  std::vector<std::string> lines;
  options_.log = [&](const std::string& line) { lines.push_back(line); };
  Add("v", "VariableV2", {}, "/job:ps/task:1");
  Add("neg", "Neg", {"v"});
  PlaceAll();
  EXPECT_THAT(lines, ElementsAre("v: (VariableV2): /job:ps/replica:0/task:1/device:CPU:0",
                                 "neg: (Neg): /job:ps/replica:0/task:1/device:CPU:0"));
}

TEST_F(PlacerTest, NeedsDevicesAndAClientAmongThem) {
  AddConst("c", 1);
  options_.client_device = Cpu("nobody0");
  EXPECT_THAT(Error(), HasSubstr("/job:nobody/replica:0/task:0/device:CPU:0"));
}

// Also a check against quadratic behaviour: with one, this would take minutes.
TEST_F(PlacerTest, PlacesALongChainAndABigClassInLinearTime) {
  constexpr int kNodes = 100'000;
  AddConst("n0", 1);
  Node* last = graph_->FindNode("n0");
  for (int i = 1; i < kNodes; ++i) {
    Node* node = Add("n" + std::to_string(i), "Neg", {}, i % 2 == 0 ? "/job:worker" : "");
    ASSERT_TRUE(graph_->AddEdge(last, 0, node, 0).ok());
    if (i % 3 == 0) Colocate(node, "big");
    last = node;
  }
  const auto start = std::chrono::steady_clock::now();
  PlaceAll();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(DeviceOf("n3"), Cpu("worker0"));
  EXPECT_EQ(DeviceOf("n1"), Cpu("ps0"));
}

}  // namespace
}  // namespace tensorfleet
