// The objects that are created, field by field.
#include "operator/plan/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/plan/pipeline.h"
#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;
using testing::BodyOf;
using testing::EventReasons;
using testing::SnapshotOf;
using testing::TFJob;

constexpr char kTemplate[] = "/spec/tfReplicaSpecs/Worker/template";

Json PodOf(const TFJob& job, const char* name, const Options& options = {}) {
  return BodyOf(Reconcile(SnapshotOf(job), options), ActionKind::kCreatePod, name);
}

Json ServiceOf(const TFJob& job, const char* name, const Options& options = {}) {
  return BodyOf(Reconcile(SnapshotOf(job), options), ActionKind::kCreateService, name);
}

Json EnvOf(const Json& pod) { return pod["spec"]["containers"][0]["env"]; }

TEST(Pod, IsNamedAfterJobTypeAndIndex) {
  const Json pod = PodOf(TFJob("mnist").Workers(2), "mnist-worker-1");
  EXPECT_EQ(pod["apiVersion"], "v1");
  EXPECT_EQ(pod["kind"], "Pod");
  EXPECT_EQ(pod["metadata"]["name"], "mnist-worker-1");
  EXPECT_EQ(pod["metadata"]["namespace"], "ns");
}

TEST(Pod, HasTheFourLabels) {
  const Json labels = PodOf(TFJob("mnist").Ps(2).Workers(1), "mnist-ps-1")["metadata"]["labels"];
  EXPECT_EQ(labels, Json({{"training.kubeflow.org/operator-name", "tfjob-controller"},
                          {"training.kubeflow.org/job-name", "mnist"},
                          {"training.kubeflow.org/replica-type", "ps"},
                          {"training.kubeflow.org/replica-index", "1"}}));
}

TEST(Pod, IsOwnedByTheJobAsItsController) {
  const Json owners =
      PodOf(TFJob("mnist").Workers(1), "mnist-worker-0")["metadata"]["ownerReferences"];
  EXPECT_EQ(owners, Json::array({{{"apiVersion", "kubeflow.org/v1"},
                                  {"kind", "TFJob"},
                                  {"name", "mnist"},
                                  {"uid", "job-uid"},
                                  {"controller", true},
                                  {"blockOwnerDeletion", true}}}));
}

struct RoleRow {
  const char* name;
  TFJob job;
  const char* pod;
  bool is_master;
};

class MasterRole : public ::testing::TestWithParam<RoleRow> {};

TEST_P(MasterRole, IsGivenToThePodThatStandsForTheJob) {
  const Json labels = PodOf(GetParam().job, GetParam().pod)["metadata"]["labels"];
  EXPECT_EQ(labels.value("training.kubeflow.org/job-role", ""),
            GetParam().is_master ? "master" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Table, MasterRole,
    ::testing::Values(
        RoleRow{"Chief", TFJob("j").Chief().Workers(1), "j-chief-0", true},
        RoleRow{"Master", TFJob("j").Master().Workers(1), "j-master-0", true},
        RoleRow{"WorkerBesideChief", TFJob("j").Chief().Workers(1), "j-worker-0", false},
        RoleRow{"WorkerZeroAlone", TFJob("j").Ps(1).Workers(2), "j-worker-0", true},
        RoleRow{"WorkerOne", TFJob("j").Ps(1).Workers(2), "j-worker-1", false},
        RoleRow{"Ps", TFJob("j").Ps(1).Workers(2), "j-ps-0", false},
        RoleRow{"Evaluator", TFJob("j").Evaluator().Workers(1), "j-evaluator-0", false}),
    [](const auto& info) { return info.param.name; });

TEST(Pod, TakesLabelsAnnotationsAndFinalizersFromTheTemplateAndNothingElse) {
  const Json metadata =
      PodOf(TFJob("j").Workers(1).With(std::string(kTemplate) + "/metadata",
                                       R"({"name":"other","namespace":"else","labels":{"team":"x"},
                                     "annotations":{"note":"y"},"finalizers":["a/b"]})"),
            "j-worker-0")["metadata"];
  EXPECT_EQ(metadata["name"], "j-worker-0");
  EXPECT_EQ(metadata["namespace"], "ns");
  EXPECT_EQ(metadata["labels"]["team"], "x");
  EXPECT_EQ(metadata["annotations"], Json({{"note", "y"}}));
  EXPECT_EQ(metadata["finalizers"], Json({"a/b"}));
}

TEST(Pod, OurLabelsOverrideTheTemplates) {
  const Json labels =
      PodOf(TFJob("j").Workers(1).With(std::string(kTemplate) + "/metadata",
                                       R"({"labels":{"training.kubeflow.org/job-name":"x",
                                              "training.kubeflow.org/job-role":"y"}})"),
            "j-worker-0")["metadata"]["labels"];
  EXPECT_EQ(labels["training.kubeflow.org/job-name"], "j");
  EXPECT_EQ(labels["training.kubeflow.org/job-role"], "master");
}

TEST(Pod, CarriesEveryFieldOfTheTemplateThrough) {
  const Json pod = PodOf(TFJob("j")
                             .Workers(1)
                             .With(std::string(kTemplate) + "/spec/aFieldOfTomorrow", "[1,2]")
                             .With(std::string(kTemplate) + "/spec/hostNetwork", "true"),
                         "j-worker-0");
  EXPECT_EQ(pod["spec"]["aFieldOfTomorrow"], Json({1, 2}));
  EXPECT_EQ(pod["spec"]["hostNetwork"], true);
  EXPECT_FALSE(pod["spec"].contains("schedulerName"));
}

class PodRestartPolicy : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PodRestartPolicy, FollowsTheReplicaSpec) {
  const Json pod = PodOf(TFJob("j").Workers(1).RestartPolicy(GetParam().first), "j-worker-0");
  EXPECT_EQ(pod["spec"]["restartPolicy"], GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(All, PodRestartPolicy,
                         ::testing::Values(std::pair{"Never", "Never"},
                                           std::pair{"Always", "Always"},
                                           std::pair{"OnFailure", "OnFailure"},
                                           std::pair{"ExitCode", "Never"}));

TEST(Pod, RestartPolicyIsNeverWhenTheReplicaSpecHasNone) {
  EXPECT_EQ(PodOf(TFJob("j").Workers(1), "j-worker-0")["spec"]["restartPolicy"], "Never");
}

TEST(Pod, ARestartPolicyInTheTemplateIsOverwrittenWithAWarning) {
  const Snapshot now = SnapshotOf(
      TFJob("j").Workers(2).With(std::string(kTemplate) + "/spec/restartPolicy", "\"Always\""));
  const Plan plan = Reconcile(now);
  EXPECT_EQ(BodyOf(plan, ActionKind::kCreatePod, "j-worker-0")["spec"]["restartPolicy"], "Never");
  EXPECT_THAT(EventReasons(plan), ElementsAre("SetPodTemplateRestartPolicy"));
  EXPECT_EQ(plan.events[0].message,
            "Restart policy in pod template will be overwritten by restart policy in replica spec");
}

TEST(Pod, TfConfigComesAfterTheUsersOwnVariables) {
  const Json env =
      EnvOf(PodOf(TFJob("j").Workers(2).With(
                      std::string(kTemplate) + "/spec/containers/0/env",
                      R"([{"name":"TF_CONFIG","value":"mine"},{"name":"A","value":"1"}])"),
                  "j-worker-1"));
  ASSERT_EQ(env.size(), 3u);
  EXPECT_EQ(env[0]["value"], "mine");
  EXPECT_EQ(env[2]["name"], "TF_CONFIG");
  EXPECT_EQ(env[2]["value"],
            R"({"cluster":{"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},)"
            R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST(Pod, OnlyTheTensorflowContainerGetsTfConfig) {
  const Json pod =
      PodOf(TFJob("j")
                .Workers(2)
                .With(std::string(kTemplate) + "/spec/containers",
                      R"([{"name":"side","image":"s"},{"name":"tensorflow","image":"t"}])")
                .With(std::string(kTemplate) + "/spec/initContainers",
                      R"([{"name":"init","image":"i"}])"),
            "j-worker-0");
  EXPECT_FALSE(pod["spec"]["containers"][0].contains("env"));
  EXPECT_EQ(pod["spec"]["containers"][1]["env"][0]["name"], "TF_CONFIG");
  EXPECT_FALSE(pod["spec"]["initContainers"][0].contains("env"));
}

TEST(Pod, AJobOfOneReplicaGetsNoTfConfig) {
  EXPECT_EQ(EnvOf(PodOf(TFJob("j").Chief(), "j-chief-0")), Json::array());
}

TEST(Pod, TheDefaultPortComesAfterTheUsersOwn) {
  const Json ports =
      PodOf(TFJob("j").Workers(1).With(std::string(kTemplate) + "/spec/containers/0/ports",
                                       R"([{"name":"http","containerPort":80}])"),
            "j-worker-0")["spec"]["containers"][0]["ports"];
  EXPECT_EQ(ports, Json::parse(R"([{"name":"http","containerPort":80},
                                   {"name":"tfjob-port","containerPort":2222}])"));
}

TEST(Pod, AJobPortOfTheUsersIsKept) {
  const TFJob job = TFJob("j").Workers(2).With(std::string(kTemplate) + "/spec/containers/0/ports",
                                               R"([{"name":"tfjob-port","containerPort":3333}])");
  const Json pod = PodOf(job, "j-worker-0");
  EXPECT_EQ(pod["spec"]["containers"][0]["ports"].size(), 1u);
  EXPECT_THAT(EnvOf(pod)[0]["value"].get<std::string>(),
              ::testing::HasSubstr("j-worker-1.ns.svc:3333"));
}

TEST(Pod, AFirstAttemptCarriesNoMark) {
  EXPECT_EQ(PodOf(TFJob("j").Workers(1), "j-worker-0")["metadata"]["annotations"], Json::object());
}

TEST(Pod, ALaterAttemptSaysWhichOneItIs) {
  const Json metadata =
      PodOf(TFJob("j")
                .Workers(2)
                .Started()
                .With("/status/replicaStatuses/Worker", R"({"restartsByIndex":{"1":2}})")
                .With("/status/jobRestarts", "3"),
            "j-worker-1")["metadata"];
  EXPECT_EQ(metadata["annotations"],
            Json({{"tensorfleet.dev/attempt", "2"}, {"tensorfleet.dev/job-attempt", "3"}}));
}

TEST(Service, IsHeadlessAndSelectsItsReplicaByTheFourLabels) {
  const Json service = ServiceOf(TFJob("mnist").Ps(1).Workers(1), "mnist-ps-0");
  const Json labels = {{"training.kubeflow.org/operator-name", "tfjob-controller"},
                       {"training.kubeflow.org/job-name", "mnist"},
                       {"training.kubeflow.org/replica-type", "ps"},
                       {"training.kubeflow.org/replica-index", "0"}};
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["selector"], labels);
  EXPECT_EQ(service["metadata"]["labels"], labels);
  EXPECT_EQ(service["metadata"]["ownerReferences"][0]["uid"], "job-uid");
}

TEST(Service, LacksTheJobRoleLabel) {
  const Json service = ServiceOf(TFJob("j").Workers(1), "j-worker-0");
  EXPECT_FALSE(service["metadata"]["labels"].contains("training.kubeflow.org/job-role"));
}

TEST(Service, PublishesAddressesThatAreNotReady) {
  EXPECT_EQ(ServiceOf(TFJob("j").Workers(1), "j-worker-0")["spec"]["publishNotReadyAddresses"],
            true);
}

TEST(Service, NeedNotPublishThem) {
  Options options;
  options.publish_not_ready_addresses = false;
  EXPECT_FALSE(ServiceOf(TFJob("j").Workers(1), "j-worker-0", options)["spec"].contains(
      "publishNotReadyAddresses"));
}

TEST(Service, HasTheDefaultPort) {
  EXPECT_EQ(ServiceOf(TFJob("j").Workers(1), "j-worker-0")["spec"]["ports"],
            Json::parse(R"([{"name":"tfjob-port","port":2222}])"));
}

TEST(Service, KeepsTheProtocolOfAPortAndNamesTheUnnamed) {
  const Json ports =
      ServiceOf(TFJob("j").Workers(1).With(std::string(kTemplate) + "/spec/containers/0/ports",
                                           R"([{"name":"dns","containerPort":53,"protocol":"UDP"},
                                     {"containerPort":8080},{"containerPort":8081}])"),
                "j-worker-0")["spec"]["ports"];
  EXPECT_EQ(ports, Json::parse(R"([{"name":"dns","port":53,"protocol":"UDP"},
                                   {"name":"port-8080","port":8080},
                                   {"name":"port-8081","port":8081},
                                   {"name":"tfjob-port","port":2222}])"));
}

TEST(ClusterDomain, EndsEveryAddress) {
  Options options;
  options.cluster_domain = "cluster.local";
  const Json env = EnvOf(PodOf(TFJob("j").Ps(1).Workers(1), "j-worker-0", options));
  EXPECT_THAT(env[0]["value"].get<std::string>(),
              ::testing::HasSubstr("j-ps-0.ns.svc.cluster.local:2222"));
}

}  // namespace
}  // namespace tensorfleet::plan
