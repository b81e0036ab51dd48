#include "runtime/train/job/replica_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

constexpr char kPs0[] = "/job:ps/replica:0/task:0", kPs1[] = "/job:ps/replica:0/task:1";
constexpr char kWorker[] = "/job:worker/replica:0/task:3";

ReplicaPlacement OnTwoServers() {
  ReplicaPlacement placement;
  placement.own_task = kWorker;
  placement.state_tasks = {kPs0, kPs1};
  return placement;
}

std::string DeviceOf(const tensorflow::GraphDef& graph, const std::string& name) {
  for (const auto& node : graph.node()) {
    if (node.name() == name) return node.device();
  }
  return "no such node";
}

tensorflow::GraphDef Placed(tensorflow::GraphDef graph, const ReplicaPlacement& placement) {
  const Status status = PlaceReplica(placement, &graph);
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

class BothKinds : public ::testing::TestWithParam<bool> {};

TEST_P(BothKinds, VariablesTakeTurnsAndWhatUsesThemFollows) {
  const auto graph = Placed(CountingModel(GetParam()).graph_def(), OnTwoServers());
  EXPECT_EQ(DeviceOf(graph, "global_step"), kPs0);
  EXPECT_EQ(DeviceOf(graph, "w"), kPs1);
  for (const char* user : {"w/Assign", "w/read", "w/add"}) {
    EXPECT_EQ(DeviceOf(graph, user), kPs1) << user;
  }
  EXPECT_EQ(DeviceOf(graph, "loss"), kWorker);
  EXPECT_EQ(DeviceOf(graph, "train"), kWorker);
}

INSTANTIATE_TEST_SUITE_P(Variables, BothKinds, ::testing::Values(false, true));

TEST(ReplicaPlacement, ByBytesTheFullestServerGetsTheLeast) {
  Scope root;
  for (const auto& [name, size] :
       {std::pair{"big", 1000}, {"small", 1}, {"middle", 10}, {"last", 5}}) {
    ops::VariableV2(root.Named(name), PartialShape({size}), DType::kFloat);
  }
  ReplicaPlacement placement = OnTwoServers();
  placement.spread_by = SpreadBy::kBytes;
  const auto graph = Placed(*root.ToGraphDef(), placement);
  EXPECT_EQ(DeviceOf(graph, "big"), kPs0);
  for (const char* rest : {"small", "middle", "last"}) EXPECT_EQ(DeviceOf(graph, rest), kPs1);
}

TEST(ReplicaPlacement, SlotsGoWithTheirVariable) {
  Scope root;
  const Output a = ops::VariableV2(root.Named("a"), PartialShape({2}), DType::kFloat);
  ops::VariableV2(root.ColocatedWith(a.op()).Named("a/Momentum"), PartialShape({2}), DType::kFloat);
  ops::VariableV2(root.Named("b"), PartialShape({2}), DType::kFloat);
  const auto graph = Placed(*root.ToGraphDef(), OnTwoServers());
  EXPECT_EQ(DeviceOf(graph, "a/Momentum"), kPs0);
  EXPECT_EQ(DeviceOf(graph, "b"), kPs1);
}

TEST(ReplicaPlacement, ARequestedPlaceIsKeptAndTheJobAloneIsThisTask) {
  Scope root;
  ops::VariableV2(root.OnDevice("/job:ps/task:1").Named("v"), PartialShape({}), DType::kFloat);
  Const(root.OnDevice("/job:worker").Named("mine"), 1.0f);
  Const(root.OnDevice("/job:worker/task:0").Named("first"), 1.0f);
  const auto graph = Placed(*root.ToGraphDef(), OnTwoServers());
  EXPECT_EQ(DeviceOf(graph, "v"), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(graph, "mine"), kWorker);
  EXPECT_EQ(DeviceOf(graph, "first"), "/job:worker/task:0");
}

TEST(ReplicaPlacement, TheReplicaDeviceStandsForThisTask) {
  Scope root;
  Const(root.OnDevice("/job:worker/task:0/device:CPU:0").Named("c"), 1.0f);
  ReplicaPlacement placement = OnTwoServers();
  placement.replica_device = "/job:worker/task:0";
  const auto graph = Placed(*root.ToGraphDef(), placement);
  EXPECT_EQ(DeviceOf(graph, "c"), absl::StrCat(kWorker, "/device:CPU:0"));
}

TEST(ReplicaPlacement, LocalVariablesAndInputQueuesStayHere) {
  Scope root;
  ops::VariableV2(root.Named("epoch"), PartialShape({}), DType::kInt64);
  ops::FIFOQueueV2(root.Named("input"), {DType::kFloat});
  ops::FIFOQueueV2Attrs shared;
  shared.shared_name = "tokens";
  ops::FIFOQueueV2(root.Named("token_queue"), {DType::kInt64}, shared);
  ReplicaPlacement placement = OnTwoServers();
  placement.local = {"epoch"};
  const auto graph = Placed(*root.ToGraphDef(), placement);
  EXPECT_EQ(DeviceOf(graph, "epoch"), kWorker);
  EXPECT_EQ(DeviceOf(graph, "input"), kWorker);
  EXPECT_EQ(DeviceOf(graph, "token_queue"), kPs0);
}

TEST(ReplicaPlacement, NamesTheNodeOfABadDevice) {
  Scope root;
  Const(root.Named("c"), 1.0f);
  tensorflow::GraphDef graph = *root.ToGraphDef();
  graph.mutable_node(0)->set_device("/jobs:worker");
  const Status status = PlaceReplica(OnTwoServers(), &graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("node 'c'"));
}

TEST(PlaceHere, KeepsTheDeviceTypeAlone) {
  Scope root;
  Const(root.OnDevice("/job:ps/task:1/device:CPU:0").Named("c"), 1.0f);
  tensorflow::GraphDef graph = *root.ToGraphDef();
  ASSERT_TRUE(PlaceHere(&graph).ok());
  EXPECT_EQ(graph.node(0).device(), "/device:CPU:0");
}

}  // namespace
}  // namespace tensorfleet::train
