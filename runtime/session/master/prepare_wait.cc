#include "runtime/session/master/prepare_wait.h"

#include <utility>

namespace tensorfleet {
namespace {

// Kept alive by whatever may end it.
class PrepareWait : public std::enable_shared_from_this<PrepareWait> {
 public:
  PrepareWait(PrepareWaitArgs args, std::function<void(Status)> then)
      : args_(std::move(args)), then_(std::move(then)) {}

  void Start() {
    if (args_.caller != nullptr) caller_token_ = Watch(args_.caller);
    session_token_ = Watch(args_.session_end.get());
    if (args_.deadline.is_set() && args_.timers != nullptr) {
      timer_ = args_.timers->RunAt(args_.deadline.at, [self = shared_from_this()] {
        self->Over(self->args_.deadline.Error());
      });
    }
    args_.graph->WhenReady(
        [self = shared_from_this()] { self->Over(self->args_.graph->status()); });
    {
      MutexLock lock(&mu_);
      is_set_up_ = true;
      if (!is_over_) return;
    }
    Finish();
  }

 private:
  CancellationManager::Token Watch(CancellationManager* reason) {
    const auto token =
        reason->Register([self = shared_from_this(), reason] { self->Over(reason->status()); });
    if (token < 0) Over(reason->status());
    return token;
  }

  // The first one counts.
  void Over(Status why) {
    {
      MutexLock lock(&mu_);
      if (is_over_) return;
      is_over_ = true;
      status_ = std::move(why);
      if (!is_set_up_) return;  // Start goes on
    }
    Finish();
  }

  void Finish() {
    if (caller_token_ >= 0) args_.caller->TryDeregister(caller_token_);
    if (session_token_ >= 0) args_.session_end->TryDeregister(session_token_);
    if (timer_ != 0) args_.timers->Cancel(timer_);
    Status status;
    {
      MutexLock lock(&mu_);
      status = std::move(status_);
    }
    args_.graph->Leave();
    if (!status.ok()) {
      const std::function<void(Status)> then = std::move(then_);
      then(std::move(status));
      return;
    }
    // Not here: the thread that prepares graphs is not to run them.
    args_.pool->Schedule([self = shared_from_this()] {
      const std::function<void(Status)> then = std::move(self->then_);
      then(OkStatus());
    });
  }

  const PrepareWaitArgs args_;
  std::function<void(Status)> then_;
  CancellationManager::Token caller_token_ = -1, session_token_ = -1;
  TimerQueue::Id timer_ = 0;
  Mutex mu_;
  bool is_set_up_ ABSL_GUARDED_BY(mu_) = false;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

StepDeadline StepDeadline::In(std::chrono::milliseconds first, std::chrono::milliseconds second) {
  StepDeadline deadline;
  deadline.limit = first.count() != 0 ? first : second;
  if (deadline.is_set()) deadline.at = std::chrono::steady_clock::now() + deadline.limit;
  return deadline;
}

Status StepDeadline::Error() const {
  return DeadlineExceeded("Timed out waiting for the step: it did not end within ", limit.count(),
                          " ms");
}

void WaitUntilPrepared(PrepareWaitArgs args, std::function<void(Status)> then) {
  if (args.graph->is_ready()) {
    then(args.graph->status());
    return;
  }
  std::make_shared<PrepareWait>(std::move(args), std::move(then))->Start();
}

}  // namespace tensorfleet
