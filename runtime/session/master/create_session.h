// How a master opens a session: asks every worker in scope for its devices (and waits for those
// that are not up yet, saying so in the log; one that does not answer in time is asked anew),
// places the graph, then opens a session at each
// worker. One object per attempt, kept alive by the calls that are under way.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session/master/master.h"
#include "runtime/session/master/step_errors.h"

namespace tensorfleet {

// Whether a session with these filters uses the task; no filters: it does. Errors: InvalidArgument
// for a filter that is no device name.
StatusOr<bool> PassesFilters(const std::string& task,
                             const google::protobuf::RepeatedPtrField<std::string>& filters);

class SessionCreation : public std::enable_shared_from_this<SessionCreation> {
 public:
  using Done = Master::DoneWith<tensorflow::CreateSessionResponse>;
  SessionCreation(Master* master, std::shared_ptr<const tensorflow::CreateSessionRequest> request,
                  Done done);

  void Start(const CallOptions& call);

 private:
  // Fills tasks_ from the cluster of the server, or of the client's ConfigProto.
  Status ChooseTasks();
  std::shared_ptr<WorkerInterface> OwnWorker() const;
  Status UseClientsCluster();
  void AskAll(const CallOptions& call);
  void Ask(size_t i);
  bool MayAskAgain() const;
  void Remind(bool is_first);
  void Answered(size_t i, StatusOr<std::vector<DeviceAttributes>> devices);
  void OneLess();
  // On a pool thread.
  void Build();
  void OpenAtWorkers();
  void Opened();
  void Fail(Status status);
  MasterSession::Options SessionOptions() const;

  Master* const master_;
  const std::shared_ptr<const tensorflow::CreateSessionRequest> request_;
  Done done_;
  tensorflow::ConfigProto config_;
  std::string handle_;
  ClusterSpec cluster_;
  std::string own_task_;
  bool is_clients_cluster_ = false;
  bool isolate_ = false;
  std::vector<SessionTask> tasks_;
  std::vector<std::string> addresses_;  // by task; for messages
  std::unique_ptr<std::atomic<bool>[]> answered_;
  // When the caller's patience ends; none: it waits.
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::atomic<size_t> pending_{0};
  CancellationManager calls_;
  CancellationManager* caller_ = nullptr;
  CancellationManager::Token caller_token_ = -1;
  StepErrors errors_;
  std::atomic<bool> over_{false};
  std::shared_ptr<MasterSession> session_;
};

}  // namespace tensorfleet
