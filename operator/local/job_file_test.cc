#include "operator/local/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGood[] = R"(apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: mnist
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: tensorflow
            image: train:1
            command: [python, train.py]
)";

std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

JobFileOptions Options(std::vector<std::string> overrides = {}) {
  return {"job.yaml", "", std::move(overrides), {}};
}

std::string Refusal(const std::string& text, const JobFileOptions& options = Options()) {
  const auto read = ReadJobFile(text, options);
  EXPECT_FALSE(read.ok());
  return std::string(read.status().message());
}

TEST(JobFile, GivesTheJob) {
  const auto read = ReadJobFile(kGood, Options());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->job->name, "mnist");
  EXPECT_EQ(read->job->namespace_, "default");
  EXPECT_EQ(read->job->spec.Find(api::ReplicaType::kWorker)->replicas, 2);
  EXPECT_TRUE(read->notices.empty());
}

TEST(JobFile, AppliesOverrides) {
  const auto read = ReadJobFile(kGood, Options({"tfReplicaSpecs.Worker.replicas=4"}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->job->spec.Find(api::ReplicaType::kWorker)->replicas, 4);
}

struct Fault {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

// Line, path and reason.
const Fault kFaults[] = {
    {"Syntax", "spec:", "spec: [", "job.yaml:"},
    {"NegativeReplicas", "replicas: 2", "replicas: -2",
     "job.yaml:8: spec.tfReplicaSpecs[Worker].replicas: Invalid value: -2: must be greater than or "
     "equal to 0"},
    {"WrongType", "replicas: 2", "replicas: two",
     "job.yaml:8: spec.tfReplicaSpecs[Worker].replicas: Invalid value: \"two\": must be a whole "
     "number"},
    {"MisspelledField", "replicas: 2", "replica: 2",
     "job.yaml:8: spec.tfReplicaSpecs[Worker].replica: unknown field"},
    {"MisspelledFieldOfARule", "spec:\n",
     "spec:\n  failurePolicy: {rules: [{action: Ignore, onExitCode: {}, onPodConditions: [X]}]}\n",
     "job.yaml:6: spec.failurePolicy.rules[0].onExitCode: unknown field"},
    {"MisspelledContainerField", "command:", "comand:",
     "job.yaml:14: spec.tfReplicaSpecs[Worker].template.spec.containers[0].comand: unknown field"},
    {"UnknownType", "Worker:", "Wroker:", "job.yaml:7: spec.tfReplicaSpecs[Wroker]: Unsupported"},
    {"NoTensorflowContainer", "name: tensorflow", "name: main",
     "job.yaml:11: spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must have "
     "at least one container with name tensorflow"},
    {"BadName", "name: mnist", "name: 0mnist", "job.yaml:4: metadata.name: Invalid value"},
    {"NoName", "name: mnist", "labels: {}", "job.yaml:3: metadata.name: Required value"},
    {"AnotherVersion", "kubeflow.org/v1", "kubeflow.org/v2",
     "job.yaml:1: apiVersion: Unsupported value: \"kubeflow.org/v2\""},
    {"AnotherKind", "kind: TFJob", "kind: PyTorchJob", "job.yaml: there is no TFJob in the file"},
    {"Suspended", "spec:\n", "spec:\n  runPolicy: {suspend: true}\n",
     "job.yaml:6: spec.runPolicy.suspend: Forbidden"},
    {"ClaimWithoutFolder", "          containers:",
     "          volumes: [{name: data, persistentVolumeClaim: {claimName: claim}}]\n"
     "          containers:",
     "job.yaml:11: spec.tfReplicaSpecs[Worker].template.spec.volumes[0]: Forbidden: "
     "persistentVolumeClaim needs a folder on this machine: --volume claim=FOLDER"},
    {"SecretVariable", "command:",
     "env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n            command:",
     "job.yaml:14: spec.tfReplicaSpecs[Worker].template.spec.containers[0].env[0].valueFrom."
     "secretKeyRef: Forbidden: there is no cluster to read it from; --env KEY=VALUE"},
    {"MountAtRoot", "command:", "volumeMounts: [{name: data, mountPath: /}]\n            command:",
     "job.yaml:14: spec.tfReplicaSpecs[Worker].template.spec.containers[0].volumeMounts[0]."
     "mountPath: Invalid value"},
};

class BadFile : public ::testing::TestWithParam<Fault> {};

TEST_P(BadFile, IsRefusedWithLinePathAndReason) {
  const Fault& fault = GetParam();
  EXPECT_THAT(Refusal(With(kGood, fault.from, fault.to)), HasSubstr(fault.message));
}

INSTANTIATE_TEST_SUITE_P(Faults, BadFile, ::testing::ValuesIn(kFaults),
                         [](const auto& info) { return info.param.name; });

TEST(JobFile, ReportsEveryFault) {
  const std::string text = With(With(kGood, "replicas: 2", "replicas: -2"), "image:", "imag:");
  const std::string message = Refusal(text);
  EXPECT_THAT(message, HasSubstr("job.yaml:8: "));
  EXPECT_THAT(message, HasSubstr("job.yaml:13: "));
}

TEST(JobFile, BlamesTheOverride) {
  EXPECT_EQ(
      Refusal(kGood, Options({"tfReplicaSpecs.Worker.replicas=-1"})),
      "--set tfReplicaSpecs.Worker.replicas=-1: spec.tfReplicaSpecs[Worker].replicas: Invalid "
      "value: -1: must be greater than or equal to 0");
}

TEST(JobFile, TakesGivenVolumesAndVariables) {
  const std::string text =
      With(With(kGood, "          containers:",
                "          volumes: [{name: data, persistentVolumeClaim: {claimName: claim}}]\n"
                "          containers:"),
           "command:",
           "env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n"
           "            command:");
  JobFileOptions options = Options();
  options.given = {{"claim"}, {"KEY"}};
  EXPECT_TRUE(ReadJobFile(text, options).ok());
}

TEST(JobFile, SaysWhatHasNoEffect) {
  const auto read = ReadJobFile(
      With(kGood, "command:", "resources: {limits: {cpu: 4}}\n            command:"), Options());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->notices,
              ElementsAre("without effect on this machine: template.spec.containers.resources"));
}

TEST(JobFile, LeavesOtherKindsOut) {
  const auto read = ReadJobFile(
      std::string(kGood) + "---\nkind: ConfigMap\nmetadata: {name: settings}\n", Options());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->notices, ElementsAre(HasSubstr("ConfigMap settings in the file is left out")));
}

TEST(JobFile, AsksWhichOfSeveralJobs) {
  const std::string two = std::string(kGood) + "---\n" + With(kGood, "name: mnist", "name: other");
  EXPECT_EQ(Refusal(two), "job.yaml: holds the TFJobs mnist, other; choose one by --job");
  JobFileOptions options = Options();
  options.job = "other";
  const auto read = ReadJobFile(two, options);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->job->name, "other");
}

}  // namespace
}  // namespace tensorfleet::local
