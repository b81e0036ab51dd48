#include "runtime/train/session/monitored_session.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/log.h"
#include "runtime/train/session/readiness.h"

namespace tensorfleet::train {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(10), kLongestPause(1000);

// Returns early when `stop` is cancelled.
void Pause(milliseconds pause, CancellationManager* stop) {
  Notification stopped;
  CancellationManager::Token token = -1;
  if (stop != nullptr) {
    token = stop->Register([&stopped] { stopped.Notify(); });
    if (token < 0) return;
  }
  stopped.WaitFor(pause);
  if (token >= 0) stop->Deregister(token);
}

}  // namespace

bool IsLostTask(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

MonitoredSession::MonitoredSession(MonitoredSessionOptions options,
                                   std::vector<std::unique_ptr<Hook>> hooks)
    : options_(std::move(options)), hooks_(std::move(hooks)) {}

MonitoredSession::~MonitoredSession() { CloseSession(); }

Status MonitoredSession::stopped() const {
  return options_.stop != nullptr && options_.stop->is_cancelled() ? options_.stop->status()
                                                                   : OkStatus();
}

void MonitoredSession::CloseSession() {
  is_open_ = false;
  if (session_ == nullptr) return;
  if (runners_ != nullptr) runners_->Stop();
  // Cancels what the runners' threads are waiting in. A server that is gone has nothing to close.
  session_->Close().IgnoreError();
  for (const auto& hook : hooks_) hook->SessionEnds();
  runners_.reset();
  session_.reset();
}

Status MonitoredSession::TryOpen() {
  TFLEET_ASSIGN_OR_RETURN(session_, options_.open());
  TFLEET_RETURN_IF_ERROR(session_->Extend(options_.graph->graph));
  if (options_.is_chief) {
    std::optional<std::string> checkpoint;
    if (options_.latest_checkpoint != nullptr) {
      TFLEET_ASSIGN_OR_RETURN(checkpoint, options_.latest_checkpoint());
    }
    TFLEET_RETURN_IF_ERROR(PrepareAsChief(*options_.graph, checkpoint, *session_));
    TFLEET_RETURN_IF_ERROR(BeginSyncLoop());
  } else {
    CancellationManager never;
    TFLEET_RETURN_IF_ERROR(WaitForChief(
        *options_.graph, options_.stop != nullptr ? options_.stop : &never, *session_));
  }
  TFLEET_ASSIGN_OR_RETURN(global_step_, ReadGlobalStep(options_.graph->global_step, *session_));
  StartQueueRunners();
  for (const auto& hook : hooks_) {
    TFLEET_RETURN_IF_ERROR(hook->SessionStarted(*session_, global_step_));
  }
  is_open_ = true;
  return OkStatus();
}

Status MonitoredSession::BeginSyncLoop() {
  if (!options_.graph->sync) return OkStatus();
  const SyncLoop& loop = *options_.graph->sync;
  StepRequest begin;
  begin.targets = loop.begin;
  begin.fetches = {loop.tokens_left};
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> left, session_->Run(begin));
  // Workers that were held up when the last session broke off go on with what it left them.
  if (left[0].scalar<int32_t>() > 0) return OkStatus();
  StepRequest add;
  add.targets = {loop.add_tokens};
  return session_->Run(add).status();
}

void MonitoredSession::StartQueueRunners() {
  std::vector<tensorflow::QueueRunnerDef> runners = options_.graph->queue_runners;
  if (options_.is_chief && options_.graph->sync) runners.push_back(options_.graph->sync->runner);
  if (runners.empty()) return;
  // A step may wait for what a runner would have brought, on a server that is well: only the end of
  // the session ends it.
  runners_ = std::make_unique<QueueRunners>(
      runners, session_.get(), [session = session_.get()] { session->Close().IgnoreError(); });
}

Status MonitoredSession::Recover(Status why) {
  // What ended a queue runner, and with it the session, is the cause of what was seen then.
  if (!IsLostTask(why) && runners_ != nullptr && !runners_->status().ok()) {
    why = runners_->status();
  }
  CloseSession();
  TFLEET_RETURN_IF_ERROR(stopped());
  if (!IsLostTask(why)) return why;
  ++recoveries_;
  LogWarning("A task of the job was lost; opening another session", {{"why", why.message()}});
  // The first attempt is made at once. CreateSession itself waits for tasks that are not up yet;
  // the pauses are for those that come up and fail.
  if (failures_in_a_row_++ > 0) {
    const int doublings = std::min(failures_in_a_row_ - 2, 7);
    Pause(std::min(kFirstPause * (1 << doublings), kLongestPause), options_.stop);
    TFLEET_RETURN_IF_ERROR(stopped());
  }
  return OkStatus();
}

Status MonitoredSession::Start() {
  if (session_ != nullptr) return OkStatus();
  TimerQueue::Id timer = -1;
  if (options_.give_up_after.count() > 0 && options_.stop != nullptr) {
    timer = timers_.RunAfter(options_.give_up_after, [this] {
      options_.stop->StartCancel(DeadlineExceeded("no session with the job's tasks for ",
                                                  options_.give_up_after.count() / 1000,
                                                  " seconds (--give_up_secs)"));
    });
  }
  const Status status = KeepOpening();
  if (timer >= 0) timers_.Cancel(timer);
  return status;
}

Status MonitoredSession::KeepOpening() {
  while (session_ == nullptr) {
    TFLEET_RETURN_IF_ERROR(stopped());
    const Status opened = TryOpen();
    if (opened.ok()) break;
    TFLEET_RETURN_IF_ERROR(Recover(opened));
  }
  return OkStatus();
}

Status MonitoredSession::RunHooks(const std::vector<std::vector<std::string>>& asked,
                                  const std::vector<std::string>& fetches,
                                  const std::vector<Tensor>& values) {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    std::vector<Tensor> own;
    for (const std::string& name : asked[i]) {
      own.push_back(values[std::find(fetches.begin(), fetches.end(), name) - fetches.begin()]);
    }
    TFLEET_ASSIGN_OR_RETURN(const bool stop,
                            hooks_[i]->StepDone({session_.get(), global_step_, own}));
    should_stop_ |= stop;
  }
  return OkStatus();
}

Status MonitoredSession::TryStep(const Feeds& feeds) {
  StepRequest request;
  request.feeds = feeds;
  request.targets = options_.graph->train_ops;
  const std::optional<SaveGraph>& save = options_.graph->save;
  request.fetches = {save ? save->global_step : options_.graph->global_step};
  std::vector<std::vector<std::string>> asked;
  for (const auto& hook : hooks_) {
    hook->StepBegins(global_step_, &request);
    asked.push_back(hook->Fetches(global_step_));
    for (const std::string& name : asked.back()) {
      if (std::find(request.fetches.begin(), request.fetches.end(), name) ==
          request.fetches.end()) {
        request.fetches.push_back(name);
      }
    }
  }
  StatusOr<std::vector<Tensor>> values = session_->Run(request);
  if (runners_ != nullptr) TFLEET_RETURN_IF_ERROR(runners_->status());
  if (absl::IsOutOfRange(values.status())) {
    LogInfo("The input has ended", {{"step", global_step_}});
    should_stop_ = true;
    return OkStatus();
  }
  TFLEET_RETURN_IF_ERROR(values.status());
  failures_in_a_row_ = 0;
  TFLEET_ASSIGN_OR_RETURN(global_step_, ToInt64((*values)[0]));
  return RunHooks(asked, request.fetches, *values);
}

Status MonitoredSession::Step(const Feeds& feeds) {
  for (;;) {
    TFLEET_RETURN_IF_ERROR(Start());
    const Status status = TryStep(feeds);
    if (status.ok()) return status;
    TFLEET_RETURN_IF_ERROR(Recover(status));
  }
}

StatusOr<bool> MonitoredSession::Finish() {
  const int64_t reached = global_step_;
  for (;;) {
    TFLEET_RETURN_IF_ERROR(Start());
    if (global_step_ < reached) {
      LogWarning("Steps were lost with a task; training goes on",
                 {{"step", global_step_}, {"had_reached", reached}});
      should_stop_ = false;
      return false;
    }
    const Status status = [&]() -> Status {
      TFLEET_ASSIGN_OR_RETURN(global_step_, ReadGlobalStep(options_.graph->global_step, *session_));
      for (const auto& hook : hooks_) {
        TFLEET_RETURN_IF_ERROR(hook->End(*session_, global_step_));
      }
      return OkStatus();
    }();
    if (status.ok()) break;
    TFLEET_RETURN_IF_ERROR(Recover(status));
  }
  CloseSession();
  return true;
}

}  // namespace tensorfleet::train
