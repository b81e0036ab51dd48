#include "operator/local/override.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tensorfleet::local {
namespace {

using nlohmann::json;

json Job() {
  return json::parse(R"({"metadata": {"name": "j"}, "spec": {"tfReplicaSpecs": {"Worker": {
      "replicas": 1, "template": {"spec": {"containers": [
        {"name": "side"}, {"name": "tensorflow", "args": ["a", "b"]}]}}}}}})");
}

json After(const std::string& override) {
  json job = Job();
  const auto path = ApplyOverride(override, job);
  EXPECT_TRUE(path.ok()) << path.status();
  return job;
}

std::string Refusal(const std::string& override) {
  json job = Job();
  const auto path = ApplyOverride(override, job);
  EXPECT_FALSE(path.ok());
  return std::string(path.status().message());
}

TEST(Override, BeginsInsideSpec) {
  EXPECT_EQ(
      After("tfReplicaSpecs.Worker.replicas=4")["spec"]["tfReplicaSpecs"]["Worker"]["replicas"], 4);
  EXPECT_EQ(After("spec.successPolicy=AllWorkers")["spec"]["successPolicy"], "AllWorkers");
  EXPECT_EQ(After("metadata.name=other")["metadata"]["name"], "other");
}

TEST(Override, MakesObjectsOnTheWay) {
  EXPECT_EQ(After("runPolicy.backoffLimit=3")["spec"]["runPolicy"]["backoffLimit"], 3);
}

TEST(Override, FindsListItemsByNumberAndByName) {
  const json by_name =
      After("tfReplicaSpecs.Worker.template.spec.containers[tensorflow].args[1]=c");
  const json by_number = After("tfReplicaSpecs.Worker.template.spec.containers[1].args[1]=c");
  EXPECT_EQ(by_name, by_number);
  EXPECT_EQ(
      by_name["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][1]["args"],
      (json{"a", "c"}));
}

TEST(Override, TakesYamlValues) {
  EXPECT_EQ(After("a=[x, 2]")["spec"]["a"], (json{"x", 2}));
  EXPECT_EQ(After("a=true")["spec"]["a"], true);
  EXPECT_EQ(After("a=\"4\"")["spec"]["a"], "4");
  EXPECT_EQ(After("a=x=y")["spec"]["a"], "x=y");
}

TEST(Override, GivesThePathInTheFormOfMessages) {
  json job = Job();
  EXPECT_EQ(*ApplyOverride("tfReplicaSpecs.Worker.replicas=-1", job),
            "spec.tfReplicaSpecs[Worker].replicas");
}

TEST(Override, NamesThePartThatDoesNotFit) {
  EXPECT_EQ(Refusal("tfReplicaSpecs.Worker.replicas.x=1"),
            "spec.tfReplicaSpecs[Worker].replicas is not an object");
  EXPECT_EQ(
      Refusal("tfReplicaSpecs.Worker.template.spec.containers[main].image=x"),
      "spec.tfReplicaSpecs[Worker].template.spec.containers has no item \"main\" among its 2");
  EXPECT_EQ(Refusal("tfReplicaSpecs[0]=1"), "spec.tfReplicaSpecs is not a list");
}

TEST(Override, RefusesWhatIsNoAssignment) {
  EXPECT_EQ(Refusal("replicas"), "\"replicas\" is not PATH=VALUE");
  EXPECT_EQ(Refusal("a..b=1"), "path \"a..b\" has an empty part");
  EXPECT_EQ(Refusal("a[1=1"), "path \"a[1\" has no closing ]");
  EXPECT_EQ(Refusal("=1"), "path \"\" does not begin with a field");
  EXPECT_EQ(Refusal("a=[1"), "value: line 1: not YAML: end of sequence flow not found");
}

}  // namespace
}  // namespace tensorfleet::local
