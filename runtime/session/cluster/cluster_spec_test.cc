#include "runtime/session/cluster/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/cluster/cluster_json.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ClusterSpec TwoJobs() {
  return ClusterSpec::Make({{"worker", {{0, "w0:1"}, {1, "w1:2"}}}, {"ps", {{3, "p3:65535"}}}})
      .value();
}

std::string ErrorOf(const StatusOr<ClusterSpec>& spec) {
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << spec.status();
  return std::string(spec.status().message());
}

TEST(ClusterSpec, IsTheSameAfterEveryRoundTrip) {
  const ClusterSpec spec = TwoJobs();
  EXPECT_EQ(*ClusterSpec::FromJson(spec.ToJson()), spec);
  EXPECT_EQ(*ClusterSpec::FromText(spec.ToText()), spec);
  tensorflow::ClusterDef def;
  spec.ToProto(&def);
  EXPECT_EQ(*ClusterSpec::FromProto(def), spec);
  EXPECT_EQ(*ClusterSpec::FromBinary(def.SerializeAsString()), spec);
}

TEST(ClusterSpec, KeepsTheOrderOfJobsAndTheIndicesOfSparseTasks) {
  const ClusterSpec spec = ClusterSpec::FromJson(R"({"z": {"7": "a:1"}, "b": ["c:2"]})").value();
  EXPECT_EQ(spec.jobs()[0].name, "z");
  EXPECT_EQ(*spec.Address("z", 7), "a:1");
  EXPECT_EQ(spec.ToJson(), R"({"z":{"7":"a:1"},"b":["c:2"]})");
}

TEST(ClusterSpec, ReadsTheFormOfTheFlag) {
  const ClusterSpec spec = ClusterSpec::FromFlag("ps|p0:1,worker|w0:2;w1:3").value();
  EXPECT_EQ(*spec.Address("worker", 1), "w1:3");
  EXPECT_THAT(ErrorOf(ClusterSpec::FromFlag("ps")), HasSubstr("'ps' is not of the form"));
}

TEST(ClusterSpec, ErrorsNameTheFaultyJob) {
  EXPECT_THAT(ErrorOf(ClusterSpec::Make({{"1x", {{0, "a:1"}}}})), HasSubstr("'1x'"));
  EXPECT_THAT(ErrorOf(ClusterSpec::Make({{"a", {{0, "a:1"}}}, {"a", {{0, "a:2"}}}})),
              HasSubstr("job 'a' is listed twice"));
  EXPECT_THAT(ErrorOf(ClusterSpec::FromJson(R"({"ps": 3})")), HasSubstr("job 'ps'"));
}

TEST(ClusterSpec, ErrorsNameTheFaultyIndex) {
  EXPECT_THAT(ErrorOf(ClusterSpec::FromJson(R"({"ps": {"one": "a:1"}})")),
              AllOf(HasSubstr("'ps'"), HasSubstr("'one'")));
  EXPECT_THAT(ErrorOf(ClusterSpec::Make({{"ps", {{-1, "a:1"}}}})), HasSubstr("task index -1"));
  EXPECT_THAT(ErrorOf(ClusterSpec::FromJson(R"({"ps": ["a:1", 7]})")),
              AllOf(HasSubstr("'ps'"), HasSubstr("task 1")));
}

TEST(ClusterSpec, ErrorsNameTheFaultyAddress) {
  for (const char* bad : {"host", "host:", ":1", "host:0", "host:65536", "host:1x", "::1:5",
                          "a b:1", "grpc://host:1", "host:-1", "h\xff:1"}) {
    EXPECT_THAT(ErrorOf(ClusterSpec::Make({{"ps", {{2, bad}}}})),
                AllOf(HasSubstr("job 'ps', task 2"), HasSubstr(bad)));
  }
  EXPECT_TRUE(CheckAddress("[::1]:2222").ok());
  EXPECT_THAT(ErrorOf(ClusterSpec::Make({{"ps", {{0, "a:1"}}}, {"w", {{0, "a:1"}}}})),
              HasSubstr("that of /job:ps/replica:0/task:0 already"));
}

TEST(ClusterSpec, AddressOfAnUnknownTaskSaysWhatThereIs) {
  EXPECT_THAT(TwoJobs().Address("chief", 0).status().message(), HasSubstr("worker, ps"));
  EXPECT_THAT(TwoJobs().Address("ps", 0).status().message(), HasSubstr("3 -> p3:65535"));
}

TEST(TfConfig, ReadsTheDenseForm) {
  const TfConfig config = TfConfig::Parse(R"({"cluster": {"ps": ["p:1"], "worker": ["w:1", "v:1"]},
                          "task": {"type": "worker", "index": 1}, "environment": "cloud"})")
                              .value();
  EXPECT_EQ(config.job, "worker");
  EXPECT_EQ(*config.cluster.Address(config.job, config.task), "v:1");
}

TEST(TfConfig, ReadsTheSparseFormOfAParameterServer) {
  const TfConfig config =
      TfConfig::Parse(R"({"cluster":{"worker":{},"ps":["p1:1"]},"task":{"type":"ps","index":1}})")
          .value();
  EXPECT_EQ(*config.cluster.Address("ps", 1), "p1:1");
}

TEST(TfConfig, ReadsTheSparseFormOfAWorker) {
  const TfConfig config =
      TfConfig::Parse(
          R"({"cluster":{"worker":{"1":"w1:1"},"ps":null},"task":{"type":"worker","index":1}})")
          .value();
  EXPECT_EQ(config.task, 1);
}

TEST(TfConfig, SaysWhatIsMissing) {
  const auto error = [](const char* json) {
    return std::string(TfConfig::Parse(json).status().message());
  };
  EXPECT_THAT(error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error(R"({"cluster": {}})"), HasSubstr("task"));
  EXPECT_THAT(error(R"({"cluster": {}, "task": {"type": "ps", "index": "x"}})"),
              HasSubstr("task.index"));
  EXPECT_THAT(error(R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "worker"}})"),
              HasSubstr("'worker' 0"));
  EXPECT_THAT(error(R"({"cluster": {"ps": ["a"]}, "task": {"type": "ps"}})"),
              AllOf(HasSubstr("TF_CONFIG"), HasSubstr("job 'ps', task 0")));
}

TEST(TfConfig, LetsAnEvaluatorBeOutsideTheCluster) {
  const auto config =
      TfConfig::Parse(R"({"cluster": {"ps": ["h:1"]}, "task": {"type": "evaluator", "index": 0}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->job, "evaluator");
  EXPECT_FALSE(
      TfConfig::Parse(R"({"cluster": {"ps": ["h:1"]}, "task": {"type": "worker", "index": 0}})")
          .ok());
}

}  // namespace
}  // namespace tensorfleet
