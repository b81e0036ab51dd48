// What becomes one node for an accelerator, and what stays apart.
#include "runtime/place/passes/gather_clusters.h"

#include "runtime/graph/graph_import.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing_place::Cpu;
using testing_place::Gpu;
using testing_place::RewriteTest;

class GatherClustersTest : public RewriteTest {
 protected:
  GatherClustersTest() {
    placement_.devices = testing_place::Devices({Cpu("a0"), Gpu("a0")});
    for (DeviceAttributes& device : placement_.devices) {
      if (device.type != "CPU") device.description = "PJRT test";
    }
    for (const char* op : {"Neg", "Identity", "Const", "Add"}) {
      kernels_.Add<MadeByDevice>(op, kCompiled);
    }
    for (const char* op : {"Neg", "Add"}) kernels_.Add<MadeByDevice>(op, kWorthALaunch);
    placement_.kernels = &kernels_;
  }

  Node* On(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
           const std::string& device) {
    Node* const node = Add(name, op, inputs);
    node->set_assigned_device(device);
    return node;
  }
  Node* OnGpu(const std::string& name, const std::string& op,
              const std::vector<std::string>& inputs) {
    return On(name, op, inputs, Gpu("a0"));
  }
  Node* OnCpu(const std::string& name, const std::string& op,
              const std::vector<std::string>& inputs) {
    return On(name, op, inputs, Cpu("a0"));
  }

  // The members of each cluster, joined by blanks, after gathering.
  std::vector<std::string> Gather() {
    const Status status = GatherClusters(graph_.get(), context_);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(TopologicalOrder(*graph_).ok());
    std::vector<std::string> clusters;
    for (const Node* node : graph_->nodes()) {
      if (node->op() != kClusterOp) continue;
      tensorflow::GraphDef body;
      EXPECT_TRUE(body.ParseFromString(*GetAttr<std::string>(node->def(), "body")));
      std::vector<std::string> members;
      for (const auto& member : body.node()) {
        if (member.op() != "_Arg" && member.op() != "_Retval") members.push_back(member.name());
      }
      std::sort(members.begin(), members.end());
      clusters.push_back(absl::StrJoin(members, " "));
    }
    return clusters;
  }

  KernelRegistry kernels_;
};

TEST_F(GatherClustersTest, NeighboursOnTheDeviceBecomeOneNode) {
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  OnGpu("b", "Neg", {"a"});
  OnCpu("y", "Neg", {"b"});
  EXPECT_THAT(Gather(), ElementsAre("a b"));
  EXPECT_EQ(graph_->FindNode("y")->in_edge(0)->src->op(), kClusterOp);
  EXPECT_EQ(graph_->FindNode("a"), nullptr);
}

TEST_F(GatherClustersTest, ADeviceThatIsNotOursIsLeftAlone) {
  for (DeviceAttributes& device : placement_.devices) device.description = "";
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  EXPECT_THAT(Gather(), IsEmpty());
}

TEST_F(GatherClustersTest, WhatOnlyHandsOnIsNotWorthALaunch) {
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Identity", {"x"});
  EXPECT_THAT(Gather(), IsEmpty());
}

// a -> elsewhere -> c, and a -> c: together they would wait for themselves.
TEST_F(GatherClustersTest, AWayThroughElsewhereKeepsNodesApart) {
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  OnCpu("elsewhere", "Neg", {"a"});
  OnGpu("c", "Add", {"a", "elsewhere"});
  EXPECT_THAT(Gather(), UnorderedElementsAre("a", "c"));
}

TEST_F(GatherClustersTest, AControlEdgeThroughElsewhereCountsToo) {
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  OnCpu("elsewhere", "NoOp", {"^a"});
  OnGpu("c", "Neg", {"a", "^elsewhere"});
  EXPECT_THAT(Gather(), UnorderedElementsAre("a", "c"));
}

// b hangs on nothing that c does not wait for: it goes along instead of being a launch of its own.
TEST_F(GatherClustersTest, WhatIsNeededLaterOnlyIsLaunchedLater) {
  OnCpu("x", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  OnCpu("elsewhere", "Neg", {"a"});
  OnGpu("b", "Neg", {"x"});
  OnGpu("c", "Add", {"b", "elsewhere"});
  EXPECT_THAT(Gather(), UnorderedElementsAre("a", "b c"));
}

TEST_F(GatherClustersTest, UnconnectedNodesStayApart) {
  OnCpu("x", "Placeholder", {});
  OnCpu("y", "Placeholder", {});
  OnGpu("a", "Neg", {"x"});
  OnGpu("b", "Neg", {"y"});
  EXPECT_THAT(Gather(), UnorderedElementsAre("a", "b"));
}

// A cluster is dead as a whole when one of its inputs is.
TEST_F(GatherClustersTest, TheBranchesOfACondStayApart) {
  OnCpu("x", "Placeholder", {});
  OnGpu("before", "Neg", {"x"});
  tensorflow::NodeDef pred;
  pred.set_name("pred");
  pred.set_op("Const");
  SetAttr(&pred, "dtype", DType::kBool);
  SetAttr(&pred, "value", Tensor::Scalar<bool>(true));
  Node* const predicate = *graph_->AddNode(std::move(pred));
  predicate->set_assigned_device(Cpu("a0"));
  OnGpu("switch", "Switch", {"before", "pred"});
  OnGpu("f", "Neg", {"switch:0"});
  OnGpu("t", "Neg", {"switch:1"});
  OnGpu("merge", "Merge", {"f", "t"});
  OnGpu("after", "Add", {"merge", "before"});
  EXPECT_THAT(Gather(), UnorderedElementsAre("before", "f", "t", "after"));
}

}  // namespace
}  // namespace tensorfleet
