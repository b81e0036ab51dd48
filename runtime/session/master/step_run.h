// One run of a prepared graph over all the workers that take part.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/session/master/master_session.h"
#include "runtime/session/master/step_errors.h"

namespace tensorfleet {

// Kept alive by the calls that are under way.
class StepRun : public std::enable_shared_from_this<StepRun> {
 public:
  StepRun(std::shared_ptr<MasterSession> session, std::shared_ptr<PreparedGraph> graph,
          MasterSession::Done done);
  ~StepRun();

  // Checks the feeds' types, then runs. Cancelled by the caller, by the session's end, and at the
  // deadline: `done` is then called within kGrace, though kernels may go on for longer. With an
  // error `fetches` and `metadata` are not to be read. `call` and `options` are not used after
  // `done`.
  static constexpr std::chrono::milliseconds kGrace{50};
  void Start(const CallOptions& call, const tensorflow::RunOptions& options,
             const StepDeadline& deadline);

  // By position in the signature: to be filled before Start, to be read in `done`.
  std::vector<Tensor> feeds;
  std::vector<Tensor> fetches;
  tensorflow::RunMetadata metadata;

 private:
  struct PartCall {
    RunGraphArgs args;
    RunGraphResult result;
  };
  Status CheckFeeds() const;
  void WatchForCancellation(const CallOptions& call, const StepDeadline& deadline);
  void GiveUp(const Status& why);
  // Calls `done`, the first time.
  void Answer(Status status);
  // Once the step has its id.
  void Launch(const tensorflow::RunOptions& options);
  void RunPart(size_t i);
  void PartDone(size_t i, Status status);
  void Finish();
  void CleanUp();
  Status CheckFetches() const;
  void FillMetadata();

  const std::shared_ptr<MasterSession> session_;
  const std::shared_ptr<PreparedGraph> graph_;
  MasterSession::Done done_;
  int64_t step_id_ = 0;
  int64_t collective_graph_key_ = 0;
  int64_t start_nanos_ = 0;
  bool is_traced_ = false;
  bool caller_waits_ = false;
  CallFrame frame_;
  std::vector<PartCall> calls_;
  CancellationManager cancellation_;
  CancellationManager* caller_ = nullptr;
  CancellationManager::Token caller_token_ = -1, session_token_ = -1;
  TimerQueue::Id timer_ = 0;
  std::atomic<bool> is_answered_{false};
  std::atomic<size_t> pending_{0};
  StepErrors errors_;
};

// What the client is told about `merged` when the step may have been cancelled from outside.
Status WithCancellationCause(Status merged, const CancellationManager& cancellation);

// Random, positive and below 2^56, as TensorFlow's are.
int64_t NewStepId();

}  // namespace tensorfleet
