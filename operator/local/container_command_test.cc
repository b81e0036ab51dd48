#include "operator/local/container_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/local/progress.h"

namespace tensorfleet::local {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const json kPod = {
    {"metadata", {{"name", "j-worker-0"}, {"namespace", "ns"}, {"labels", {{"team", "red"}}}}}};

StatusOr<Command> Make(const std::string& container, CommandOptions options = {},
                       const std::map<std::string, std::string>& volumes = {}) {
  return CommandFor(kPod, json::parse(container), volumes, Addresses({{"j-ps-0", 1001}}),
                    "/run/progress.json", options);
}

TEST(ContainerCommand, IsCommandAndArgs) {
  const auto command = Make(R"({"command": ["python", "-u"], "args": ["train.py"],
                                "workingDir": "/work"})");
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->argv, ElementsAre("python", "-u", "train.py"));
  EXPECT_EQ(command->folder, "/work");
}

TEST(ContainerCommand, IsTheRuntimesServerWithoutOne) {
  CommandOptions options;
  options.runtime_binary = "/bin/fleet";
  EXPECT_THAT(Make(R"({})", options)->argv, ElementsAre("/bin/fleet", "server"));
  EXPECT_THAT(Make(R"({"args": ["train", "x"]})", options)->argv,
              ElementsAre("/bin/fleet", "train", "x"));
}

TEST(ContainerCommand, HasTheContainersVariables) {
  const auto command = Make(R"j({"command": ["x", "$(B)", "$(C)", "$$(A)"], "env": [
      {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"},
      {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
      {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
      {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]})j");
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->argv, ElementsAre("x", "12", "$(C)", "$(A)"));
  EXPECT_THAT(command->variables, Contains(Pair("NAME", "j-worker-0")));
  EXPECT_THAT(command->variables, Contains(Pair("TEAM", "red")));
  EXPECT_THAT(command->variables, Contains(Pair("IP", "127.0.0.1")));
  EXPECT_THAT(command->variables, Contains(Pair("HOSTNAME", "j-worker-0")));
  EXPECT_THAT(command->variables, Contains(Pair(kProgressFileVariable, "/run/progress.json")));
}

TEST(ContainerCommand, RefusesAFieldThatItDoesNotKnow) {
  const auto command = Make(R"({"command": ["x"], "env": [
      {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.odd"}}}]})");
  EXPECT_THAT(std::string(command.status().message()), HasSubstr("fieldRef \"spec.odd\""));
}

TEST(ContainerCommand, GivesVariablesOfTheCommandLinePrecedence) {
  CommandOptions options;
  options.variables = {{"A", "mine"}, {"KEY", "secret"}};
  const auto command = Make(R"j({"command": ["x", "$(KEY)"], "env": [{"name": "A", "value": "1"},
      {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})j",
                            options);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->variables, Contains(Pair("A", "mine")));
  EXPECT_THAT(command->argv, ElementsAre("x", "secret"));
}

TEST(ContainerCommand, FindsItsPeersOnThisMachine) {
  const auto command = Make(R"({"command": ["x"], "env": [{"name": "TF_CONFIG",
      "value": "{\"cluster\":{\"ps\":[\"j-ps-0.ns.svc:2222\"]}}"}]})");
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->variables.at("TF_CONFIG"), R"({"cluster":{"ps":["127.0.0.1:1001"]}})");
}

TEST(ContainerCommand, UsesFoldersInPlaceOfMounts) {
  const auto command = Make(R"({"command": ["sh", "-c", "cat /data/x"], "workingDir": "/data",
      "env": [{"name": "DIR", "value": "/data/y"}],
      "volumeMounts": [{"name": "v", "mountPath": "/data"}]})",
                            {}, {{"v", "/tmp/d"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->argv[2], "cat /tmp/d/x");
  EXPECT_EQ(command->folder, "/tmp/d");
  EXPECT_EQ(command->variables.at("DIR"), "/tmp/d/y");
}

TEST(ContainerCommand, FindsAProgramOfTheImageByItsName) {
  CommandOptions options;
  options.program_folder = "/bin";
  EXPECT_THAT(Make(R"({"command": ["/only/in/image/sh", "-c"]})", options)->argv,
              ElementsAre("/bin/sh", "-c"));
  EXPECT_THAT(Make(R"({"command": ["/only/in/image/none"]})", options)->argv,
              ElementsAre("/only/in/image/none"));
  options.program_folder = "/nowhere";
  EXPECT_THAT(Make(R"({"command": ["/bin/sh"]})", options)->argv, ElementsAre("/bin/sh"));
}

TEST(ContainerCommand, RunsTheImageByPodmanWhenAsked) {
  CommandOptions options;
  options.use_podman = true;
  options.run_id = "1";
  const auto command = Make(R"({"name": "tensorflow", "image": "train:1", "command": ["python"],
      "args": ["/data/x"], "workingDir": "/data", "env": [{"name": "A", "value": "1"}],
      "volumeMounts": [{"name": "v", "mountPath": "/data", "readOnly": true}]})",
                            options, {{"v", "/tmp/d"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(
      command->argv,
      ElementsAre("podman", "run", "--rm", "--replace", "--name", "j-worker-0-tensorflow-1",
                  "--network=host", "--volume", "/tmp/d:/data:ro", "--volume", "/run:/run", "--env",
                  "A=1", "--env", "TENSORFLEET_PROGRESS_FILE=/run/progress.json", "--workdir",
                  "/data", "--entrypoint", "[\"python\"]", "train:1", "/data/x"));
  EXPECT_THAT(command->kill, ElementsAre("podman", "kill", "j-worker-0-tensorflow-1"));
}

}  // namespace
}  // namespace tensorfleet::local
