// Reading and defaulting a TFJob, whatever it holds.
#include "operator/api/tfjob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/api/objects/pod.h"
#include "operator/api/objects/service.h"
#include "operator/api/validate.h"

namespace tensorfleet::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr char kTemplate[] = R"({"spec":{"containers":[{"name":"tensorflow","image":"tf:1"}]}})";

// A job with one worker and `more` merged over it.
TFJob Read(const char* more = "{}") {
  Json json = {
      {"metadata", {{"name", "mnist"}, {"namespace", "ns"}, {"uid", "u"}}},
      {"spec", {{"tfReplicaSpecs", {{"Worker", {{"template", Json::parse(kTemplate)}}}}}}}};
  json.merge_patch(Json::parse(more));
  return *TFJobFromJson(json);
}

const ReplicaSpec& Worker(const TFJob& job) { return *job.spec.Find(ReplicaType::kWorker); }

TEST(Defaults, AreThoseOfTheContract) {
  const TFJob job = Read();
  EXPECT_EQ(Worker(job).replicas, 1);
  EXPECT_EQ(Worker(job).restart_policy, RestartPolicy::kNever);
  EXPECT_EQ(Worker(job).facts.port, 2222);
  EXPECT_EQ(job.spec.success_policy, SuccessPolicy::kDefault);
  EXPECT_FALSE(job.spec.enable_dynamic_worker);
  EXPECT_FALSE(job.spec.run_policy.suspend);
  EXPECT_FALSE(job.spec.run_policy.backoff_limit);
  EXPECT_FALSE(job.spec.run_policy.ttl_seconds_after_finished);
  EXPECT_THAT(Validate(job), IsEmpty());
}

TEST(Defaults, NullIsAsGoodAsAbsent) {
  const TFJob job = *TFJobFromJson(Json::parse(R"({"metadata":{"name":"j"},"spec":{"runPolicy":null,
      "successPolicy":null,"tfReplicaSpecs":{"Worker":{"replicas":null,"restartPolicy":null,"template":null}}}})"));
  EXPECT_THAT(job.parse_errors, IsEmpty());
  EXPECT_EQ(Worker(job).replicas, 1);
}

class TypeKeys : public ::testing::TestWithParam<std::pair<const char*, ReplicaType>> {};

TEST_P(TypeKeys, AreTakenInAnyLetterCase) {
  Json json = {{"metadata", {{"name", "j"}}}};
  json["spec"]["tfReplicaSpecs"][GetParam().first] = {{"replicas", 3}};
  const TFJob job = *TFJobFromJson(json);
  ASSERT_NE(job.spec.Find(GetParam().second), nullptr);
  EXPECT_EQ(job.spec.Find(GetParam().second)->replicas, 3);
}

INSTANTIATE_TEST_SUITE_P(Spellings, TypeKeys,
                         ::testing::Values(std::pair{"ps", ReplicaType::kPs},
                                           std::pair{"Ps", ReplicaType::kPs},
                                           std::pair{"PS", ReplicaType::kPs},
                                           std::pair{"WORKER", ReplicaType::kWorker},
                                           std::pair{"chief", ReplicaType::kChief},
                                           std::pair{"master", ReplicaType::kMaster},
                                           std::pair{"eValuator", ReplicaType::kEvaluator}));

TEST(TypeKeys, OfTwoSpellingsTheCanonicalOneLosesAndAdmissionRefuses) {
  const TFJob job =
      Read(R"({"spec":{"tfReplicaSpecs":{"Worker":{"replicas":1},"worker":{"replicas":2}}}})");
  EXPECT_EQ(Worker(job).replicas, 2);
  EXPECT_THAT(JoinErrors(Validate(job)), HasSubstr("given twice, in different letter case"));
}

TEST(Parse, FailsOnlyWithoutAName) {
  EXPECT_FALSE(TFJobFromJson(Json::parse(R"({})")).ok());
  EXPECT_FALSE(TFJobFromJson(Json::parse(R"([])")).ok());
  EXPECT_FALSE(TFJobFromJson(Json::parse(R"({"metadata":{"name":3}})")).ok());
  EXPECT_TRUE(TFJobFromJson(Json::parse(R"({"metadata":{"name":"j"}})")).ok());
}

class WrongTypes : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WrongTypes, AreFindingsWithTheirPath) {
  const TFJob job = Read(GetParam().first);
  ASSERT_FALSE(job.parse_errors.empty());
  EXPECT_EQ(job.parse_errors[0].ToString(), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongTypes,
    ::testing::Values(
        std::pair{R"({"spec":{"runPolicy":3}})",
                  "spec.runPolicy: Invalid value: 3: must be an object"},
        std::pair{R"({"spec":{"runPolicy":{"suspend":"yes"}}})",
                  "spec.runPolicy.suspend: Invalid value: \"yes\": must be true or false"},
        std::pair{R"({"spec":{"runPolicy":{"backoffLimit":1.5}}})",
                  "spec.runPolicy.backoffLimit: Invalid value: 1.5: must be a whole number"},
        std::pair{R"({"spec":{"runPolicy":{"backoffLimit":3000000000}}})",
                  "spec.runPolicy.backoffLimit: Invalid value: 3000000000: must fit into 32 bits"},
        std::pair{R"({"spec":{"runPolicy":{"activeDeadlineSeconds":18446744073709551615}}})",
                  "spec.runPolicy.activeDeadlineSeconds: Invalid value: 18446744073709551615: must "
                  "be a whole "
                  "number"},
        std::pair{R"({"spec":{"runPolicy":{"cleanPodPolicy":7}}})",
                  "spec.runPolicy.cleanPodPolicy: Invalid value: 7: must be a string"},
        std::pair{R"({"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":-1}}}})",
                  "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: -1: must be "
                  "greater than or "
                  "equal to 0"},
        std::pair{
            R"({"spec":{"runPolicy":{"schedulingPolicy":{"minResources":{"cpu":"lots"}}}}})",
            "spec.runPolicy.schedulingPolicy.minResources[cpu]: Invalid value: \"lots\": must be a "
            "quantity, such as 2, 500m or 4Gi"},
        std::pair{R"({"spec":{"tfReplicaSpecs":[]}})",
                  "spec.tfReplicaSpecs: Invalid value: array: must be an object"},
        std::pair{R"({"spec":{"tfReplicaSpecs":{"Worker":7}}})",
                  "spec.tfReplicaSpecs[Worker]: Invalid value: 7: must be an object"},
        std::pair{
            R"({"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":{}}}}}}})",
            "spec.tfReplicaSpecs[Worker].template.spec.containers: Invalid value: object: must be "
            "a list"},
        std::pair{
            R"({"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[3]}}}}}})",
            "spec.tfReplicaSpecs[Worker].template.spec.containers[0]: Invalid value: number: must "
            "be an "
            "object"},
        std::pair{R"({"spec":{"restartScope":"Pod"}})",
                  "spec.restartScope: Unsupported value: \"Pod\": supported values: \"Replica\", "
                  "\"Job\""},
        std::pair{
            R"({"spec":{"startOrder":"Last"}})",
            "spec.startOrder: Unsupported value: \"Last\": supported values: \"Any\", \"PSFirst\""},
        std::pair{R"({"spec":{"replicaCompletion":"Job"}})",
                  "spec.replicaCompletion: Unsupported value: \"Job\": supported values: \"Pod\", "
                  "\"Container\""},
        std::pair{R"({"spec":{"failurePolicy":{"pendingTimeoutSeconds":-1}}})",
                  "spec.failurePolicy.pendingTimeoutSeconds: Invalid value: -1: must be greater "
                  "than or equal to 0"},
        std::pair{R"({"spec":{"failurePolicy":{"maxFailedWorkers":"many"}}})",
                  "spec.failurePolicy.maxFailedWorkers: Invalid value: \"many\": must be a number, "
                  "0 or more, or "
                  "a percentage from \"0%\" to \"100%\""},
        std::pair{R"({"spec":{"failurePolicy":{"maxFailedWorkers":"101%"}}})",
                  "spec.failurePolicy.maxFailedWorkers: Invalid value: \"101%\": must be a number, "
                  "0 or more, or "
                  "a percentage from \"0%\" to \"100%\""},
        std::pair{R"({"spec":{"failurePolicy":{"rules":[{"onPodConditions":["X"]}]}}})",
                  "spec.failurePolicy.rules[0].action: Required value: must say what a match does"},
        std::pair{R"({"spec":{"failurePolicy":{"rules":[{"action":"Restart"}]}}})",
                  "spec.failurePolicy.rules[0]: Required value: a rule needs onExitCodes or "
                  "onPodConditions"},
        std::pair{
            R"({"spec":{"failurePolicy":{"rules":[{"action":"Restart","onExitCodes":{"values":[0]}}]}}})",
            "spec.failurePolicy.rules[0].onExitCodes.values: Invalid value: 0: an exit code of a "
            "failure "
            "is between 1 and 255, inclusive"},
        std::pair{R"({"spec":{"failurePolicy":{"rules":[{"action":"Restart","onExitCodes":{}}]}}})",
                  "spec.failurePolicy.rules[0].onExitCodes.values: Required value: must list at "
                  "least one exit "
                  "code"},
        std::pair{R"({"spec":{"failurePolicy":{"lostPodTimeoutSeconds":-5}}})",
                  "spec.failurePolicy.lostPodTimeoutSeconds: Invalid value: -5: must be greater "
                  "than or equal "
                  "to 0"}));

TEST(Template, IsKeptAsText) {
  const TFJob job =
      Read(R"({"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"x":[1]}}}}}})");
  EXPECT_EQ(Json::parse(Worker(job).template_json)["spec"]["x"], Json({1}));
}

TEST(Template, OfAFinishedJobIsDropped) {
  const TFJob job = Read(R"({"status":{"conditions":[{"type":"Succeeded","status":"True"}]}})");
  EXPECT_THAT(Worker(job).template_json, IsEmpty());
}

TEST(Template, NestedTooDeeplyIsRefused) {
  Json deep = 1;
  for (int i = 0; i < 5000; ++i) deep = Json::array({std::move(deep)});
  Json json = {{"metadata", {{"name", "j"}}}};
  json["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["x"] = std::move(deep);
  EXPECT_THAT(TFJobFromJson(json)->parse_errors[0].ToString(),
              HasSubstr("nested deeper than 64 levels"));
}

TEST(Template, TheUsersJobPortIsTold) {
  const TFJob job = Read(R"({"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[
      {"name":"other","image":"x","ports":[{"name":"tfjob-port","containerPort":1}]},
      {"name":"tensorflow","image":"x","ports":[{"name":"a","containerPort":2},
                                                {"name":"tfjob-port","containerPort":3}]}]}}}}}})");
  EXPECT_EQ(Worker(job).facts.port, 3);
}

TEST(Annotations, AreKeptWithoutKubectlsCopy) {
  const TFJob job = Read(
      R"({"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"x"}}})");
  ASSERT_THAT(job.annotations, SizeIs(1));
  EXPECT_EQ(job.annotations[0].first, "a");
}

TEST(FailurePolicy, IsRead) {
  const TFJob job =
      Read(R"({"spec":{"failurePolicy":{"maxFailedWorkers":"20%","maxRestartsPerReplica":3,
      "lostPodTimeoutSeconds":60,"rules":[{"action":"Ignore","replicaTypes":["worker"],
      "onExitCodes":{"operator":"NotIn","values":[1,2]},"onPodConditions":["DisruptionTarget"]}]}}})");
  const FailurePolicy& policy = job.spec.failure_policy;
  EXPECT_THAT(job.parse_errors, IsEmpty());
  EXPECT_EQ(policy.max_failed_workers_percent, 20);
  EXPECT_EQ(policy.max_restarts_per_replica, 3);
  EXPECT_EQ(policy.lost_pod_timeout_seconds, 60);
  ASSERT_THAT(policy.rules, SizeIs(1));
  EXPECT_EQ(policy.rules[0].action, FailureAction::kIgnore);
  EXPECT_EQ(policy.rules[0].replica_types, std::vector<ReplicaType>{ReplicaType::kWorker});
  EXPECT_TRUE(policy.rules[0].exit_codes_not_in);
}

TEST(Sizes, OfCachedObjectsAreSmall) {
  EXPECT_LE(sizeof(Service), 256u);
  EXPECT_LE(sizeof(Pod), 384u);
}

}  // namespace
}  // namespace tensorfleet::api
