#include "runtime/cli/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "absl/strings/str_replace.h"
#include "proto/server_def.pb.h"
#include "runtime/base/small_file.h"

namespace tensorfleet::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTfConfig[] =
    R"({"cluster": {"ps": ["p:1"], "worker": ["w0:2", "w1:3"]}, "task": {"type": "worker", "index": 1}})";
constexpr char kServerDef[] = R"(
  cluster { job { name: "ps" tasks { key: 0 value: "d:7" } } job { name: "worker" tasks { key: 2 value: "e:8" } } }
  job_name: "worker" task_index: 2 protocol: "grpc" port: 9
  default_session_config { isolate_session_state: true }
  cluster_device_filters { jobs { name: "worker" tasks { key: 2 value { device_filters: "/job:ps" } } } }
)";

class ServerConfigTest : public ::testing::Test {
 protected:
  ServerConfigTest() { variables().clear(); }
  static std::map<std::string, std::string>& variables() {
    static auto* const variables = new std::map<std::string, std::string>;
    return *variables;
  }
  static const char* Env(const char* name) {
    const auto it = variables().find(name);
    return it == variables().end() ? nullptr : it->second.c_str();
  }
  StatusOr<rpc::ServerOptions> Config() { return ServerConfigFrom(flags_, &Env); }
  std::string Error() { return std::string(Config().status().message()); }
  std::string OwnAddress() {
    const StatusOr<rpc::ServerOptions> options = Config();
    EXPECT_TRUE(options.ok()) << options.status();
    if (!options.ok()) return "";
    return absl::StrCat(options->job, options->task, " at ",
                        options->cluster.Address(options->job, options->task).value());
  }
  // Path of a file that holds `text`.
  static std::string File(const std::string& text) {
    const std::string path =
        absl::StrCat(::testing::TempDir(), "/server_def_", std::to_string(::getpid()));
    EXPECT_TRUE(WriteSmallFile(path, text).ok());
    return path;
  }

  ClusterFlags flags_;
};

TEST_F(ServerConfigTest, WithoutAnythingItIsAClusterOfItsOwn) {
  EXPECT_EQ(OwnAddress(), "local0 at localhost:2222");
  flags_.bind = "localhost:7000";
  EXPECT_EQ(OwnAddress(), "local0 at localhost:7000");
}

TEST_F(ServerConfigTest, TfConfigSaysWhoItIs) {
  variables()["TF_CONFIG"] = kTfConfig;
  EXPECT_EQ(OwnAddress(), "worker1 at w1:3");
}

TEST_F(ServerConfigTest, FlagsReplaceWhatTfConfigSays) {
  variables()["TF_CONFIG"] = kTfConfig;
  flags_.task_index = 0;
  EXPECT_EQ(OwnAddress(), "worker0 at w0:2");
  flags_.cluster_spec = "ps|x:5,chief|y:6";
  flags_.job_name = "chief";
  EXPECT_EQ(OwnAddress(), "chief0 at y:6");
}

TEST_F(ServerConfigTest, AServerDefInTextOrBinaryWinsOverTfConfig) {
  variables()["TF_CONFIG"] = kTfConfig;
  variables()["TF_SERVER_DEF_FILE"] = File(kServerDef);
  EXPECT_EQ(OwnAddress(), "worker2 at e:8");
  rpc::ServerOptions options = Config().value();
  EXPECT_EQ(options.bind, "[::]:9");
  EXPECT_TRUE(options.default_session_config.isolate_session_state());
  EXPECT_EQ(options.default_session_config.device_filters(0), "/job:ps");

  tensorflow::ServerDef binary;
  binary.mutable_cluster()->add_job()->set_name("one");
  (*binary.mutable_cluster()->mutable_job(0)->mutable_tasks())[0] = "b:1";
  binary.set_job_name("one");
  variables().clear();
  flags_.server_def = File(binary.SerializeAsString());
  EXPECT_EQ(OwnAddress(), "one0 at b:1");
}

TEST_F(ServerConfigTest, AnAddressToListenOnMayDifferFromTheClusters) {
  variables()["TF_CONFIG"] = kTfConfig;
  flags_.bind = "0.0.0.0:80";
  EXPECT_EQ(Config()->bind, "0.0.0.0:80");
  EXPECT_EQ(OwnAddress(), "worker1 at w1:3");
  flags_.bind = "nonsense";
  EXPECT_THAT(Error(), AllOf(HasSubstr("--bind"), HasSubstr("nonsense")));
}

TEST_F(ServerConfigTest, SaysWhereTheFaultIs) {
  flags_.cluster_spec = "ps|";
  EXPECT_THAT(Error(), HasSubstr("--cluster_spec"));
  flags_.cluster_spec = "ps|x:5,worker|y:6";
  EXPECT_THAT(Error(), HasSubstr("--job_name"));
  flags_.job_name = "worker";
  flags_.task_index = 4;
  EXPECT_THAT(Error(), AllOf(HasSubstr("own entry"), HasSubstr("worker"), HasSubstr("4")));
  flags_ = {};
  variables()["TF_CONFIG"] = "{";
  EXPECT_THAT(Error(), HasSubstr("TF_CONFIG"));
  flags_.server_def = "/nowhere/def";
  EXPECT_THAT(Error(), HasSubstr("/nowhere/def"));
  flags_.server_def = File("cluster {");
  EXPECT_THAT(Error(), AllOf(HasSubstr(flags_.server_def), HasSubstr("line 1")));
  flags_.server_def = File(absl::StrReplaceAll(kServerDef, {{"\"grpc\"", "\"grpc+verbs\""}}));
  EXPECT_THAT(Error(), HasSubstr("grpc+verbs"));
  flags_.server_def = File(absl::StrCat(kServerDef, "replica: 3"));
  EXPECT_THAT(Error(), HasSubstr("replica"));
}

}  // namespace
}  // namespace tensorfleet::cli
