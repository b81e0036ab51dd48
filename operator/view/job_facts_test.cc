#include "operator/view/job_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::view {
namespace {

using nlohmann::json;

json Pod(const std::string& type, int index, const std::string& phase) {
  return {{"metadata",
           {{"name", "job-" + type + "-" + std::to_string(index)},
            {"labels",
             {{"training.kubeflow.org/replica-type", type},
              {"training.kubeflow.org/replica-index", std::to_string(index)}}}}},
          {"spec", {{"nodeName", "node-1"}}},
          {"status", {{"phase", phase}}}};
}

json Job() {
  return {
      {"metadata",
       {{"name", "job"},
        {"namespace", "ns"},
        {"uid", "1"},
        {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
      {"spec", {{"tfReplicaSpecs", {{"Worker", {{"replicas", 2}}}, {"Chief", json::object()}}}}},
      {"status",
       {{"conditions", json::array({{{"type", "Created"},
                                     {"status", "True"},
                                     {"lastTransitionTime", "2026-01-01T00:00:01Z"}},
                                    {{"type", "Running"},
                                     {"status", "False"},
                                     {"lastTransitionTime", "2026-01-01T00:00:09Z"}},
                                    {{"type", "Failed"},
                                     {"status", "True"},
                                     {"message", "worker-1 failed"},
                                     {"lastTransitionTime", "2026-01-01T00:00:09Z"}}})}}}};
}

TEST(RowOf, TheLastTrueConditionIsTheState) {
  const JobRow row = RowOf(Job());
  EXPECT_EQ(row.name, "job");
  EXPECT_EQ(row.state, "Failed");
  EXPECT_EQ(row.replicas, "chief 1, worker 2");
  EXPECT_EQ(RowOf(json::object()).state, "Submitted");
}

TEST(FactsOf, TasksComeInTheOrderOfTheirTypesAndIndices) {
  const json pods = {
      {"items", json::array({Pod("worker", 10, "Running"), Pod("worker", 2, "Pending"),
                             Pod("ps", 0, "Running"), Pod("chief", 0, "Running")})}};
  const JobFacts facts = FactsOf(Job(), pods, json());
  std::vector<std::string> names;
  for (const Task& task : facts.tasks) names.push_back(task.name);
  EXPECT_THAT(names, ::testing::ElementsAre("chief-0", "ps-0", "worker-2", "worker-10"));
  EXPECT_EQ(facts.reason, "worker-1 failed");
  EXPECT_EQ(facts.tasks[0].node, "node-1");
  EXPECT_EQ(facts.tasks[0].metrics_port, 9464);
  EXPECT_EQ(facts.tasks[2].metrics_port, 0);
}

TEST(FactsOf, AContainerThatWaitsOrEndedSaysWhy) {
  json pod = Pod("worker", 0, "Running");
  pod["status"]["containerStatuses"] = json::array(
      {{{"restartCount", 3},
        {"state", {{"waiting", {{"reason", "CrashLoopBackOff"}}}}},
        {"lastState", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}}}}});
  pod["spec"]["containers"] =
      json::array({{{"ports", json::array({{{"name", "metrics"}, {"containerPort", 9000}}})}}});
  const JobFacts facts = FactsOf(Job(), {{"items", json::array({pod})}}, json());
  EXPECT_EQ(facts.tasks[0].state, "CrashLoopBackOff");
  EXPECT_EQ(facts.tasks[0].restarts, 3);
  EXPECT_EQ(facts.tasks[0].last_end, "exit code 137, OOMKilled");
  EXPECT_EQ(facts.tasks[0].metrics_port, 9000);
}

TEST(FactsOf, ConditionsAndEventsMakeOneTimeline) {
  const json events = {{"items", json::array({{{"type", "Warning"},
                                               {"reason", "FailedScheduling"},
                                               {"message", "no room"},
                                               {"lastTimestamp", "2026-01-01T00:00:05Z"}}})}};
  const JobFacts facts = FactsOf(Job(), json(), events);
  std::vector<std::string> what;
  for (const Moment& moment : facts.moments) what.push_back(moment.what);
  EXPECT_THAT(what,
              ::testing::ElementsAre("Submitted", "Created", "Warning FailedScheduling", "Failed"));
}

TEST(FactsOf, ObjectsOfAnotherFormAreEmptyAndNotFatal) {
  const json odd = json::parse(
      R"({"metadata": [], "spec": {"tfReplicaSpecs": {"Worker": 7}}, "status": {"conditions": {"a": 1}},
          "items": [1, null, {"metadata": {"labels": 3}, "status": {"containerStatuses": [4]}}]})");
  const JobFacts facts = FactsOf(odd, odd, odd);
  EXPECT_EQ(facts.row.name, "");
  EXPECT_EQ(facts.tasks.size(), 3u);
}

TEST(ReadTaskMetrics, BytesAreByEdgeAndStepsOfSessionsCountFirst) {
  const TaskMetrics metrics = ReadTaskMetrics(
      "tensorfleet_run_graph_seconds_count 50\n"
      "tensorfleet_received_bytes_total{src=\"/job:ps/replica:0/task:0\",dst=\"/job:worker/"
      "replica:0/"
      "task:1\"} 300\n"
      "tensorfleet_received_bytes_total{src=\"other\",dst=\"other\"} 5\n"
      "process_resident_memory_bytes 1000\n");
  EXPECT_EQ(metrics.numbers.steps, 50);
  EXPECT_EQ(metrics.numbers.resident, 1000);
  EXPECT_EQ(metrics.edges.at({"ps:0", "worker:1"}), 300);
  EXPECT_EQ(
      ReadTaskMetrics("tensorfleet_run_graph_seconds_count 50\ntensorfleet_step_seconds_count 20\n")
          .numbers.steps,
      20);
}

}  // namespace
}  // namespace tensorfleet::view
