// TF_CONFIG byte for byte.
#include "operator/api/tf_config.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tensorfleet::api {
namespace {

using Json = nlohmann::json;

TFJob Job(std::initializer_list<std::pair<const char*, int>> replicas, bool dynamic = false) {
  Json json = {{"metadata", {{"name", "j"}, {"namespace", "ns"}}},
               {"spec", {{"enableDynamicWorker", dynamic}, {"tfReplicaSpecs", Json::object()}}}};
  for (const auto& [type, count] : replicas)
    json["spec"]["tfReplicaSpecs"][type]["replicas"] = count;
  return *TFJobFromJson(json);
}

std::string Config(const TFJob& job, ReplicaId replica, const char* domain = "") {
  return TfConfigWriter(job, domain).For(replica).value_or("none");
}

constexpr ReplicaId kWorker0 = {ReplicaType::kWorker, 0};

TEST(DenseTfConfig, ListsEveryTypeInAlphabeticalOrder) {
  EXPECT_EQ(
      Config(Job({{"Worker", 1}, {"PS", 1}, {"Evaluator", 1}}), kWorker0),
      R"({"cluster":{"evaluator":["j-evaluator-0.ns.svc:2222"],"ps":["j-ps-0.ns.svc:2222"],)"
      R"("worker":["j-worker-0.ns.svc:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"})");
}

TEST(DenseTfConfig, ListsReplicasInIndexOrder) {
  EXPECT_EQ(
      Config(Job({{"Chief", 1}, {"Worker", 12}}), {ReplicaType::kChief, 0}).substr(0, 120),
      std::string(
          R"({"cluster":{"chief":["j-chief-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222",)"
          R"("j-worker-1.ns.svc:2222","j-worker-2.ns.svc:2222"])")
          .substr(0, 120));
}

TEST(DenseTfConfig, TellsTheEvaluatorTheSameCluster) {
  EXPECT_EQ(
      Config(Job({{"Evaluator", 1}, {"Worker", 1}}), {ReplicaType::kEvaluator, 0}),
      R"({"cluster":{"evaluator":["j-evaluator-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222"]},)"
      R"("task":{"type":"evaluator","index":0},"environment":"cloud"})");
}

TEST(DenseTfConfig, MayLeaveTheEvaluatorOut) {
  TFJob job = Job({{"Evaluator", 1}, {"Worker", 1}});
  job.spec.evaluator_in_cluster = false;
  EXPECT_EQ(Config(job, kWorker0), R"({"cluster":{"worker":["j-worker-0.ns.svc:2222"]},)"
                                   R"("task":{"type":"worker","index":0},"environment":"cloud"})");
}

TEST(DenseTfConfig, ATypeOfNoReplicasIsAnEmptyList) {
  EXPECT_EQ(Config(Job({{"PS", 0}, {"Worker", 2}}), {ReplicaType::kWorker, 1}),
            R"({"cluster":{"ps":[],"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},)"
            R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST(DenseTfConfig, HasTheClusterDomain) {
  EXPECT_EQ(ReplicaAddress(Job({{"Worker", 2}}), kWorker0, "cluster.local"),
            "j-worker-0.ns.svc.cluster.local:2222");
}

TEST(DenseTfConfig, HasThePortOfEachType) {
  TFJob job = Job({{"PS", 1}, {"Worker", 1}});
  job.spec.replicas[static_cast<int>(ReplicaType::kPs)]->facts.port = 4444;
  EXPECT_EQ(Config(job, kWorker0),
            R"({"cluster":{"ps":["j-ps-0.ns.svc:4444"],"worker":["j-worker-0.ns.svc:2222"]},)"
            R"("task":{"type":"worker","index":0},"environment":"cloud"})");
}

TEST(SparseTfConfig, AWorkerKnowsItselfAndTheParameterServers) {
  EXPECT_EQ(
      Config(Job({{"PS", 2}, {"Worker", 3}}, true), {ReplicaType::kWorker, 1}),
      R"({"cluster":{"worker":{"1":"j-worker-1.ns.svc:2222"},)"
      R"("ps":["j-ps-0.ns.svc:2222","j-ps-1.ns.svc:2222"]},"task":{"type":"worker","index":1}})");
}

TEST(SparseTfConfig, WithoutParameterServersThereIsNull) {
  EXPECT_EQ(
      Config(Job({{"Worker", 2}}, true), kWorker0),
      R"({"cluster":{"worker":{"0":"j-worker-0.ns.svc:2222"},"ps":null},"task":{"type":"worker","index":0}})");
}

TEST(SparseTfConfig, AParameterServerKnowsItselfWithItsTrueIndex) {
  EXPECT_EQ(
      Config(Job({{"PS", 2}, {"Worker", 3}}, true), {ReplicaType::kPs, 1}),
      R"({"cluster":{"worker":{},"ps":["j-ps-1.ns.svc:2222"]},"task":{"type":"ps","index":1}})");
}

// With training-operator these three got an empty cluster.
TEST(SparseTfConfig, AChiefKnowsItselfAndTheParameterServers) {
  EXPECT_EQ(
      Config(Job({{"Chief", 1}, {"PS", 1}, {"Worker", 3}}, true), {ReplicaType::kChief, 0}),
      R"({"cluster":{"chief":["j-chief-0.ns.svc:2222"],"worker":{},"ps":["j-ps-0.ns.svc:2222"]},)"
      R"("task":{"type":"chief","index":0}})");
}

TEST(SparseTfConfig, AMasterDoesToo) {
  EXPECT_EQ(
      Config(Job({{"Master", 1}, {"PS", 1}}, true), {ReplicaType::kMaster, 0}),
      R"({"cluster":{"master":["j-master-0.ns.svc:2222"],"worker":{},"ps":["j-ps-0.ns.svc:2222"]},)"
      R"("task":{"type":"master","index":0}})");
}

TEST(SparseTfConfig, AnEvaluatorDoesToo) {
  EXPECT_EQ(
      Config(Job({{"Evaluator", 1}, {"PS", 1}}, true), {ReplicaType::kEvaluator, 0}),
      R"({"cluster":{"evaluator":["j-evaluator-0.ns.svc:2222"],"worker":{},"ps":["j-ps-0.ns.svc:2222"]},)"
      R"("task":{"type":"evaluator","index":0}})");
}

TEST(TfConfig, IsNotForASingleReplicaOfAnyType) {
  for (const ReplicaType type : kReplicaTypes) {
    const std::string key(CanonicalName(type));
    for (const bool dynamic : {false, true}) {
      EXPECT_EQ(Config(Job({{key.c_str(), 1}}, dynamic), {type, 0}), "none") << key;
    }
  }
}

TEST(TfConfig, IsValidJsonWhateverTheDomainHolds) {
  EXPECT_FALSE(
      Json::parse(Config(Job({{"Worker", 2}}), kWorker0, "a\"b\\"), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace tensorfleet::api
