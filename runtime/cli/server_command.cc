#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/cli/attachment.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/device_flags.h"
#include "runtime/cli/gpu_list.h"
#include "runtime/cli/limit_flags.h"
#include "runtime/cli/log_flags.h"
#include "runtime/cli/server_config.h"
#include "runtime/device/cpu_devices.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/device_metrics.h"
#include "runtime/rpc/server.h"
#include "runtime/rpc/services/metrics_server.h"

namespace tensorfleet::cli {
namespace {

constexpr char kHelp[] =
    R"(Serves one task of a cluster: clients dial it with tf.compat.v1.Session("grpc://HOST:PORT").

Every task of the cluster runs this command once, with the same cluster and with its own job name and index.
Where they come from, the first that is given:
  --cluster_spec with --job_name and --task_index
  --server_def FILE, or the variable TF_SERVER_DEF_FILE: a tensorflow.ServerDef, binary or text
  the variable TF_CONFIG, as Kubeflow and TensorFlow set it
  nothing: task 0 of a job "local" of its own, on port 2222 (or --bind)

Examples:
  tensorfleet server --cluster_spec 'ps|host0:2222,worker|host1:2222;host2:2222' --job_name worker --task_index 1
  tensorfleet server --cluster_spec '{"ps": ["host0:2222"], "worker": {"3": "host4:2222"}}' --job_name ps --task_index 0
  TF_CONFIG='{"cluster": {"local": ["localhost:2222"]}, "task": {"type": "local", "index": 0}}' tensorfleet server

A server may start before its peers: sessions wait for them, and the log says for whom.
SIGTERM and SIGINT end it, and so does the job's chief when it has finished (tensorfleet train, or a Drain request):
running steps may finish within --drain_deadline, then it exits with 0.)";

struct ServerFlags {
  ClusterFlags cluster;
  LogFlags log;
  LimitFlags limits;
  int metrics_port = 0;
  double drain_deadline = 10;
  int threads = 0;
  int cpu_devices = 0;
  int tensor_port = 0;
  std::string dump_dir;
  DeviceFlags devices;
  std::string default_placement = "auto";
  bool ignore_drain = false;
  bool attached = false;
  int64_t cached_graphs = 1000;
  int64_t cached_graph_mib = 256;
  double session_idle_timeout = 24 * 3600;
  double master_lease = 600;
  double collective_silence = 5;
  double collective_patience = 600;
};

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

const char* Env(const char* name) { return std::getenv(name); }

StatusOr<DefaultPlacement> ParsePlacement(const std::string& text) {
  if (text == "auto") return DefaultPlacement::kAuto;
  if (text == "first-job") return DefaultPlacement::kFirstJobTaskZero;
  if (text == "master-task") return DefaultPlacement::kMasterTask;
  return InvalidArgument("--default_placement must be 'auto', 'first-job' or 'master-task', not '",
                         text, "'");
}

StatusOr<std::unique_ptr<Attachment>> AttachIfAsked(const ServerFlags& flags) {
  if (!flags.attached) return std::unique_ptr<Attachment>();
  return Attachment::Open(STDIN_FILENO, ::getppid());
}

// Ends the process when draining takes much longer than it may: something hangs, and waiting does
// not help.
void StartWatchdog(double seconds) {
  std::thread([seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds + 5));
    LogError("Draining did not end in time; leaving without it");
    ::_exit(0);
  }).detach();
}

// `owner` is null unless this server is attached to the process that started it.
Status Serve(const ServerFlags& flags, Attachment* owner) {
  TFLEET_RETURN_IF_ERROR(flags.log.Apply());
  TFLEET_ASSIGN_OR_RETURN(rpc::ServerOptions options, ServerConfigFrom(flags.cluster, &Env));
  TFLEET_ASSIGN_OR_RETURN(options.default_placement, ParsePlacement(flags.default_placement));
  options.ops = &BuiltinOps();
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<pjrt::Devices> devices,
                          flags.devices.Apply(&options));
  TFLEET_ASSIGN_OR_RETURN(options.limits, flags.limits.Apply(BuiltinOps()));
  options.compute_threads = flags.threads;
  options.cpu_devices = flags.cpu_devices;
  options.tensor_port = flags.tensor_port;
  options.dump_dir = flags.dump_dir;
  options.cached_graphs = flags.cached_graphs;
  options.cached_graph_bytes = flags.cached_graph_mib << 20;
  options.session_idle_timeout = Milliseconds(flags.session_idle_timeout);
  options.master_lease = Milliseconds(flags.master_lease);
  options.member_silence = Milliseconds(flags.collective_silence);
  options.group_patience = Milliseconds(flags.collective_patience);
  if (!flags.ignore_drain) {
    options.on_drain = [](const std::string& from, const std::string& reason) {
      LogInfo("Asked to leave", {{"by", from}, {"why", reason}});
      ::kill(::getpid(), SIGTERM);
    };
  }
  if (!flags.dump_dir.empty() && ::access(flags.dump_dir.c_str(), W_OK) != 0) {
    return InvalidArgument("--dump_graph: ", flags.dump_dir,
                           " is not a folder that can be written to");
  }
  // All threads inherit the mask: the signals come to sigwait only.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // A file over the process's limit is an error of the op that writes it, like a full disk.
  signal(SIGXFSZ, SIG_IGN);

  std::unique_ptr<rpc::MetricsServer> metrics;
  if (flags.metrics_port > 0) {
    TFLEET_ASSIGN_OR_RETURN(
        metrics, rpc::MetricsServer::Start(
                     flags.metrics_port, devices->empty() ? nullptr : &pjrt::RenderDeviceMetrics));
    LogInfo("Serving metrics", {{"port", flags.metrics_port}, {"path", "/metrics"}});
  }
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Server> server, rpc::Server::Start(options));
  for (const GpuInfo& gpu : ListGpus()) LogInfo(Describe(gpu));
  if (owner != nullptr) {
    // As a server inside the owner would end: at once.
    owner->Watch([] { ::_exit(0); });
    owner->SayServing(server->target());
  }
  int received = 0;
  sigwait(&signals, &received);
  LogInfo("Draining: running steps may finish, new ones are refused",
          {{"signal", received}, {"deadline_seconds", flags.drain_deadline}});
  StartWatchdog(flags.drain_deadline);
  server->Stop(Milliseconds(flags.drain_deadline));
  LogInfo("Server has stopped");
  // Nothing is left to save; the kernel frees memory faster than destructors do.
  std::cout.flush();
  ::_exit(0);
}

}  // namespace

void AddServerCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command = app->add_subcommand("server", kHelp);
  command->add_option(
      "--cluster_spec", flags->cluster.cluster_spec,
      "JSON, 'job|host:port;host:port,job2|...', or @FILE with JSON or a ClusterDef as text");
  command->add_option("--job_name", flags->cluster.job_name, "This task's job");
  command->add_option("--task_index", flags->cluster.task_index, "This task's index in its job")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--server_def", flags->cluster.server_def,
                      "File with a tensorflow.ServerDef; its default_session_config counts");
  command->add_option(
      "--bind", flags->cluster.bind,
      "host:port to listen on when it is not the port of this task's address in the cluster "
      "(containers with mapped ports)");
  command
      ->add_option("--default_placement", flags->default_placement,
                   "Where nodes go that nothing ties to a place. 'auto': variables, queues and "
                   "tables to task "
                   "0 of the cluster's first job, whichever server is asked, so that they are "
                   "shared; the rest "
                   "with its only input or its only user, or else to the task that is asked. "
                   "'first-job': all "
                   "to task 0 of the first job. 'master-task': all to the task that is asked, as "
                   "in TensorFlow "
                   "2.15")
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads for kernels; 0: one per core")
      ->check(CLI::Range(0, 4096));
  command
      ->add_option(
          "--cpu_devices", flags->cpu_devices,
          "CPU devices of this task, which share its threads; 0: device_count of CPU in the "
          "ServerDef's default_session_config, else one")
      ->check(CLI::Range(0, kMaxCpuDevices));
  command
      ->add_option(
          "--tensor_port", flags->tensor_port,
          "Port where other tensorfleet servers fetch tensors, faster than by gRPC; 0: any "
          "free one; -1: none. Those of this machine come by a local socket instead, unless -1. "
          "Servers that reach neither use gRPC")
      ->check(CLI::Range(-1, 65535))
      ->capture_default_str();
  command
      ->add_option("--metrics_port", flags->metrics_port,
                   "Port for Prometheus, path /metrics; 0: no metrics")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--drain_deadline", flags->drain_deadline,
                   "Seconds that running steps have after SIGTERM")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--cached_graphs", flags->cached_graphs,
                   "Graphs, one for each set of feeds, fetches and targets, that each session "
                   "keeps prepared; "
                   "those used least recently go first, and are prepared anew when they are needed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--cached_graph_mib", flags->cached_graph_mib,
                   "About how many MiB the workers may keep for the prepared graphs of one session")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--session_idle_timeout", flags->session_idle_timeout,
                   "Seconds after which a session is closed whose client asks for nothing and "
                   "whose steps have ended; its client is then told that the session is not found. "
                   "Variables stay. 0: never, as TensorFlow's servers")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      ->add_option("--master_lease", flags->master_lease,
                   "Seconds that this task keeps graphs and steps for another task's master that "
                   "runs nothing and does not answer, or has no such session any more; 0: for ever")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  flags->devices.AddPjrtTo(command);
  command
      ->add_option("--collective_silence", flags->collective_silence,
                   "Seconds after which a member of a collective that does not answer is taken for "
                   "dead: the others' steps fail with Unavailable")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command
      ->add_option("--collective_patience", flags->collective_patience,
                   "Seconds that a collective op waits for all members of its group to begin their "
                   "first step, where it has no timeout of its own")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command->add_flag("--ignore_drain", flags->ignore_drain,
                    "Stay when the job's chief says that the job has finished");
  command->add_flag("--attached", flags->attached,
                    "For programs that start a server as a part of themselves (python/README.md): "
                    "standard input is a socket to them, where this server says that it serves. It "
                    "ends when they end or hang up");
  command->add_option(
      "--dump_graph", flags->dump_dir,
      "Folder that gets each session's graph as text before placing, placed, pruned and rewritten");
  flags->limits.AddTo(command);
  flags->log.AddTo(command);
  command->callback([flags, exit_code] {
    const StatusOr<std::unique_ptr<Attachment>> owner = AttachIfAsked(*flags);
    const Status status = owner.ok() ? Serve(*flags, owner->get()) : owner.status();
    if (status.ok()) return;
    if (owner.ok() && *owner != nullptr) (*owner)->SayFailed(status);
    std::cerr << "tensorfleet server: " << status.message() << std::endl;
    *exit_code = status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
  });
}

}  // namespace tensorfleet::cli
