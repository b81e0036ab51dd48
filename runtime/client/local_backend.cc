// A session inside this process: a master and a worker of their own, without a network.

#include <algorithm>
#include <thread>

#include "runtime/client/session_backends.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/session/master.h"
#include "runtime/session/worker.h"

namespace tensorfleet {
namespace {

constexpr char kLocalTask[] = "/job:localhost/replica:0/task:0";

int NumThreads(const tensorflow::ConfigProto& config) {
  if (config.inter_op_parallelism_threads() > 0) return config.inter_op_parallelism_threads();
  return std::max(1u, std::thread::hardware_concurrency());
}

// Waits for the one result of an asynchronous call.
template <typename T>
class Waiter {
 public:
  std::function<void(T)> done() {
    return [this](T result) {
      result_ = std::move(result);
      called_.Notify();
    };
  }
  T Wait() {
    called_.Wait();
    return std::move(result_);
  }

 private:
  Notification called_;
  T result_;
};

class LocalBackend final : public SessionBackend {
 public:
  explicit LocalBackend(const tensorflow::ConfigProto& config)
      : config_(config),
        pool_("session", NumThreads(config)),
        worker_(
            {.task = kLocalTask, .pool = &pool_, .ops = &BuiltinOps(), .kernels = &CpuKernels()}),
        master_({.worker = &worker_, .timers = &timers_, .name_tasks_in_errors = false}) {}

  ~LocalBackend() override {
    Waiter<Status> waiter;
    master_.CloseAll(waiter.done());
    waiter.Wait().IgnoreError();
  }

  Status Extend(const tensorflow::GraphDef& nodes) override {
    MutexLock lock(&mu_);
    if (handle_.empty()) {
      auto request = std::make_shared<tensorflow::CreateSessionRequest>();
      *request->mutable_graph_def() = nodes;
      *request->mutable_config() = config_;
      Waiter<StatusOr<tensorflow::CreateSessionResponse>> waiter;
      master_.CreateSession({}, std::move(request), waiter.done());
      TFLEET_ASSIGN_OR_RETURN(const tensorflow::CreateSessionResponse response, waiter.Wait());
      handle_ = response.session_handle();
      version_ = response.graph_version();
      return OkStatus();
    }
    auto request = std::make_shared<tensorflow::ExtendSessionRequest>();
    request->set_session_handle(handle_);
    *request->mutable_graph_def() = nodes;
    request->set_current_graph_version(version_);
    Waiter<StatusOr<int64_t>> waiter;
    master_.ExtendSession(std::move(request), waiter.done());
    TFLEET_ASSIGN_OR_RETURN(version_, waiter.Wait());
    return OkStatus();
  }

  StatusOr<std::vector<Tensor>> Run(const StepRequest& step,
                                    tensorflow::RunMetadata* metadata) override {
    RunStepArgs args;
    TFLEET_ASSIGN_OR_RETURN(args.session_handle, Handle());
    for (const auto& [name, value] : step.feeds) args.feeds.push_back({name, value});
    // The master answers each name once.
    for (const std::string& fetch : step.fetches) {
      if (std::find(args.fetches.begin(), args.fetches.end(), fetch) == args.fetches.end()) {
        args.fetches.push_back(fetch);
      }
    }
    args.targets = step.targets;
    args.options = step.options;
    CallOptions call;
    call.timeout = std::chrono::milliseconds(step.options.timeout_in_ms() > 0
                                                 ? step.options.timeout_in_ms()
                                                 : config_.operation_timeout_in_ms());
    RunStepResult result;
    Waiter<Status> waiter;
    master_.RunStep(call, &args, &result, waiter.done());
    TFLEET_RETURN_IF_ERROR(waiter.Wait());
    if (metadata != nullptr) metadata->Swap(&result.metadata);
    std::vector<Tensor> values;
    for (const std::string& fetch : step.fetches) {
      const auto it = std::find_if(result.fetches.begin(), result.fetches.end(),
                                   [&](const NamedTensor& named) { return named.name == fetch; });
      values.push_back(it->tensor);
    }
    return values;
  }

  StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices() override {
    TFLEET_ASSIGN_OR_RETURN(const std::string handle, Handle());
    Waiter<StatusOr<tensorflow::ListDevicesResponse>> waiter;
    master_.ListDevices({}, handle, waiter.done());
    TFLEET_ASSIGN_OR_RETURN(const tensorflow::ListDevicesResponse response, waiter.Wait());
    return std::vector<tensorflow::DeviceAttributes>(response.local_device().begin(),
                                                     response.local_device().end());
  }

  Status Close() override {
    TFLEET_ASSIGN_OR_RETURN(const std::string handle, Handle());
    Waiter<Status> waiter;
    master_.CloseSession(handle, waiter.done());
    return waiter.Wait();
  }

 private:
  StatusOr<std::string> Handle() {
    MutexLock lock(&mu_);
    if (handle_.empty())
      return FailedPrecondition("the session has no graph yet; call Extend first");
    return handle_;
  }

  const tensorflow::ConfigProto config_;
  ThreadPool pool_;
  TimerQueue timers_;
  Worker worker_;
  Master master_;
  Mutex mu_;
  std::string handle_ ABSL_GUARDED_BY(mu_);
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

StatusOr<std::unique_ptr<SessionBackend>> MakeLocalBackend(const tensorflow::ConfigProto& config) {
  return std::unique_ptr<SessionBackend>(std::make_unique<LocalBackend>(config));
}

}  // namespace tensorfleet
