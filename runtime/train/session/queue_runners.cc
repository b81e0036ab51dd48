#include "runtime/train/session/queue_runners.h"

#include <algorithm>

#include "runtime/base/log.h"

namespace tensorfleet::train {

QueueRunners::QueueRunners(const std::vector<tensorflow::QueueRunnerDef>& runners, Session* session,
                           std::function<void()> on_error)
    : session_(session), on_error_(std::move(on_error)) {
  for (const tensorflow::QueueRunnerDef& def : runners) {
    runners_.push_back(std::make_unique<Runner>());
    Runner* const runner = runners_.back().get();
    runner->def = def;
    runner->running = def.enqueue_op_name_size();
    for (const std::string& op : def.enqueue_op_name()) {
      threads_.emplace_back([this, runner, op] { Fill(runner, op); });
    }
  }
}

QueueRunners::~QueueRunners() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void QueueRunners::Stop() {
  MutexLock lock(&mu_);
  stopped_ = true;
}

Status QueueRunners::status() const {
  MutexLock lock(&mu_);
  return status_;
}

bool QueueRunners::IsEndOfInput(const Runner& runner, const Status& status) const {
  const auto& codes = runner.def.queue_closed_exception_types();
  if (codes.empty()) return absl::IsOutOfRange(status);
  return std::find(codes.begin(), codes.end(), static_cast<int>(status.code())) != codes.end();
}

void QueueRunners::Run(const std::string& target) {
  if (target.empty()) return;
  StepRequest request;
  request.targets = {target};
  const Status status = session_->Run(request).status();
  if (!status.ok()) LogDebug("A queue was not closed", {{"op", target}, {"why", status.message()}});
}

void QueueRunners::Fail(const Status& status) {
  {
    MutexLock lock(&mu_);
    if (stopped_) return;  // the end of the session, not the cause of it
    stopped_ = true;
    status_ = status;
  }
  for (const auto& runner : runners_) Run(runner->def.cancel_op_name());
  if (on_error_ != nullptr) on_error_();
}

void QueueRunners::Fill(Runner* runner, const std::string& enqueue_op) {
  StepRequest request;
  request.targets = {enqueue_op};
  Status status;
  for (;;) {
    {
      MutexLock lock(&mu_);
      if (stopped_) break;
    }
    status = session_->Run(request).status();
    if (!status.ok()) break;
  }
  bool is_last = false;
  {
    MutexLock lock(&mu_);
    is_last = --runner->running == 0;
    if (stopped_) return;
  }
  if (!IsEndOfInput(*runner, status)) {
    Fail(status);
  } else if (is_last) {
    Run(runner->def.close_op_name());
  }
}

}  // namespace tensorfleet::train
