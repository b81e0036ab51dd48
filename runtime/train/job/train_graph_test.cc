#include "runtime/train/job/train_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/train/job/collections.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(TrainGraph, TakesWhatTheCollectionsSay) {
  const auto graph = TrainGraphFrom(CountingModel(), {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->train_ops, ElementsAre("train"));
  EXPECT_EQ(graph->global_step, "global_step/read:0");
  EXPECT_EQ(graph->loss, "loss:0");
  EXPECT_THAT(graph->summaries, ElementsAre("loss_summary:0"));
}

TEST(TrainGraph, RunsTheInitializersWhenThereIsNoInitOp) {
  const auto graph = TrainGraphFrom(CountingModel(), {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->init_ops, ElementsAre("global_step/Assign", "w/Assign"));
}

TEST(TrainGraph, AsksEachVariableWhenThereIsNoReadyOp) {
  const auto graph = TrainGraphFrom(CountingModel(), {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->ready.is_initialized,
              ElementsAre(Pair("global_step", "fleet_train/is_initialized/global_step:0"),
                          Pair("w", "fleet_train/is_initialized/w:0")));
}

TEST(TrainGraph, PrefersTheGraphsOwnInitAndReadyOps) {
  tensorflow::MetaGraphDef meta = CountingModel();
  AddName("init_op", "w/Assign", &meta);
  AddName("ready_op", "w/read", &meta);
  const auto graph = TrainGraphFrom(meta, {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->init_ops, ElementsAre("w/Assign"));
  EXPECT_EQ(graph->ready.names, "w/read:0");
  EXPECT_TRUE(graph->ready.is_initialized.empty());
}

TEST(TrainGraph, SaysHowToNameTheTrainOpWhenThereIsNone) {
  tensorflow::MetaGraphDef meta = CountingModel();
  meta.mutable_collection_def()->erase("train_op");
  const Status status = TrainGraphFrom(meta, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("--train_op"));
  TrainGraphOptions options;
  options.train_ops = {"w/add"};
  EXPECT_TRUE(TrainGraphFrom(meta, options).ok());
}

TEST(TrainGraph, SaysWhichNameIsNotInTheGraph) {
  TrainGraphOptions options;
  options.loss = "cross_entropy";
  const Status status = TrainGraphFrom(CountingModel(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'cross_entropy:0', which is not in the graph"));
}

TEST(TrainGraph, RefusesACollectionOfTheWrongKind) {
  tensorflow::MetaGraphDef meta = CountingModel();
  meta.mutable_collection_def()->erase("variables");
  (*meta.mutable_collection_def())["variables"].mutable_bytes_list()->add_value("\xff\xff\xff");
  const Status status = TrainGraphFrom(meta, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("VariableDef"));
}

}  // namespace
}  // namespace tensorfleet::train
