#include "runtime/session/local_session.h"

#include <algorithm>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/master.h"
#include "runtime/session/worker.h"

namespace tensorfleet {
namespace {

// Runs an asynchronous call and waits for it.
class Waiter {
 public:
  WorkerInterface::Done done() {
    return [this](Status status) {
      status_ = std::move(status);
      over_.Notify();
    };
  }
  Status Wait() {
    over_.Wait();
    return std::move(status_);
  }

 private:
  Status status_;
  Notification over_;
};

int NumThreads(const tensorflow::ConfigProto& config) {
  // One pool does both kinds of work.
  if (config.intra_op_parallelism_threads() > 0) return config.intra_op_parallelism_threads();
  if (config.inter_op_parallelism_threads() > 0) return config.inter_op_parallelism_threads();
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

// What comes later goes first.
struct LocalSession::State {
  TimerQueue timers;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<Master> master;
  // Its threads are joined before what they use goes.
  std::unique_ptr<ThreadPool> pool;
  std::string handle;
  std::chrono::milliseconds timeout{0};
  Mutex extend_mu;
  int64_t version ABSL_GUARDED_BY(extend_mu) = 0;
};

LocalSession::LocalSession(std::unique_ptr<State> state) : state_(std::move(state)) {}

LocalSession::~LocalSession() { (void)Close(); }

StatusOr<std::unique_ptr<LocalSession>> LocalSession::Make(const OpRegistry* ops,
                                                           const KernelRegistry* kernels,
                                                           const tensorflow::ConfigProto& config) {
  auto state = std::make_unique<State>();
  state->pool = std::make_unique<ThreadPool>("compute", NumThreads(config));
  Worker::Options worker;
  worker.task = DeviceName::Task("localhost", 0).TaskString();
  worker.pool = state->pool.get();
  worker.ops = ops;
  worker.kernels = kernels;
  state->worker = std::make_unique<Worker>(std::move(worker));
  Master::Options master;
  master.worker = state->worker.get();
  master.timers = &state->timers;
  master.name_tasks_in_errors = false;
  state->master = std::make_unique<Master>(std::move(master));
  state->timeout = std::chrono::milliseconds(config.operation_timeout_in_ms());

  auto request = std::make_shared<tensorflow::CreateSessionRequest>();
  *request->mutable_config() = config;
  Waiter waiter;
  state->master->CreateSession(
      {}, std::move(request),
      [&state, done = waiter.done()](StatusOr<tensorflow::CreateSessionResponse> response) {
        if (response.ok()) state->handle = response->session_handle();
        done(response.status());
      });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  return std::unique_ptr<LocalSession>(new LocalSession(std::move(state)));
}

Status LocalSession::Extend(const tensorflow::GraphDef& nodes) {
  MutexLock lock(&state_->extend_mu);
  auto request = std::make_shared<tensorflow::ExtendSessionRequest>();
  request->set_session_handle(state_->handle);
  *request->mutable_graph_def() = nodes;
  request->set_current_graph_version(state_->version);
  int64_t new_version = 0;
  Waiter waiter;
  state_->master->ExtendSession(std::move(request),
                                [&new_version, done = waiter.done()](StatusOr<int64_t> version) {
                                  if (version.ok()) new_version = *version;
                                  done(version.status());
                                });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  state_->version = new_version;
  return OkStatus();
}

Status LocalSession::Run(RunStepArgs args, RunStepResult* result) {
  args.session_handle = state_->handle;
  CallOptions call;
  call.timeout = state_->timeout;
  call.caller_waits = true;
  Waiter waiter;
  state_->master->RunStep(call, &args, result, waiter.done());
  return waiter.Wait();
}

StatusOr<std::string> LocalSession::PartialRunSetup(const std::vector<std::string>& feeds,
                                                    const std::vector<std::string>& fetches,
                                                    const std::vector<std::string>& targets) {
  tensorflow::PartialRunSetupRequest request;
  request.set_session_handle(state_->handle);
  for (const std::string& name : feeds) request.add_feed(name);
  for (const std::string& name : fetches) request.add_fetch(name);
  for (const std::string& name : targets) request.add_target(name);
  return state_->master->PartialRunSetup(request);
}

StatusOr<int64_t> LocalSession::MakeCallable(const tensorflow::CallableOptions& options) {
  tensorflow::MakeCallableRequest request;
  request.set_session_handle(state_->handle);
  *request.mutable_options() = options;
  return state_->master->MakeCallable(request);
}

StatusOr<std::vector<Tensor>> LocalSession::RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                                        tensorflow::RunMetadata* metadata) {
  RunCallableArgs args;
  args.session_handle = state_->handle;
  args.handle = handle;
  args.feeds = std::move(feeds);
  CallOptions call;
  call.timeout = state_->timeout;
  call.caller_waits = true;
  RunStepResult result;
  Waiter waiter;
  state_->master->RunCallable(call, &args, &result, waiter.done());
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  if (metadata != nullptr) metadata->Swap(&result.metadata);
  std::vector<Tensor> values;
  for (NamedTensor& fetch : result.fetches) values.push_back(std::move(fetch.tensor));
  return values;
}

Status LocalSession::ReleaseCallable(int64_t handle) {
  tensorflow::ReleaseCallableRequest request;
  request.set_session_handle(state_->handle);
  request.set_handle(handle);
  return state_->master->ReleaseCallable(request);
}

std::vector<DeviceAttributes> LocalSession::devices() const { return state_->worker->devices(); }

Status LocalSession::Close() {
  Waiter waiter;
  state_->master->CloseAll(waiter.done());
  return waiter.Wait();
}

}  // namespace tensorfleet
