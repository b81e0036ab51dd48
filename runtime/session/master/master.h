// The master of a task: the sessions of clients that dialled it. Thread-safe; calls are
// asynchronous like those of WorkerInterface, and arguments given by pointer live until `done`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/master.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/base/timer_queue.h"
#include "runtime/place/placement/placer.h"
#include "runtime/session/cluster/cluster_spec.h"
#include "runtime/session/master/master_session.h"
#include "runtime/session/master/master_types.h"
#include "runtime/session/worker/request_ids.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {

class Master {
 public:
  struct Options {
    Worker* worker = nullptr;  // of this process
    ClusterSpec cluster;       // empty: there is only this process
    Peers* peers = nullptr;
    TimerQueue* timers = nullptr;
    ThreadPool* compile_pool = nullptr;  // places and prepares graphs
    GraphCache::Limits cached_graphs;    // of each session
    // How long a worker may take to say that it is there before it is asked again, on another
    // connection. Needs the timers.
    std::chrono::milliseconds peer_answer{10'000};
    tensorflow::ConfigProto default_session_config;
    // Sessions whose client asked for nothing for so long are closed. 0: never.
    std::chrono::nanoseconds session_idle_timeout = std::chrono::hours(24);
    DefaultPlacement default_placement = DefaultPlacement::kAuto;
    std::string dump_dir;  // where sessions' graphs are written; empty: nowhere
    bool name_tasks_in_errors = true;
  };
  using Done = WorkerInterface::Done;
  template <typename T>
  using DoneWith = WorkerInterface::DoneWith<T>;

  explicit Master(Options options);
  ~Master();

  const Options& options() const { return options_; }

  // Waits for workers that are not up yet, until cancelled.
  void CreateSession(const CallOptions& call,
                     std::shared_ptr<const tensorflow::CreateSessionRequest> request,
                     DoneWith<tensorflow::CreateSessionResponse> done);
  // Gives the new version of the graph.
  void ExtendSession(std::shared_ptr<const tensorflow::ExtendSessionRequest> request,
                     DoneWith<int64_t> done);
  void RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result, Done done);
  void PartialRunSetup(const CallOptions& call, const tensorflow::PartialRunSetupRequest& request,
                       DoneWith<std::string> done);
  void CloseSession(const std::string& handle, Done done);
  void ListDevices(const CallOptions& call, const std::string& handle,
                   DoneWith<tensorflow::ListDevicesResponse> done);
  void Reset(const CallOptions& call, const tensorflow::ResetRequest& request, Done done);
  void MakeCallable(const CallOptions& call, const tensorflow::MakeCallableRequest& request,
                    DoneWith<int64_t> done);
  void RunCallable(const CallOptions& call, RunCallableArgs* args, RunStepResult* result,
                   Done done);
  Status ReleaseCallable(const tensorflow::ReleaseCallableRequest& request);

  // Closes the sessions that were idle for too long. To be called a few times in that period, by
  // one thread at a time.
  void CloseIdleSessions(IdleClock::TimePoint now);
  // Closes every session. For the end of the process.
  void CloseAll(Done done);

 private:
  friend class SessionCreation;
  std::shared_ptr<MasterSession> Find(const std::string& handle);  // null when unknown
  StatusOr<std::shared_ptr<MasterSession>> FindForStep(const std::string& handle);

  const Options options_;
  RequestIds request_ids_;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<MasterSession>> sessions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
