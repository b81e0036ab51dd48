#include "runtime/train/job/task_process.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iostream>
#include <optional>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/session/cluster/cluster_json.h"

namespace tensorfleet::train {
namespace {

using std::chrono::steady_clock;

// A task that is told to stop ends by itself within its grace; this is for one that hangs.
constexpr auto kMargin = std::chrono::seconds(5);
constexpr int kWake = SIGUSR2;  // from this process to itself

sigset_t TaskSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, kWake}) sigaddset(&signals, signal);
  return signals;
}

void WakeMain() { ::kill(::getpid(), kWake); }

// Waits for one of the signals; 0 when the deadline passes first.
int WaitForSignal(const sigset_t& signals, std::optional<steady_clock::time_point> deadline) {
  for (;;) {
    if (!deadline) {
      int received = 0;
      if (sigwait(&signals, &received) == 0) return received;
      continue;
    }
    const auto left = *deadline - steady_clock::now();
    if (left <= steady_clock::duration::zero()) return 0;
    const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec time = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    const int received = sigtimedwait(&signals, nullptr, &time);
    if (received > 0) return received;
    if (errno == EAGAIN) return 0;
  }
}

[[noreturn]] void Leave(int code) {
  std::cout.flush();
  ::_exit(code);
}

}  // namespace

int ExitCodeFor(const Status& status) {
  if (status.ok() || IsJobFinished(status)) return kExitDone;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return kExitRetry;
    default:
      return kExitFailed;
  }
}

StatusOr<rpc::ServerOptions> ServerFromTfConfig(const char* tf_config) {
  rpc::ServerOptions options;
  options.ops = &BuiltinOps();
  options.kernels = &CpuKernels();
  if (tf_config != nullptr && *tf_config != '\0') {
    TFLEET_ASSIGN_OR_RETURN(TfConfig config, TfConfig::Parse(tf_config));
    if (config.rpc_layer != "grpc") {
      return Unimplemented("TF_CONFIG: rpc_layer '", config.rpc_layer,
                           "' is not supported; use 'grpc'");
    }
    options.cluster = std::move(config.cluster);
    options.job = std::move(config.job);
    options.task = config.task;
    return options;
  }
  options.job = "local";
  TFLEET_ASSIGN_OR_RETURN(options.cluster, ClusterSpec::Make({{"local", {{0, "localhost:1"}}}}));
  options.bind = "localhost:0";
  return options;
}

void BlockTaskSignals() {
  const sigset_t signals = TaskSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int RunTaskProcess(const tensorflow::MetaGraphDef* meta, const TrainOptions& options) {
  BlockTaskSignals();
  const sigset_t signals = TaskSignals();

  CancellationManager stop;
  stop.Register(&WakeMain);
  Status result;
  std::atomic<bool> is_done{false};
  std::thread task([&] {
    result = RunTrainTask(meta, options, &stop);
    is_done = true;
    WakeMain();
  });

  int received = 0;
  std::optional<steady_clock::time_point> deadline;
  while (!is_done) {
    const int signal = WaitForSignal(signals, deadline);
    if (is_done) break;
    if (signal == SIGTERM || signal == SIGINT) {
      if (received != 0) Leave(kExitSignalled + signal);  // asked twice
      received = signal;
      LogInfo("Leaving on a signal", {{"signal", signal}});
      stop.StartCancel(Cancelled("ended by signal ", signal));
    }
    if (stop.is_cancelled() && !deadline) deadline = steady_clock::now() + options.grace + kMargin;
    if (signal == 0) {
      LogError("The task did not end in time; leaving without it");
      Leave(received != 0 ? kExitSignalled + received : ExitCodeFor(stop.status()));
    }
  }
  task.join();
  if (received != 0 && !result.ok()) return kExitSignalled + received;
  if (!result.ok()) LogError("Training failed", {{"why", result.message()}});
  return ExitCodeFor(result);
}

}  // namespace tensorfleet::train
