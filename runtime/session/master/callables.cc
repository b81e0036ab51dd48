// The part of a master's session that prepares graphs by handle (MakeCallable) and runs them.

#include "runtime/session/master/master_session.h"
#include "runtime/session/master/step_run.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {

void MasterSession::MakeCallable(const CallOptions& call,
                                 const tensorflow::CallableOptions& options,
                                 DoneWith<int64_t> done) {
  for (const auto& devices : {options.feed_devices(), options.fetch_devices()}) {
    for (const auto& [tensor, device] : devices) {
      const StatusOr<DeviceName> name = DeviceName::Parse(device);
      if (!name.ok()) return done(name.status());
      if (name->type.value_or("CPU") != "CPU") {
        return done(Unimplemented("callables give and take tensors in host memory; ", tensor,
                                  " was asked for on ", device));
      }
    }
  }
  Signature signature;
  signature.feeds.assign(options.feed().begin(), options.feed().end());
  signature.fetches.assign(options.fetch().begin(), options.fetch().end());
  signature.targets.assign(options.target().begin(), options.target().end());
  std::vector<std::pair<std::string, std::string>> connections;
  for (const auto& connection : options.tensor_connection()) {
    connections.emplace_back(connection.from_tensor(), connection.to_tensor());
  }
  auto callable = std::make_shared<Callable>();
  callable->options = options.run_options();
  callable->graph = std::make_shared<PreparedGraph>(std::move(signature));
  (void)callable->graph->Join();
  Compile(callable->graph, FeedStyle::kCallFrame, std::move(connections));
  WaitUntilPrepared(WaitArgs(callable->graph, call, StepDeadline::In(call.timeout, {})),
                    [self = shared_from_this(), callable, done = std::move(done)](Status prepared) {
                      if (!prepared.ok()) return done(std::move(prepared));
                      int64_t handle = 0;
                      {
                        MutexLock lock(&self->mu_);
                        handle = self->next_callable_++;
                        self->callables_[handle] = callable;
                      }
                      ++ServerMetrics().callables;
                      done(handle);
                    });
}

void MasterSession::RunCallable(const CallOptions& call, RunCallableArgs* args,
                                RunStepResult* result, Done done) {
  std::shared_ptr<const Callable> callable;
  bool was_released = false;
  {
    MutexLock lock(&mu_);
    const auto it = callables_.find(args->handle);
    if (it != callables_.end()) callable = it->second;
    was_released = args->handle >= 0 && args->handle < next_callable_;
  }
  if (callable == nullptr) {
    done(InvalidArgument(was_released ? "Attempted to run callable after handle was released: "
                                      : "No such callable handle: ",
                         args->handle));
    return;
  }
  auto holder = std::make_shared<StepRun*>(nullptr);
  auto finish = [result, holder, done = std::move(done)](Status status) {
    if (status.ok()) {
      for (Tensor& fetch : (*holder)->fetches) result->fetches.push_back({"", std::move(fetch)});
      result->metadata.Swap(&(*holder)->metadata);
    }
    done(std::move(status));
  };
  auto run = std::make_shared<StepRun>(shared_from_this(), callable->graph, std::move(finish));
  *holder = run.get();
  run->feeds = std::move(args->feeds);
  run->Start(
      call, callable->options,
      StepDeadline::In(std::chrono::milliseconds(callable->options.timeout_in_ms()), call.timeout));
}

void MasterSession::ReleaseCallable(int64_t handle) {
  std::shared_ptr<const Callable> released;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto it = callables_.find(handle);
  if (it == callables_.end()) return;
  released = std::move(it->second);
  callables_.erase(it);
  --ServerMetrics().callables;
}

}  // namespace tensorfleet
