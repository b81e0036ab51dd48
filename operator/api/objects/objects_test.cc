// Status, pods, services, quantities, index sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/api/objects/pod.h"
#include "operator/api/objects/pod_group.h"
#include "operator/api/objects/service.h"
#include "operator/api/tfjob_status.h"
#include "operator/api/values/index_set.h"
#include "operator/api/values/quantity.h"

namespace tensorfleet::api {
namespace {

using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr char kStatus[] = R"({
  "completionTime": "2024-01-05T23:00:00Z",
  "conditions": [
    {"lastTransitionTime":"2024-01-05T22:58:20Z","lastUpdateTime":"2024-01-05T22:58:20Z",
     "message":"TFJob j is created.","reason":"TFJobCreated","status":"True","type":"Created"},
    {"lastTransitionTime":"2024-01-05T22:59:00Z","lastUpdateTime":"2024-01-05T22:59:00Z",
     "message":"m","reason":"TFJobRunning","status":"False","type":"Running"}],
  "jobRestarts": 1,
  "progress": {"checkpoint":"/c","examplesPerSecond":2.5,"step":7,"stepsPerSecond":0.5,"time":"2024-01-05T22:59:30Z"},
  "ready": "1/3",
  "replicaStatuses": {
    "PS": {"active":1,"selector":"a=b"},
    "Worker": {"failed":1,"ignoredFailuresByIndex":{"2":1},"restartsByIndex":{"0":2},"succeeded":1,
               "succeededIndexes":"0,2-4"}},
  "restarts": 3,
  "startTime": "2024-01-05T22:58:20Z"})";

TEST(Status, SurvivesAReadAndAWrite) {
  const Json json = Json::parse(kStatus);
  EXPECT_EQ(ToJson(TFJobStatusFromJson(json)), json);
}

TEST(Status, OmitsZeroCounts) {
  TFJobStatus status;
  status.replica_statuses[ReplicaType::kWorker];
  EXPECT_EQ(ToJson(status), Json::parse(R"({"conditions":[],"replicaStatuses":{"Worker":{}}})"));
}

TEST(Status, LeavesOutWhatItCannotRead) {
  const TFJobStatus status = TFJobStatusFromJson(Json::parse(
      R"({"conditions":[3,{"type":4},{"type":"Created","status":"Unknown"}],"replicaStatuses":{"Worker":7,"X":{}},
          "startTime":"soon","restarts":-4,"progress":[]})"));
  EXPECT_EQ(status.conditions.size(), 1u);
  EXPECT_FALSE(status.conditions[0].is_true);
  EXPECT_FALSE(status.start_time);
  EXPECT_EQ(status.restarts, 0);
  EXPECT_FALSE(status.progress);
}

TEST(IndexSet, HasACompactForm) {
  EXPECT_EQ(IndexSetToString({0, 2, 3, 4, 9}), "0,2-4,9");
  EXPECT_EQ(ParseIndexSet("0,2-4,9"), (std::set<int32_t>{0, 2, 3, 4, 9}));
  EXPECT_EQ(IndexSetToString({}), "");
}

TEST(IndexSet, DoesNotBelieveEverything) {
  EXPECT_THAT(ParseIndexSet("0-2147483647"), IsEmpty());
  EXPECT_THAT(ParseIndexSet("-1,x,3-1,99999,4-y"), IsEmpty());
}

struct Amount {
  const char* text;
  const char* sum_of_two;
};

class Quantities : public ::testing::TestWithParam<Amount> {};

TEST_P(Quantities, AddUpExactly) {
  const auto quantity = ParseQuantity(GetParam().text);
  ASSERT_TRUE(quantity) << GetParam().text;
  EXPECT_EQ(ToString(*quantity + *quantity), GetParam().sum_of_two);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Quantities,
    ::testing::Values(Amount{"1", "2"}, Amount{"500m", "1"}, Amount{"250m", "500m"},
                      Amount{"1.5", "3"}, Amount{".5", "1"}, Amount{"2.", "4"},
                      Amount{"1Gi", "2Gi"}, Amount{"512Mi", "1Gi"}, Amount{"1.5Gi", "3Gi"},
                      Amount{"1k", "2000"}, Amount{"1e3", "2000"}, Amount{"2E2", "400"},
                      Amount{"1M", "2000000"}, Amount{"0", "0"}, Amount{"-1", "-2"},
                      Amount{"+1", "2"}, Amount{"1Ei", "2Ei"}, Amount{"1u", "2m"},
                      Amount{"1E", "2000000000000000000"}, Amount{"100e-3", "200m"}));

class NoQuantities : public ::testing::TestWithParam<const char*> {};

TEST_P(NoQuantities, AreRefused) { EXPECT_FALSE(ParseQuantity(GetParam())) << GetParam(); }

INSTANTIATE_TEST_SUITE_P(Texts, NoQuantities,
                         ::testing::Values("", ".", "-", "a", "1 ", " 1", "1x", "1mm", "1KiB", "1e",
                                           "1ee3", "1e99", "--1",
                                           "99999999999999999999999999999999999999", "16Ei", "1e 3",
                                           "0x10", "1 Gi", "\"1\""));

TEST(Pod, OfNoReplicaHasNone) {
  const Pod pod = *PodFromJson(Json::parse(R"({"metadata":{"name":"p","labels":{
      "training.kubeflow.org/replica-type":"Worker","training.kubeflow.org/replica-index":"0"}}})"));
  EXPECT_FALSE(pod.meta.replica);  // the label is lower case
}

TEST(Pod, SumsRestartsOverInitAndMainContainers) {
  const Pod pod = *PodFromJson(Json::parse(R"({"metadata":{"name":"p"},"status":{"phase":"Running",
      "initContainerStatuses":[{"name":"i","restartCount":2}],
      "containerStatuses":[{"name":"tensorflow","restartCount":3},{"name":"s","restartCount":4}]}})"));
  EXPECT_EQ(pod.restart_count, 9);
}

TEST(Pod, TakesTheExitCodeOfTheTensorflowContainerOnly) {
  const Pod pod = *PodFromJson(
      Json::parse(R"({"metadata":{"name":"p"},"status":{"phase":"Failed","containerStatuses":[
      {"name":"s","state":{"terminated":{"exitCode":1}}},
      {"name":"tensorflow","state":{"terminated":{"exitCode":137}}}]}})"));
  EXPECT_EQ(pod.exit_code, 137);
}

// A pod deleted at 22:58:20 with 30 s of grace, whose container ended with 0 at `finished`.
Pod DeletedPod(const std::string& finished, int grace = 30) {
  const std::string text =
      R"({"metadata":{"name":"p","deletionTimestamp":"2024-01-05T22:58:50Z",
          "deletionGracePeriodSeconds":)" +
      std::to_string(grace) + R"(},"status":{"phase":"Succeeded","containerStatuses":[
          {"name":"tensorflow","state":{"terminated":{"exitCode":0,"finishedAt":")" +
      finished + R"("}}}]}})";
  return *PodFromJson(Json::parse(text));
}

TEST(Pod, ThatEndedBecauseItWasDeletedHasNotFinished) {
  const Pod pod = DeletedPod("2024-01-05T22:58:20Z");
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_FALSE(pod.exit_code);
}

TEST(Pod, ThatFinishedLongBeforeItWasDeletedHasFinished) {
  const Pod pod = DeletedPod("2024-01-05T22:57:20Z");
  EXPECT_EQ(pod.phase, PodPhase::kSucceeded);
  EXPECT_EQ(pod.exit_code, 0);
}

// finishedAt is the node's time, deletionTimestamp the API server's.
TEST(Pod, IsNotSaidToHaveFinishedByAClockThatIsSecondsOff) {
  EXPECT_EQ(DeletedPod("2024-01-05T22:58:10Z").phase, PodPhase::kRunning);
}

// The API server gives a pod that has ended no grace: it goes at once, unless finalizers hold it.
TEST(Pod, ThatHadEndedWhenItWasDeletedHasFinishedWhateverTheClocksSay) {
  EXPECT_EQ(DeletedPod("2024-01-05T22:59:30Z", /*grace=*/0).phase, PodPhase::kSucceeded);
}

// Labels can be edited; owner and name cannot.
TEST(Pod, IsTheReplicaThatItsNameSaysWhateverBecomesOfItsLabels) {
  const auto with_labels = [](const std::string& labels) {
    return *PodFromJson(Json::parse(
        R"({"metadata":{"name":"my-job-worker-1","labels":)" + labels +
        R"(,"ownerReferences":[{"kind":"TFJob","name":"my-job","uid":"u","controller":true}]}})"));
  };
  for (const char* labels :
       {"{}", R"({"training.kubeflow.org/job-name":"other"})",
        R"({"training.kubeflow.org/job-name":"my-job","training.kubeflow.org/replica-type":"worker",
            "training.kubeflow.org/replica-index":"0"})"}) {
    const Pod pod = with_labels(labels);
    EXPECT_EQ(pod.meta.job_name, "my-job") << labels;
    ASSERT_TRUE(pod.meta.replica) << labels;
    EXPECT_EQ(*pod.meta.replica, (ReplicaId{ReplicaType::kWorker, 1})) << labels;
    EXPECT_TRUE(pod.meta.has_other_labels) << labels;
  }
  EXPECT_FALSE(with_labels(R"({"training.kubeflow.org/job-name":"my-job",
      "training.kubeflow.org/replica-type":"worker","training.kubeflow.org/replica-index":"1"})")
                   .meta.has_other_labels);
}

TEST(Pod, KeepsOnlyConditionsThatAreNews) {
  const Pod pod = *PodFromJson(Json::parse(R"({"metadata":{"name":"p"},"status":{"conditions":[
      {"type":"Ready","status":"True"},{"type":"PodScheduled","status":"True"},
      {"type":"DisruptionTarget","status":"True"},{"type":"Odd","status":"False"}]}})"));
  EXPECT_TRUE(pod.is_ready);
  EXPECT_EQ(*pod.true_conditions, std::vector<std::string>{"DisruptionTarget"});
}

TEST(Pod, WithoutContainersTellsItsNewestUntrueCondition) {
  const Pod pod = *PodFromJson(
      Json::parse(R"({"metadata":{"name":"p"},"status":{"phase":"Pending","conditions":[
      {"type":"A","status":"True","lastTransitionTime":"2024-01-05T22:58:20Z"},
      {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes",
       "lastTransitionTime":"2024-01-05T22:58:21Z"}]}})"));
  ASSERT_TRUE(pod.troubles);
  EXPECT_EQ((*pod.troubles)[0],
            (PodTrouble{"Unschedulable", "Error pod p condition message: 0/3 nodes"}));
}

TEST(Pod, TellsOfContainersThatDied) {
  const Pod pod = *PodFromJson(
      Json::parse(R"({"metadata":{"name":"p"},"status":{"phase":"Running","containerStatuses":[
      {"name":"s","state":{"terminated":{"exitCode":3,"reason":"Error","message":"oops"}}}]}})"));
  ASSERT_TRUE(pod.troubles);
  EXPECT_EQ((*pod.troubles)[0],
            (PodTrouble{"Error", "Error pod p container s exitCode: 3 terminated message: oops"}));
}

TEST(Objects, OfOddShapesAreReadWithoutHarm) {
  for (
      const char* text :
      {R"({"metadata":{"name":"x","labels":[],"annotations":3,"ownerReferences":{}},"status":[],"spec":7})",
       R"({"metadata":{"name":"x","ownerReferences":[3,{"controller":"yes"}],"deletionTimestamp":7},
            "status":{"containerStatuses":[null,{"state":{"terminated":{"exitCode":"1"}}}],"conditions":[1]},
            "spec":{"minMember":"2","minResources":[]}})"}) {
    const Json json = Json::parse(text);
    EXPECT_TRUE(PodFromJson(json).ok());
    EXPECT_TRUE(ServiceFromJson(json).ok());
    EXPECT_TRUE(PodGroupFromJson(json).ok());
  }
  for (const char* text :
       {"{}", "[]", "null", R"({"metadata":{}})", R"({"metadata":{"name":""}})"}) {
    EXPECT_FALSE(PodFromJson(Json::parse(text)).ok()) << text;
  }
}

TEST(Owner, IsTheOneThatControls) {
  const Service service = *ServiceFromJson(Json::parse(
      R"({"metadata":{"name":"s","ownerReferences":[{"uid":"a"},{"uid":"b","controller":true}]}})"));
  EXPECT_TRUE(service.meta.IsControlledBy("b"));
  EXPECT_FALSE(service.meta.IsControlledBy("a"));
  EXPECT_TRUE(service.meta.has_owner);
}

}  // namespace
}  // namespace tensorfleet::api
