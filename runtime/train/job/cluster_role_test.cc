#include "runtime/train/job/cluster_role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClusterSpec Cluster(const char* json) { return ClusterSpec::FromJson(json).value(); }

TEST(ClusterRole, AChiefLeadsTheWorkers) {
  const ClusterSpec cluster = Cluster(R"({"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]})");
  EXPECT_EQ(*RoleOf(cluster, "chief", 0), Role::kChief);
  EXPECT_EQ(*RoleOf(cluster, "worker", 0), Role::kWorker);
  EXPECT_EQ(*RoleOf(cluster, "ps", 0), Role::kParameterServer);
  EXPECT_EQ(*RoleOf(cluster, "evaluator", 0), Role::kEvaluator);
}

TEST(ClusterRole, WorkerZeroLeadsWhereThereIsNoChief) {
  const ClusterSpec cluster = Cluster(R"({"worker": ["a:1", "b:1"], "ps": ["c:1"]})");
  EXPECT_EQ(*RoleOf(cluster, "worker", 0), Role::kChief);
  EXPECT_EQ(*RoleOf(cluster, "worker", 1), Role::kWorker);
}

// The operator's sparse form shows a worker nobody but itself and the parameter servers.
TEST(ClusterRole, AWorkerThatKnowsNoOtherIsNotTheChief) {
  const ClusterSpec cluster = Cluster(R"({"worker": {"3": "a:1"}, "ps": ["c:1"]})");
  EXPECT_EQ(*RoleOf(cluster, "worker", 3), Role::kWorker);
}

TEST(ClusterRole, OneTaskLeadsItself) {
  EXPECT_EQ(*RoleOf(Cluster(R"({"local": ["a:1"]})"), "local", 0), Role::kChief);
}

TEST(ClusterRole, AJobOfAnotherNameHasNoPart) {
  const auto role = RoleOf(Cluster(R"({"chief": ["a:1"], "gpu": ["b:1"]})"), "gpu", 0);
  EXPECT_EQ(role.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(role.status().message(), HasSubstr("'gpu'"));
}

TEST(ClusterRole, StateGoesToTheParameterServersOrElseToTheChief) {
  EXPECT_THAT(*StateTasks(Cluster(R"({"chief": ["a:1"], "ps": ["b:1", "c:1"]})")),
              ElementsAre("/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"));
  EXPECT_THAT(*StateTasks(Cluster(R"({"worker": ["a:1", "b:1"]})")),
              ElementsAre("/job:worker/replica:0/task:0"));
}

}  // namespace
}  // namespace tensorfleet::train
