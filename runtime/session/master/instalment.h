// One call of a partial run: what it brings goes to the workers, what it asks for comes back.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session/master/master_session.h"
#include "runtime/session/master/partial_step.h"
#include "runtime/session/master/step_errors.h"

namespace tensorfleet {

// Kept alive by the calls that are under way.
class Instalment : public std::enable_shared_from_this<Instalment> {
 public:
  // The call has entered the session, which it leaves at its end, and PartialStep::Take has marked
  // what it brings and asks for.
  Instalment(std::shared_ptr<MasterSession> session, std::shared_ptr<PartialStep> partial,
             bool is_last, MasterSession::Done done);

  // `args` and `result` live until `done`. When the run is cancelled (by the caller, by the
  // session's end, at the deadline, by another of its calls that fails) `done` is called within
  // StepRun::kGrace, though kernels may go on for longer.
  void Start(const CallOptions& call, RunStepArgs* args, RunStepResult* result);

 private:
  struct PartCall {
    RunGraphArgs args;
    RunGraphResult result;
  };
  void FillCalls();
  void WatchForCancellation(const CallOptions& call);
  void AnswerSoon();
  // Calls `done`, the first time.
  void Answer(Status status);
  void RunPart(size_t i);
  void PartDone(size_t i, Status status);
  void Finish();
  // What was asked for, into the result. Errors: InvalidArgument for what was not computed.
  Status TakeFetches();
  std::string KeyOf(const std::string& tensor) const;

  const std::shared_ptr<MasterSession> session_;
  const std::shared_ptr<PartialStep> partial_;
  const bool is_last_;
  MasterSession::Done done_;
  RunStepArgs* args_ = nullptr;
  RunStepResult* result_ = nullptr;
  std::vector<PartCall> calls_;
  CancellationManager* caller_ = nullptr;
  CancellationManager::Token caller_token_ = -1, token_ = -1;
  TimerQueue::Id timer_ = 0;
  std::atomic<bool> is_answered_{false};
  std::atomic<size_t> pending_{0};
  StepErrors errors_;
};

}  // namespace tensorfleet
