#include "runtime/session/master/master.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "runtime/base/contain.h"
#include "runtime/base/log.h"
#include "runtime/session/cluster/device_attributes.h"
#include "runtime/session/master/create_session.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {

Master::Master(Options options) : options_(std::move(options)) {}

Master::~Master() = default;

std::shared_ptr<MasterSession> Master::Find(const std::string& handle) {
  MutexLock lock(&mu_);
  const auto it = sessions_.find(handle);
  return it == sessions_.end() ? nullptr : it->second;
}

StatusOr<std::shared_ptr<MasterSession>> Master::FindForStep(const std::string& handle) {
  std::shared_ptr<MasterSession> session = Find(handle);
  if (session == nullptr) return Aborted("Session ", handle, " is not found.");
  session->requests().Touch();
  return session;
}

void Master::CreateSession(const CallOptions& call,
                           std::shared_ptr<const tensorflow::CreateSessionRequest> request,
                           DoneWith<tensorflow::CreateSessionResponse> done) {
  std::make_shared<SessionCreation>(this, std::move(request), std::move(done))->Start(call);
}

void Master::ExtendSession(std::shared_ptr<const tensorflow::ExtendSessionRequest> request,
                           DoneWith<int64_t> done) {
  StatusOr<std::shared_ptr<MasterSession>> session = FindForStep(request->session_handle());
  if (!session.ok()) {
    done(session.status());
    return;
  }
  // A version that is out of date is found out inside, under the lock.
  options_.compile_pool->Schedule(
      [session = *std::move(session), request = std::move(request), done = std::move(done)] {
        done(Contained([&] {
          return session->Extend(request->graph_def(), request->current_graph_version());
        }));
      });
}

void Master::RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done) {
  StatusOr<std::shared_ptr<MasterSession>> session = FindForStep(args->session_handle);
  Status status = session.status();
  if (status.ok()) status = request_ids_.Track(args->request_id, "RunStep (Master)");
  if (status.ok()) {
    (*session)->RunStep(call, args, result, std::move(done));
  } else {
    done(std::move(status));
  }
}

void Master::PartialRunSetup(const CallOptions& call,
                             const tensorflow::PartialRunSetupRequest& request,
                             DoneWith<std::string> done) {
  StatusOr<std::shared_ptr<MasterSession>> session = FindForStep(request.session_handle());
  Status status = session.status();
  if (status.ok()) status = request_ids_.Track(request.request_id(), "PartialRunSetup (Master)");
  if (!status.ok()) return done(std::move(status));
  Signature signature;
  signature.feeds.assign(request.feed().begin(), request.feed().end());
  signature.fetches.assign(request.fetch().begin(), request.fetch().end());
  signature.targets.assign(request.target().begin(), request.target().end());
  (*session)->PartialRunSetup(call, signature, std::move(done));
}

void Master::CloseSession(const std::string& handle, Done done) {
  std::shared_ptr<MasterSession> session;
  {
    MutexLock lock(&mu_);
    const auto it = sessions_.find(handle);
    if (it != sessions_.end()) {
      session = std::move(it->second);
      sessions_.erase(it);
    }
  }
  if (session == nullptr) {
    done(Aborted("Session ", handle, " is not found. Possibly, this master has restarted."));
    return;
  }
  LogDebug("Close master session", {{"session", handle}});
  session->Close(std::move(done));
}

void Master::ListDevices(const CallOptions& call, const std::string& handle,
                         DoneWith<tensorflow::ListDevicesResponse> done) {
  // Filled by several answers; kept alive by the calls.
  struct Listing {
    Mutex mu;
    tensorflow::ListDevicesResponse response ABSL_GUARDED_BY(mu);
    std::atomic<size_t> pending{1};
    DoneWith<tensorflow::ListDevicesResponse> done;
    void OneLess() {
      if (pending.fetch_sub(1) != 1) return;
      tensorflow::ListDevicesResponse whole;
      {
        MutexLock lock(&mu);
        whole.Swap(&response);
      }
      done(std::move(whole));
    }
  };
  auto listing = std::make_shared<Listing>();
  listing->done = std::move(done);
  if (!handle.empty()) {
    const std::shared_ptr<MasterSession> session = Find(handle);
    if (session == nullptr) {
      listing->done(InvalidArgument("Session ", handle,
                                    " is not found. Possibly, this master has restarted."));
      return;
    }
    MutexLock lock(&listing->mu);
    for (const SessionTask& task : session->tasks()) {
      for (const DeviceAttributes& device : task.devices) {
        DeviceAttributesToProto(device, task.is_local ? listing->response.add_local_device()
                                                      : listing->response.add_remote_device());
      }
    }
  } else {
    {
      MutexLock lock(&listing->mu);
      for (const DeviceAttributes& device : options_.worker->devices()) {
        DeviceAttributesToProto(device, listing->response.add_local_device());
      }
    }
    CallOptions options = call;
    options.timeout = std::chrono::seconds(10);
    for (const auto& [task, address] : options_.cluster.Tasks()) {
      if (task == options_.worker->task()) continue;
      listing->pending.fetch_add(1);
      options_.peers->Worker(address)->GetStatus(
          options, [listing](StatusOr<std::vector<DeviceAttributes>> devices) {
            if (devices.ok()) {
              MutexLock lock(&listing->mu);
              for (const DeviceAttributes& device : *devices) {
                DeviceAttributesToProto(device, listing->response.add_remote_device());
              }
            }
            listing->OneLess();
          });
    }
  }
  listing->OneLess();
}

void Master::Reset(const CallOptions& call, const tensorflow::ResetRequest& request, Done done) {
  const std::vector<std::string> containers(request.container().begin(), request.container().end());
  // The one of this process outlives the call.
  std::vector<std::shared_ptr<WorkerInterface>> workers = {
      {std::shared_ptr<void>(), options_.worker}};
  for (const auto& [task, address] : options_.cluster.Tasks()) {
    if (task == options_.worker->task()) continue;
    const StatusOr<bool> passes = PassesFilters(task, request.device_filters());
    if (!passes.ok()) {
      done(passes.status());
      return;
    }
    if (*passes) workers.push_back(options_.peers->Worker(address));
  }
  auto errors = std::make_shared<StepErrors>();
  auto pending = std::make_shared<std::atomic<size_t>>(workers.size());
  const auto one_less = [this, errors, pending, done = std::move(done)](Status status) {
    errors->Add(std::move(status));
    if (pending->fetch_sub(1) != 1) return;
    CloseAll([errors, done](Status) { done(errors->Merged()); });
  };
  for (const auto& worker : workers) worker->CleanupAll(call, containers, one_less);
}

void Master::CloseIdleSessions(IdleClock::TimePoint now) {
  if (options_.session_idle_timeout.count() == 0) return;
  std::vector<std::shared_ptr<MasterSession>> expired;
  {
    MutexLock lock(&mu_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      if (it->second->requests().IdleAt(now) <= options_.session_idle_timeout) {
        ++it;
        continue;
      }
      LogInfo("Closing a session whose client is not heard of", {{"session", it->first}});
      expired.push_back(std::move(it->second));
      sessions_.erase(it++);
    }
  }
  ServerMetrics().sessions_expired += static_cast<int64_t>(expired.size());
  for (const auto& session : expired) session->Close([](const Status&) {});
}

void Master::CloseAll(Done done) {
  absl::flat_hash_map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(&mu_);
    sessions.swap(sessions_);
  }
  auto pending = std::make_shared<std::atomic<size_t>>(sessions.size() + 1);
  const auto one_less = [pending, done = std::move(done)](Status) {
    if (pending->fetch_sub(1) == 1) done(OkStatus());
  };
  for (const auto& [handle, session] : sessions) session->Close(one_less);
  one_less(OkStatus());
}

void Master::MakeCallable(const CallOptions& call, const tensorflow::MakeCallableRequest& request,
                          DoneWith<int64_t> done) {
  StatusOr<std::shared_ptr<MasterSession>> session = FindForStep(request.session_handle());
  Status status = session.status();
  if (status.ok()) status = request_ids_.Track(request.request_id(), "MakeCallable (Master)");
  if (!status.ok()) return done(std::move(status));
  (*session)->MakeCallable(call, request.options(), std::move(done));
}

void Master::RunCallable(const CallOptions& call, RunCallableArgs* args, RunStepResult* result,
                         Done done) {
  StatusOr<std::shared_ptr<MasterSession>> session = FindForStep(args->session_handle);
  Status status = session.status();
  if (status.ok()) status = request_ids_.Track(args->request_id, "RunCallable (Master)");
  if (status.ok()) {
    (*session)->RunCallable(call, args, result, std::move(done));
  } else {
    done(std::move(status));
  }
}

Status Master::ReleaseCallable(const tensorflow::ReleaseCallableRequest& request) {
  TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session,
                          FindForStep(request.session_handle()));
  session->ReleaseCallable(request.handle());
  return OkStatus();
}

}  // namespace tensorfleet
