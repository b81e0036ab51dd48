#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "absl/strings/str_split.h"
#include "runtime/base/log.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/device_flags.h"
#include "runtime/cli/log_flags.h"
#include "runtime/cli/server_config.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/device_metrics.h"
#include "runtime/rpc/services/metrics_server.h"
#include "runtime/train/job/cluster_role.h"
#include "runtime/train/job/task_process.h"

namespace tensorfleet::cli {
namespace {

constexpr char kHelp[] =
    R"(Trains a TensorFlow graph, exported as a MetaGraphDef: one task of the job, whatever its part.

Every task runs this command with the same flags. TF_CONFIG (or --cluster_spec, --job_name and --task_index) says
which one it is:
  chief, master   leads: initialises or restores, trains, saves, writes summaries, and ends the job
  worker          trains its own copy of the graph once the chief has made the variables ready; worker 0 leads where
                  there is no chief
  ps              holds variables and serves until the chief has finished; needs no --meta_graph
  evaluator       follows the checkpoints and writes --eval_metrics to CHECKPOINT_DIR/eval
With neither, one process trains alone.

The graph says what to do by its collections, as tf.compat.v1.train.Scaffold and optimizers fill them: train_op,
global_step, variables, init_op, local_init_op, ready_op, ready_for_local_init_op, savers, summary_op or summaries,
losses, queue_runners, table_initializer. What is missing is derived where it can be. Variables that have no device are
spread over the parameter servers, with all that belongs to them; the rest runs in each task. A graph of
SyncReplicasOptimizer is known by its queue of tokens: the chief then runs its loop. Nothing feeds placeholders: the
graph reads its own input.

When a task of the job dies, the others wait for its successor and go on; variables that were lost are restored from
the last checkpoint.

Exit codes: 0 the job is done; 1 it failed and would fail again (the graph, a NaN loss, the files); 2 wrong flags;
138 peers were lost for longer than --give_up_secs, another attempt may succeed; 128 plus the signal's number (143
after SIGTERM), the chief having saved a checkpoint. TFJob's restart policy ExitCode restarts from 128 on.

Example, on each machine:
  export TF_CONFIG='{"cluster": {"chief": ["a:2222"], "worker": ["b:2222"], "ps": ["c:2222"]},
                     "task": {"type": "chief", "index": 0}}'
  tensorfleet train --meta_graph /shared/model.meta --checkpoint_dir /shared/run1 --max_steps 10000)";

struct TrainFlags {
  ClusterFlags cluster;
  LogFlags log;
  train::TrainOptions options;
  std::string meta_graph, eval_meta_graph;
  std::string nan = "stop", spread = "round-robin", eval_reduce = "mean";
  std::vector<std::string> eval_metrics;
  double give_up_secs = 1800, grace_secs = 20;
  int metrics_port = 0;
  DeviceFlags devices;
};

const char* Env(const char* name) { return std::getenv(name); }

StatusOr<train::EvaluationOptions> EvaluationFrom(const TrainFlags& flags) {
  train::EvaluationOptions evaluation = flags.options.evaluation;
  for (const std::string& metric : flags.eval_metrics) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(metric, absl::MaxSplits('=', 1));
    if (parts.first.empty() || parts.second.empty()) {
      return InvalidArgument("--eval_metrics: '", metric, "' is not of the form name=tensor");
    }
    evaluation.metrics.push_back(parts);
  }
  evaluation.takes_last = flags.eval_reduce == "last";
  return evaluation;
}

// Servers and the chief resolve the path each for itself: it must not depend on where they run.
std::string Absolute(const std::string& path) {
  if (path.empty() || path.find("://") != std::string::npos) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

StatusOr<int> Train(const TrainFlags& flags) {
  TFLEET_RETURN_IF_ERROR(flags.log.Apply());
  train::TrainOptions options = flags.options;
  TFLEET_ASSIGN_OR_RETURN(rpc::ServerOptions server,
                          ServerConfigFrom(flags.cluster, &Env, /*needs_entry=*/false));
  // A task on its own serves nobody else: any port will do.
  if (server.job == "local" && flags.cluster.bind.empty()) server.bind = "localhost:0";
  server.compute_threads = options.server.compute_threads;
  server.ops = &BuiltinOps();
  options.server = std::move(server);
  options.checkpoint_dir = Absolute(options.checkpoint_dir);
  options.nan_is_error = flags.nan == "stop";
  options.give_up_after = std::chrono::milliseconds(static_cast<int64_t>(flags.give_up_secs * 1e3));
  TFLEET_ASSIGN_OR_RETURN(options.spread_by, train::ParseSpreadBy(flags.spread));
  TFLEET_ASSIGN_OR_RETURN(options.evaluation, EvaluationFrom(flags));

  TFLEET_ASSIGN_OR_RETURN(
      const train::Role role,
      train::RoleOf(options.server.cluster, options.server.job, options.server.task));
  DeviceFlags wanted = flags.devices;
  // They hold variables, for tasks that would have to copy them from a device first.
  if (role == train::Role::kParameterServer && wanted.device == "auto") wanted.device = "cpu";
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<pjrt::Devices> devices,
                          wanted.Apply(&options.server));
  const bool evaluates = role == train::Role::kEvaluator;
  const std::string& file =
      evaluates && !flags.eval_meta_graph.empty() ? flags.eval_meta_graph : flags.meta_graph;
  std::optional<tensorflow::MetaGraphDef> meta;
  if (role != train::Role::kParameterServer) {
    if (file.empty()) return InvalidArgument("--meta_graph is needed for this task");
    TFLEET_ASSIGN_OR_RETURN(meta, train::ReadMetaGraph(file));
  }
  train::BlockTaskSignals();
  std::unique_ptr<rpc::MetricsServer> metrics;
  if (flags.metrics_port > 0) {
    TFLEET_ASSIGN_OR_RETURN(metrics, rpc::MetricsServer::Start(
                                         flags.metrics_port, devices == nullptr || devices->empty()
                                                                 ? nullptr
                                                                 : &pjrt::RenderDeviceMetrics));
  }
  options.grace = std::chrono::milliseconds(static_cast<int64_t>(flags.grace_secs * 1e3));
  return train::RunTaskProcess(meta ? &*meta : nullptr, options);
}

void AddTrainingFlags(CLI::App* command, TrainFlags* flags) {
  train::TrainOptions& options = flags->options;
  command->add_option(
      "--meta_graph", flags->meta_graph,
      "MetaGraphDef to train, binary or text (tf.compat.v1.train.export_meta_graph)");
  command->add_option("--checkpoint_dir", options.checkpoint_dir,
                      "Folder, or URL, for checkpoints and event files; parameter servers, chief "
                      "and evaluator must all see it. Without it nothing is saved");
  command
      ->add_option("--max_steps", options.max_steps,
                   "Global step at which training ends; 0: when the input ends")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--save_steps", options.save_steps,
                   "Steps between checkpoints; 0: by --save_secs")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--save_secs", options.save_seconds,
                   "Seconds between checkpoints; 0: only at the start and at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--max_to_keep", options.max_to_keep,
                   "Checkpoints to keep; 0: all; unset: as the graph's Saver says")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--keep_checkpoint_every_n_hours", options.keep_every_n_hours,
                   "Keep one checkpoint of so many hours for good; 0: none; unset: as the graph's "
                   "Saver says")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--log_steps", options.log_steps,
                   "Steps between lines with loss and rate; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--summary_steps", options.summary_steps,
                   "Steps between summaries in the event file; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--loss", options.graph.loss,
                      "Tensor of the loss, for the log and the guard against NaN; unset: the only "
                      "one of the collection 'losses'");
  command->add_option("--train_op", options.graph.train_ops,
                      "Operation to run in each step; unset: the collection 'train_op'");
  command->add_option("--nan", flags->nan, "What to do when the loss is NaN: stop or warn")
      ->check(CLI::IsMember({"stop", "warn"}))
      ->capture_default_str();
  command
      ->add_option("--spread_variables", flags->spread,
                   "How variables without a device are spread over the parameter servers: "
                   "round-robin, or by bytes")
      ->check(CLI::IsMember({"round-robin", "bytes"}))
      ->capture_default_str();
  command->add_option("--replica_device", options.replica_device,
                      "A device of the graph that stands for the task that runs it, for example "
                      "/job:worker/task:0 in a graph that was built for worker 0");
}

void AddEvaluationFlags(CLI::App* command, TrainFlags* flags) {
  command->add_option("--eval_meta_graph", flags->eval_meta_graph,
                      "Another MetaGraphDef for the evaluator; unset: --meta_graph");
  command
      ->add_option("--eval_metrics", flags->eval_metrics,
                   "What the evaluator computes: name=tensor, several with commas")
      ->delimiter(',');
  command
      ->add_option("--eval_steps", flags->options.evaluation.steps,
                   "How often the metrics are computed for one checkpoint; 0: until the input ends")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--eval_reduce", flags->eval_reduce,
                   "What becomes of several values: their mean, or the last (streaming metrics)")
      ->check(CLI::IsMember({"mean", "last"}))
      ->capture_default_str();
}

void AddProcessFlags(CLI::App* command, TrainFlags* flags) {
  command->add_option("--cluster_spec", flags->cluster.cluster_spec,
                      "JSON, 'job|host:port;host:port,job2|...', or @FILE; unset: TF_CONFIG says");
  command->add_option("--job_name", flags->cluster.job_name, "This task's job");
  command->add_option("--task_index", flags->cluster.task_index, "This task's index in its job")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--bind", flags->cluster.bind,
                      "host:port to listen on when it is not the port of this task's address");
  command
      ->add_option("--give_up_secs", flags->give_up_secs,
                   "Seconds to wait for lost or missing peers before the task ends with 138; 0: "
                   "for ever")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--grace_secs", flags->grace_secs,
                   "Seconds to save and leave after SIGTERM or at the job's end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--threads", flags->options.server.compute_threads,
                   "Threads for kernels; 0: one per core")
      ->check(CLI::Range(0, 4096));
  command
      ->add_option("--metrics_port", flags->metrics_port,
                   "Port for Prometheus, path /metrics; 0: no metrics")
      ->check(CLI::Range(0, 65535));
  flags->devices.AddDeviceTo(command);
  flags->devices.AddPjrtTo(command);
  flags->log.AddTo(command);
}

}  // namespace

void AddTrainCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app->add_subcommand("train", kHelp);
  AddTrainingFlags(command, flags.get());
  AddEvaluationFlags(command, flags.get());
  AddProcessFlags(command, flags.get());
  command->callback([flags, exit_code] {
    const StatusOr<int> code = Train(*flags);
    if (code.ok()) {
      *exit_code = *code;
      return;
    }
    std::cerr << "tensorfleet train: " << code.status().message() << std::endl;
    *exit_code = absl::IsInvalidArgument(code.status()) ? train::kExitWrongUse : train::kExitFailed;
  });
}

}  // namespace tensorfleet::cli
