#include "runtime/session/worker/step_table.h"

#include "runtime/session/metrics.h"
#include "runtime/session/worker/partial_run.h"
#include "runtime/session/worker/worker_session.h"

namespace tensorfleet {

void WorkerStep::Abort(const Status& why) {
  cancellation.StartCancel(why);
  rendezvous.StartAbort(why);
}

StepTable::~StepTable() {
  MutexLock lock(&mu_);
  ServerMetrics().worker_steps -= static_cast<int64_t>(steps_.size());
}

std::shared_ptr<WorkerStep>& StepTable::Make(int64_t step_id) {
  std::shared_ptr<WorkerStep>& step = steps_[step_id];
  if (step == nullptr) {
    step = std::make_shared<WorkerStep>(step_id, log_);
    ++ServerMetrics().worker_steps;
  }
  return step;
}

StatusOr<std::shared_ptr<WorkerStep>> StepTable::PeerCame(int64_t step_id) {
  MutexLock lock(&mu_);
  if (WasLeft(step_id)) {
    return MarkDerived(Aborted("step ", step_id, " is over on this worker"));
  }
  std::shared_ptr<WorkerStep>& step = Make(step_id);
  ++step->peers_;
  return step;
}

bool StepTable::WasLeft(int64_t step_id) const {
  if (over_.contains(step_id)) return true;
  for (const auto& [first, last] : skipped_) {
    if (step_id >= first && step_id <= last) return true;
  }
  return false;
}

void StepTable::Skip(int64_t first, int64_t last) {
  if (first > last) return;
  std::vector<std::shared_ptr<WorkerStep>> left;
  {
    MutexLock lock(&mu_);
    skipped_.emplace_back(first, last);
    if (skipped_.size() > kRememberedRanges) skipped_.pop_front();
    for (auto it = steps_.begin(); it != steps_.end();) {
      if (it->first >= first && it->first <= last && !it->second->has_begun_) {
        left.push_back(std::move(it->second));
        steps_.erase(it++);
      } else {
        ++it;
      }
    }
  }
  ServerMetrics().worker_steps -= static_cast<int64_t>(left.size());
  for (const auto& step : left) {
    step->Abort(Aborted("this task takes no part in step ", step->id));
  }
}

void StepTable::PeerLeft(WorkerStep* step) {
  std::shared_ptr<WorkerStep> removed;  // destroyed outside the lock
  MutexLock lock(&mu_);
  if (--step->peers_ > 0 || step->has_begun_) return;
  // Nothing but peers that have given up was ever in it.
  const auto it = steps_.find(step->id);
  if (it == steps_.end() || it->second.get() != step) return;
  removed = std::move(it->second);
  steps_.erase(it);
  --ServerMetrics().worker_steps;
}

std::shared_ptr<WorkerStep> StepTable::Begin(int64_t step_id) {
  MutexLock lock(&mu_);
  over_.erase(step_id);
  std::shared_ptr<WorkerStep>& step = Make(step_id);
  step->has_begun_ = true;
  return step;
}

std::shared_ptr<WorkerStep> StepTable::Find(int64_t step_id) const {
  MutexLock lock(&mu_);
  const auto it = steps_.find(step_id);
  return it == steps_.end() ? nullptr : it->second;
}

void StepTable::Remember(int64_t step_id) {
  if (!over_.insert(step_id).second) return;
  if (over_ring_.size() < kRemembered) {
    over_ring_.push_back(step_id);
  } else {
    over_.erase(over_ring_[over_oldest_]);
    over_ring_[over_oldest_] = step_id;
    over_oldest_ = (over_oldest_ + 1) % kRemembered;
  }
}

std::shared_ptr<WorkerStep> StepTable::Remove(int64_t step_id) {
  MutexLock lock(&mu_);
  Remember(step_id);
  const auto it = steps_.find(step_id);
  if (it == steps_.end()) return nullptr;
  std::shared_ptr<WorkerStep> step = std::move(it->second);
  steps_.erase(it);
  --ServerMetrics().worker_steps;
  return step;
}

void StepTable::EndThoseOf(const WorkerSession& session, const Status& why,
                           std::chrono::nanoseconds idle_for, IdleClock::TimePoint now) {
  std::vector<std::shared_ptr<WorkerStep>> ended;
  {
    MutexLock lock(&mu_);
    for (const auto& [id, step] : steps_) {
      MutexLock step_lock(&step->mu);
      if (step->session.get() != &session) continue;
      if (idle_for.count() > 0 && step->calls.IdleAt(now) <= idle_for) continue;
      ended.push_back(step);
    }
    for (const auto& step : ended) {
      steps_.erase(step->id);
      Remember(step->id);
    }
  }
  ServerMetrics().worker_steps -= static_cast<int64_t>(ended.size());
  for (const auto& step : ended) step->Abort(why);
}

void StepTable::AbortAll(const Status& why) {
  std::vector<std::shared_ptr<WorkerStep>> steps;
  {
    MutexLock lock(&mu_);
    for (const auto& [id, step] : steps_) steps.push_back(step);
  }
  for (const auto& step : steps) step->Abort(why);
}

}  // namespace tensorfleet
