// deploy/crd/tfjob.yaml: that it is generated from the code, and says what the contract wants.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "operator/api/fields/schema.h"
#include "operator/api/fields/spec_reader.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/index_set.h"

namespace tensorfleet::api {
namespace {

using Words = std::vector<std::string>;

YAML::Node Load(const std::string& path) {
  return YAML::LoadFile(std::string(DEPLOY_DIR) + "/" + path);
}

// The schema of a field, by the names on the way: "spec", "runPolicy", ...; "[]" goes into a list's
// items and "*" into a map's values.
YAML::Node Field(const Words& path) {
  const YAML::Node root = Load("crd/tfjob.yaml");
  YAML::Node node = YAML::Clone(root["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
  for (const std::string& name : path) {
    YAML::Node next = name == "[]"  ? node["items"]
                      : name == "*" ? node["additionalProperties"]
                                    : node["properties"][name];
    if (!next.IsDefined()) throw std::runtime_error("the CRD lacks " + name);
    node.reset(next);
  }
  return node;
}

Words Enum(const Words& path) { return Field(path)["enum"].as<Words>(); }

TEST(Crd, IsWhatTheFieldsOfTheCodeGive) {
  std::ifstream file(std::string(DEPLOY_DIR) + "/crd/tfjob.yaml");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), CrdYaml()) << "run ./dev generate";
}

TEST(Crd, IsSmallEnoughForTheAnnotationOfKubectlApply) {
  EXPECT_LT(std::filesystem::file_size(std::string(DEPLOY_DIR) + "/crd/tfjob.yaml"), 262'144u / 4);
}

TEST(Crd, HasTheContractsNames) {
  const YAML::Node crd = Load("crd/tfjob.yaml");
  EXPECT_EQ(crd["metadata"]["name"].as<std::string>(), std::string(kPlural) + "." + kApiGroup);
  EXPECT_EQ(crd["spec"]["group"].as<std::string>(), kApiGroup);
  EXPECT_EQ(crd["spec"]["names"]["kind"].as<std::string>(), kKind);
  EXPECT_EQ(crd["spec"]["names"]["listKind"].as<std::string>(), "TFJobList");
  EXPECT_EQ(crd["spec"]["names"]["singular"].as<std::string>(), "tfjob");
  EXPECT_EQ(crd["spec"]["scope"].as<std::string>(), "Namespaced");
  ASSERT_EQ(crd["spec"]["versions"].size(), 1u);
  EXPECT_EQ(std::string(kApiGroup) + "/" + crd["spec"]["versions"][0]["name"].as<std::string>(),
            kApiVersion);
}

TEST(Crd, HasTheSubresourcesAndColumns) {
  const YAML::Node version = Load("crd/tfjob.yaml")["spec"]["versions"][0];
  EXPECT_TRUE(version["subresources"]["status"].IsDefined());
  EXPECT_TRUE(version["subresources"]["scale"].IsDefined());
  Words names;
  for (const YAML::Node& column : version["additionalPrinterColumns"]) {
    names.push_back(column["name"].as<std::string>());
  }
  EXPECT_EQ(names, (Words{"State", "Step", "Ready", "Restarts", "Age", "Checkpoint"}));
}

TEST(Crd, EnumsHaveTheWordsThatTheCodeKnows) {
  EXPECT_EQ(Enum({"spec", "successPolicy"}), kSuccessPolicyWords);
  EXPECT_EQ(Enum({"spec", "restartScope"}), kRestartScopeWords);
  EXPECT_EQ(Enum({"spec", "startOrder"}), kStartOrderWords);
  EXPECT_EQ(Enum({"spec", "replicaCompletion"}), kReplicaCompletionWords);
  EXPECT_EQ(Enum({"spec", "runPolicy", "cleanPodPolicy"}), kCleanPodPolicyWords);
  EXPECT_EQ(Enum({"spec", "tfReplicaSpecs", "*", "cleanPodPolicy"}), kCleanPodPolicyWords);
  EXPECT_EQ(Enum({"spec", "tfReplicaSpecs", "*", "restartPolicy"}), kRestartPolicyWords);
  EXPECT_EQ(Enum({"spec", "failurePolicy", "rules", "[]", "action"}), kFailureActionWords);
  EXPECT_EQ(Enum({"spec", "failurePolicy", "rules", "[]", "onExitCodes", "operator"}),
            kExitCodeOperatorWords);
  EXPECT_EQ(Enum({"spec", "runPolicy", "managedBy"}), (Words{kManagedByUs, kManagedByMultiKueue}));
  Words types;
  for (const ReplicaType type : kReplicaTypes) types.emplace_back(CanonicalName(type));
  EXPECT_EQ(Enum({"spec", "failurePolicy", "rules", "[]", "replicaTypes", "[]"}), types);
}

TEST(Crd, FillsInTheRunPolicyThatTheSdkNeeds) {
  const YAML::Node fallback = Field({"spec", "runPolicy"})["default"];
  ASSERT_TRUE(fallback.IsDefined() && fallback.IsMap());
  EXPECT_EQ(fallback.size(), 0u);
}

TEST(Crd, LimitsReplicasAsTheCodeDoes) {
  const YAML::Node replicas = Field({"spec", "tfReplicaSpecs", "*", "replicas"});
  EXPECT_EQ(replicas["minimum"].as<int>(), 0);
  EXPECT_EQ(replicas["maximum"].as<int>(), kMaxReplicas);
}

// Every field that status can have is in the schema, or the API server would drop it.
TEST(Crd, HasEveryFieldOfStatus) {
  for (const char* field : {"conditions", "replicaStatuses", "startTime", "completionTime",
                            "lastReconcileTime", "ready", "restarts", "jobRestarts", "progress"}) {
    EXPECT_TRUE(Field({"status", field}).IsMap()) << field;
  }
  for (const char* field : {"active", "succeeded", "failed", "selector", "succeededIndexes",
                            "restartsByIndex", "ignoredFailuresByIndex"}) {
    EXPECT_TRUE(Field({"status", "replicaStatuses", "*", field}).IsMap()) << field;
  }
  for (const char* field : {"step", "checkpoint", "stepsPerSecond", "examplesPerSecond", "time"}) {
    EXPECT_TRUE(Field({"status", "progress", field}).IsMap()) << field;
  }
}

TEST(Crd, KeepsUnknownFieldsOfPodTemplates) {
  EXPECT_TRUE(Field({"spec", "tfReplicaSpecs", "*", "template",
                     "spec"})["x-kubernetes-preserve-unknown-fields"]
                  .as<bool>());
}

// Whether the roles of `files` give `verb` on `resource` of `group`.
bool Allows(const Words& files, const std::string& group, const std::string& resource,
            const std::string& verb) {
  const auto has = [](const YAML::Node& list, const std::string& word) {
    const Words words = list.as<Words>();
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  for (const std::string& file : files) {
    for (const YAML::Node& rule : Load(file)["rules"]) {
      if (has(rule["apiGroups"], group) && has(rule["resources"], resource) &&
          has(rule["verbs"], verb)) {
        return true;
      }
    }
  }
  return false;
}

// training-operator's role lacked both.
TEST(Roles, AllowLeadersAndAdoption) {
  const Words files = {"rbac/cluster_role.yaml", "rbac/role.yaml"};
  for (const char* verb : {"get", "create", "update"}) {
    EXPECT_TRUE(Allows(files, "coordination.k8s.io", "leases", verb)) << verb;
  }
  EXPECT_TRUE(Allows(files, "", "services", "patch"));
}

TEST(Roles, GiveTheirUsersTFJobs) {
  EXPECT_TRUE(Allows({"rbac/user_view.yaml"}, "kubeflow.org", "tfjobs", "list"));
  EXPECT_FALSE(Allows({"rbac/user_view.yaml"}, "kubeflow.org", "tfjobs", "create"));
  EXPECT_TRUE(Allows({"rbac/user_edit.yaml"}, "kubeflow.org", "tfjobs", "create"));
  EXPECT_TRUE(Allows({"rbac/user_edit.yaml"}, "kubeflow.org", "tfjobs/scale", "patch"));
  const YAML::Node admin = Load("rbac/user_admin.yaml");
  const YAML::Node edit = Load("rbac/user_edit.yaml");
  for (const auto& label : admin["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]) {
    EXPECT_EQ(edit["metadata"]["labels"][label.first.as<std::string>()].as<std::string>(),
              label.second.as<std::string>());
  }
}

TEST(Deploy, EveryFileHoldsOneObjectOfAKnownKind) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DEPLOY_DIR)) {
    const std::string path = entry.path().string();
    if (path.find("/crd/") == std::string::npos && path.find("/rbac/") == std::string::npos)
      continue;
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::vector<YAML::Node> documents = YAML::LoadAllFromFile(path);
    ASSERT_EQ(documents.size(), 1u) << path;
    EXPECT_TRUE(documents[0]["kind"].IsDefined()) << path;
    EXPECT_TRUE(documents[0]["metadata"]["name"].IsDefined()) << path;
  }
  EXPECT_GE(files, 9);
}

}  // namespace
}  // namespace tensorfleet::api
