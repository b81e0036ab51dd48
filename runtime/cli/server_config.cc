#include "runtime/cli/server_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "proto/server_def.pb.h"
#include "runtime/base/small_file.h"
#include "runtime/session/cluster/cluster_json.h"

namespace tensorfleet::cli {
namespace {

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (what.empty())
      what = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  std::string what;
};

// Binary, or else text.
StatusOr<tensorflow::ServerDef> ReadServerDef(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const std::string content, ReadSmallFile(path));
  tensorflow::ServerDef def;
  if (!content.empty() && def.ParseFromString(content) && def.cluster().job_size() > 0) return def;
  def.Clear();
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(content, &def)) return def;
  return InvalidArgument(path, " holds no ServerDef, neither in binary form nor as text (",
                         error.what, ")");
}

Status UseServerDef(const std::string& path, rpc::ServerOptions* options) {
  TFLEET_ASSIGN_OR_RETURN(const tensorflow::ServerDef def, ReadServerDef(path));
  StatusOr<ClusterSpec> cluster = ClusterSpec::FromProto(def.cluster());
  if (!cluster.ok()) return Prefixed(absl::StrCat(path, ": "), cluster.status());
  if (!def.protocol().empty() && def.protocol() != "grpc") {
    return Unimplemented(path, ": protocol '", def.protocol(), "' is not supported; use 'grpc'");
  }
  if (def.replica() != 0) return Unimplemented(path, ": replica must be 0, not ", def.replica());
  for (const auto& job : def.cluster_device_filters().jobs()) {
    if (job.name() != def.job_name()) continue;
    const auto filters = job.tasks().find(def.task_index());
    if (filters == job.tasks().end()) continue;
    *options->default_session_config.mutable_device_filters() = filters->second.device_filters();
  }
  options->cluster = *std::move(cluster);
  options->job = def.job_name();
  options->task = def.task_index();
  options->default_session_config.MergeFrom(def.default_session_config());
  if (def.port() != 0) options->bind = absl::StrCat("[::]:", def.port());
  return OkStatus();
}

Status UseTfConfig(const char* json, rpc::ServerOptions* options) {
  TFLEET_ASSIGN_OR_RETURN(TfConfig config, TfConfig::Parse(json));
  if (config.rpc_layer != "grpc") {
    return Unimplemented("TF_CONFIG: rpc_layer '", config.rpc_layer,
                         "' is not supported; use 'grpc'");
  }
  options->cluster = std::move(config.cluster);
  options->job = std::move(config.job);
  options->task = config.task;
  return OkStatus();
}

Status CheckBind(const std::string& bind) {
  return bind.empty() ? OkStatus() : Prefixed("--bind: ", CheckAddress(bind));
}

}  // namespace

StatusOr<rpc::ServerOptions> ServerConfigFrom(const ClusterFlags& flags,
                                              const char* (*env)(const char* name),
                                              bool needs_entry) {
  rpc::ServerOptions options;
  const char* const def_file = env("TF_SERVER_DEF_FILE");
  const char* const tf_config = env("TF_CONFIG");
  if (!flags.server_def.empty()) {
    TFLEET_RETURN_IF_ERROR(UseServerDef(flags.server_def, &options));
  } else if (flags.cluster_spec.empty() && def_file != nullptr && *def_file != '\0') {
    TFLEET_RETURN_IF_ERROR(UseServerDef(def_file, &options));
  } else if (flags.cluster_spec.empty() && tf_config != nullptr && *tf_config != '\0') {
    TFLEET_RETURN_IF_ERROR(UseTfConfig(tf_config, &options));
  }
  if (!flags.cluster_spec.empty()) {
    StatusOr<ClusterSpec> cluster = ClusterSpec::FromFlag(flags.cluster_spec);
    if (!cluster.ok()) return Prefixed("--cluster_spec: ", cluster.status());
    options.cluster = *std::move(cluster);
  }
  if (!flags.job_name.empty()) options.job = flags.job_name;
  if (flags.task_index >= 0) options.task = flags.task_index;
  if (options.cluster.empty()) {
    if (options.job.empty()) options.job = "local";
    const std::string address = flags.bind.empty() ? "localhost:2222" : flags.bind;
    StatusOr<ClusterSpec> alone = ClusterSpec::Make({{options.job, {{options.task, address}}}});
    if (!alone.ok()) return Prefixed("--bind: ", alone.status());
    options.cluster = *std::move(alone);
  }
  if (options.job.empty()) {
    if (options.cluster.jobs().size() > 1) {
      return InvalidArgument("--job_name is needed: the cluster has several jobs");
    }
    options.job = options.cluster.jobs()[0].name;
  }
  StatusOr<std::string> own = options.cluster.Address(options.job, options.task);
  if (!own.ok() && (needs_entry || options.job != "evaluator")) {
    return Prefixed("this task's own entry: ", own.status());
  }
  if (!flags.bind.empty()) options.bind = flags.bind;
  TFLEET_RETURN_IF_ERROR(CheckBind(options.bind));
  return options;
}

}  // namespace tensorfleet::cli
