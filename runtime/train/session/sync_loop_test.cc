#include "runtime/train/session/sync_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/attr.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/job/train_graph.h"
#include "runtime/train/testing/counting_model.h"
#include "runtime/train/testing/sync_model.h"

namespace tensorfleet::train {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TrainGraph GraphOf(const tensorflow::MetaGraphDef& meta) { return *TrainGraphFrom(meta, {}); }

const tensorflow::NodeDef* Find(const TrainGraph& graph, const std::string& name) {
  for (const auto& node : graph.graph.node()) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}

// The last node of this op that average gradients go into.
std::string WhatAverages(const tensorflow::GraphDef& graph, const std::string& op) {
  std::string found;
  for (const auto& node : graph.node()) {
    const auto behind = NodesBehind(graph, {node.name()});
    const bool averages = std::any_of(behind.begin(), behind.end(), [](const std::string& name) {
      return name.find("TakeGradient") != std::string::npos;
    });
    if (node.op() == op && averages) found = node.name();
  }
  return found;
}

TEST(SyncLoop, IsFoundByItsQueueOfTokens) {
  TrainGraph graph = GraphOf(SyncModel({.replicas_to_aggregate = 2, .total_replicas = 3}));
  ASSERT_EQ(FindSyncLoop(&graph), OkStatus());
  ASSERT_TRUE(graph.sync.has_value());
  EXPECT_EQ(graph.sync->runner.queue_name(), "sync_replicas/sync_token_q");
  EXPECT_THAT(graph.sync->runner.enqueue_op_name(), ElementsAre("fleet_sync/step"));
  ASSERT_EQ(graph.sync->begin.size(), 1);
  EXPECT_THAT(graph.sync->begin[0], HasSubstr("SetGlobalStep"));
  // The first tokens are as many as the gradients of one step.
  EXPECT_EQ(GetAttr<Tensor>(*Find(graph, "fleet_sync/count"), "value")->ToString(), "int32 [1]: 2");
}

TEST(SyncLoop, SetsTheLocalStepAfterTheGraphsOwnLocalInit) {
  TrainGraph graph = GraphOf(SyncModel({.replicas_to_aggregate = 1}));
  const std::vector<std::string> own = graph.local_init_ops;
  ASSERT_EQ(FindSyncLoop(&graph), OkStatus());
  EXPECT_THAT(graph.local_init_ops, ElementsAre("fleet_sync/local_step"));
  ASSERT_EQ(own.size(), 1);
  EXPECT_THAT(Find(graph, "fleet_sync/local_step")->input(), Contains(absl::StrCat("^", own[0])));
}

TEST(SyncLoop, TakesAlongWhatFollowsTheTokens) {
  tensorflow::MetaGraphDef meta = SyncModel({.replicas_to_aggregate = 1});
  // As TensorFlow does with moving averages.
  const std::string hands_out = WhatAverages(meta.graph_def(), "QueueEnqueueManyV2");
  ASSERT_NE(hands_out, "");
  NodeWriter("", meta.mutable_graph_def())
      .Add("average", "NoOp", "", {absl::StrCat("^", hands_out)});
  TrainGraph graph = GraphOf(meta);
  ASSERT_EQ(FindSyncLoop(&graph), OkStatus());
  EXPECT_THAT(Find(graph, "fleet_sync/step")->input(), Contains("^average"));
}

TEST(SyncLoop, LeavesTheAveragesToTheChief) {
  const tensorflow::MetaGraphDef meta = SyncModel({.replicas_to_aggregate = 1});
  TrainGraph graph = GraphOf(meta);
  const std::vector<std::string> workers = graph.train_ops;
  // What the wrapped optimizer calls its train op.
  graph.train_ops = {WhatAverages(meta.graph_def(), "AssignAddVariableOp")};
  ASSERT_NE(graph.train_ops[0], "");
  ASSERT_EQ(FindSyncLoop(&graph), OkStatus());
  EXPECT_EQ(graph.train_ops, workers);
}

TEST(SyncLoop, IsNotInOtherGraphs) {
  TrainGraph graph = GraphOf(CountingModel());
  const int nodes = graph.graph.node_size();
  ASSERT_EQ(FindSyncLoop(&graph), OkStatus());
  EXPECT_FALSE(graph.sync.has_value());
  EXPECT_EQ(graph.graph.node_size(), nodes);
}

TEST(SyncLoop, NeedsTheLocalStep) {
  TrainGraph graph = GraphOf(SyncModel({.replicas_to_aggregate = 1}));
  graph.local_variables.clear();
  EXPECT_THAT(std::string(FindSyncLoop(&graph).message()), HasSubstr("sync_rep_local_step"));
}

TEST(SyncLoop, IsTheOnlyOne) {
  tensorflow::MetaGraphDef meta = SyncModel({.replicas_to_aggregate = 1});
  for (const auto& node : meta.graph_def().node()) {
    if (node.op() != "FIFOQueueV2") continue;
    tensorflow::NodeDef second = node;
    second.set_name("second_q");
    *meta.mutable_graph_def()->add_node() = second;
    break;
  }
  TrainGraph graph = GraphOf(meta);
  const Status status = FindSyncLoop(&graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("second_q"));
}

}  // namespace
}  // namespace tensorfleet::train
