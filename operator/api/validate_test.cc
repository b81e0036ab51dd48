// The admission rules, word for word where the contract gives the words.
#include "operator/api/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/api/tf_config.h"

namespace tensorfleet::api {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TFJob Job(const char* name, const char* replica_specs, const char* more_spec = "{}") {
  Json json = {{"metadata", {{"name", name}}},
               {"spec", {{"tfReplicaSpecs", Json::parse(replica_specs)}}}};
  json["spec"].merge_patch(Json::parse(more_spec));
  return *TFJobFromJson(json);
}

constexpr char kWorker[] =
    R"({"Worker":{"replicas":2,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})";

struct Row {
  const char* name;
  TFJob job;
  const char* message;  // of all findings joined; empty: accepted
};

class Rules : public ::testing::TestWithParam<Row> {};

TEST_P(Rules, SayTheContractsWords) {
  const auto errors = Validate(GetParam().job);
  EXPECT_EQ(errors.empty() ? "" : JoinErrors(errors), GetParam().message);
}

#define DNS_1035                                                                                  \
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "    \
  "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', " \
  "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

constexpr char kLong[] = "a2345678901234567890123456789012345678901234567890123456789012345";

INSTANTIATE_TEST_SUITE_P(
    Table, Rules,
    ::testing::Values(
        Row{"Fine", Job("mnist", kWorker), ""},
        Row{"V1Digit", Job("00test", kWorker),
            "metadata.name: Invalid value: \"00test\": should match: " DNS_1035},
        Row{"V1UpperCase", Job("Test", kWorker),
            "metadata.name: Invalid value: \"Test\": should match: " DNS_1035},
        Row{"V1Dash", Job("test-", kWorker),
            "metadata.name: Invalid value: \"test-\": should match: " DNS_1035},
        Row{"V1Long", Job(kLong, kWorker),
            "metadata.name: Invalid value: "
            "\"a2345678901234567890123456789012345678901234567890123456789012345\": "
            "should match: must be no more than 63 characters"},
        Row{"V1Dot", Job("a.b", kWorker),
            "metadata.name: Invalid value: \"a.b\": should match: " DNS_1035},
        Row{"LongestChild", Job("a234567890123456789012345678901234567890123456789012345", kWorker),
            "metadata.name: Invalid value: "
            "\"a234567890123456789012345678901234567890123456789012345\": is too "
            "long: the replica "
            "\"a234567890123456789012345678901234567890123456789012345-worker-1\" would have "
            "a name of 64 characters, and a service's name has at most 63"},
        Row{"LongestChildJustFits",
            Job("a23456789012345678901234567890123456789012345678901234", kWorker), ""},
        Row{"V3", Job("j", kWorker, R"({"runPolicy":{"managedBy":"x"}})"),
            "spec.runPolicy.managedBy: Unsupported value: \"x\": supported values: "
            "\"kubeflow.org/training-operator\", \"kueue.x-k8s.io/multikueue\""},
        Row{"V3Empty", Job("j", kWorker, R"({"runPolicy":{"managedBy":""}})"),
            "spec.runPolicy.managedBy: Unsupported value: \"\": supported values: "
            "\"kubeflow.org/training-operator\", \"kueue.x-k8s.io/multikueue\""},
        Row{"V3Us",
            Job("j", kWorker, R"({"runPolicy":{"managedBy":"kubeflow.org/training-operator"}})"),
            ""},
        Row{"V4", Job("j", "null"), "spec.tfReplicaSpecs: Required value: must be required"},
        Row{"V5AndV7", Job("j", R"({"Worker":{"template":{"spec":{"containers":[]}}}})"),
            "[spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must be "
            "specified, "
            "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: must have at "
            "least one "
            "container with name tensorflow]"},
        Row{"V6",
            Job("j", R"({"Worker":{"template":{"spec":{"containers":[{"name":"tensorflow"}]}}}})"),
            "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image: Required value: must "
            "be required"},
        Row{"V6OfASidecar",
            Job("j",
                R"({"Worker":{"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"},
                                                                    {"name":"s","image":""}]}}}})"),
            "spec.tfReplicaSpecs[Worker].template.spec.containers[1].image: Required value: must "
            "be required"},
        Row{"V7",
            Job("j", R"({"PS":{"template":{"spec":{"containers":[{"name":"x","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs[PS].template.spec.containers: Required value: must have at least "
            "one container "
            "with name tensorflow"},
        Row{"PathsHaveTheUsersSpelling",
            Job("j", R"({"ps":{"template":{"spec":{"containers":[{"name":"x","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs[ps].template.spec.containers: Required value: must have at least "
            "one container "
            "with name tensorflow"},
        Row{"V8",
            Job("j",
                R"({"Chief":{"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}},
                         "Master":{"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"},
        Row{"Empty", Job("j", "{}"),
            "spec.tfReplicaSpecs: Required value: must have at least one of Chief, Evaluator, "
            "Master, PS and "
            "Worker"},
        Row{"NegativeReplicas",
            Job("j",
                R"({"Worker":{"replicas":-1,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs[Worker].replicas: Invalid value: -1: must be greater than or "
            "equal to 0"},
        Row{"ZeroReplicas",
            Job("j",
                R"({"Worker":{"replicas":0,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})"),
            ""},
        Row{"TooManyReplicas",
            Job("j",
                R"({"Worker":{"replicas":10001,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs[Worker].replicas: Invalid value: 10001: must be no more than "
            "10000"},
        Row{"TwoChiefs",
            Job("j",
                R"({"Chief":{"replicas":2,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})"),
            "spec.tfReplicaSpecs[Chief].replicas: Invalid value: 2: a job has at most one Chief"}),
    [](const auto& info) { return info.param.name; });

std::string Update(const TFJob& from, const TFJob& to) {
  const auto errors = ValidateUpdate(from, to);
  return errors.empty() ? "" : JoinErrors(errors);
}

TEST(Update, ManagedByIsImmutable) {
  const TFJob unset = Job("j", kWorker);
  const TFJob ours =
      Job("j", kWorker, R"({"runPolicy":{"managedBy":"kubeflow.org/training-operator"}})");
  const TFJob kueue =
      Job("j", kWorker, R"({"runPolicy":{"managedBy":"kueue.x-k8s.io/multikueue"}})");
  EXPECT_EQ(
      Update(ours, kueue),
      "spec.runPolicy.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable");
  EXPECT_EQ(Update(ours, unset),
            "spec.runPolicy.managedBy: Invalid value: \"null\": field is immutable");
  EXPECT_THAT(Update(unset, ours), HasSubstr("field is immutable"));
  EXPECT_EQ(Update(ours, ours), "");
}

TEST(Update, AQueueIsImmutableOnceThereIsOne) {
  const TFJob unset = Job("j", kWorker);
  const TFJob a = Job("j", kWorker, R"({"runPolicy":{"schedulingPolicy":{"queue":"a"}}})");
  const TFJob b = Job("j", kWorker, R"({"runPolicy":{"schedulingPolicy":{"queue":"b"}}})");
  EXPECT_THAT(Update(a, b), HasSubstr("spec.runPolicy.schedulingPolicy.queue is immutable"));
  EXPECT_EQ(Update(unset, a), "");
  EXPECT_EQ(Update(a, unset), "");
}

TEST(Update, ReplicasMayChange) {
  EXPECT_EQ(
      Update(
          Job("j", kWorker),
          Job("j",
              R"({"Worker":{"replicas":5,"template":{"spec":{"containers":[{"name":"tensorflow","image":"t"}]}}}})")),
      "");
}

TEST(Update, ToSomethingInvalidIsRefused) {
  EXPECT_THAT(Update(Job("j", kWorker), Job("j", "{}")), HasSubstr("Required value"));
}

TEST(Update, WhatAnOlderOperatorLetInDoesNotStandInTheWay) {
  const TFJob odd = Job("j", kWorker, R"({"successPolicy":"Most"})");
  EXPECT_EQ(Update(odd, odd), "");
  EXPECT_THAT(Update(Job("j", kWorker), odd), HasSubstr("spec.successPolicy: Unsupported value"));
}

TEST(Update, OfAFinishedJobIsNotJudgedAnew) {
  TFJob finished = Job("j", kWorker);
  finished.status.conditions.push_back({"Failed", true, "", "", {}, {}});
  EXPECT_EQ(Update(finished, Job("j", "{}")), "");
}

TEST(Update, OfAJobBeingDeletedIsNotJudgedAnew) {
  TFJob going = Job("j", "{}");
  going.deletion_time = absl::UnixEpoch();
  EXPECT_EQ(Update(Job("j", "{}"), going), "");
}

// The kernel's limit for one variable, 131072 bytes with its name and a zero, to the byte.
TEST(TfConfig, IsRefusedFromTheFirstByteThatNoProcessCanBeGiven) {
  const auto with = [](int replicas, const char* more = "{}") {
    Json specs = Json::parse(kWorker);
    specs["Worker"]["replicas"] = replicas;
    return Job("j", specs.dump().c_str(), more);
  };
  const auto bytes = [&](int replicas, const std::string& domain) {
    const TFJob job = with(replicas);
    return std::string("TF_CONFIG=").size() + 1 +
           TfConfigWriter(job, domain).For({ReplicaType::kWorker, replicas - 1})->size();
  };
  int largest = 2, too_many = 10000;
  while (largest + 1 < too_many) {
    const int middle = (largest + too_many) / 2;
    (bytes(middle, "") <= 131072 ? largest : too_many) = middle;
  }
  EXPECT_TRUE(Validate(with(largest)).empty());
  const auto errors = Validate(with(largest + 1));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].ToString(),
              HasSubstr(absl::StrCat(bytes(largest + 1, ""), " bytes for ", largest + 1)));
  EXPECT_FALSE(Validate(with(largest), "cluster.local").empty()) << "the domain counts";
  EXPECT_TRUE(Validate(with(9000, R"({"enableDynamicWorker":true})")).empty());
}

TEST(JoinErrors, OneStandsAloneSeveralAreInBrackets) {
  EXPECT_EQ(JoinErrors({Required("a", "b")}), "a: Required value: b");
  EXPECT_EQ(JoinErrors({Required("a", "b"), Forbidden("c", "d")}),
            "[a: Required value: b, c: Forbidden: d]");
}

}  // namespace
}  // namespace tensorfleet::api
