#include "runtime/session/step_table.h"

#include "runtime/session/partial_run.h"

namespace tensorfleet {

void WorkerStep::Abort(const Status& why) {
  cancellation.StartCancel(why);
  rendezvous.StartAbort(why);
}

StatusOr<std::shared_ptr<WorkerStep>> StepTable::FindOrMake(int64_t step_id) {
  MutexLock lock(&mu_);
  if (over_.contains(step_id)) {
    return MarkDerived(Aborted("step ", step_id, " is over on this worker"));
  }
  std::shared_ptr<WorkerStep>& step = steps_[step_id];
  if (step == nullptr) step = std::make_shared<WorkerStep>(step_id, log_);
  return step;
}

std::shared_ptr<WorkerStep> StepTable::Begin(int64_t step_id) {
  MutexLock lock(&mu_);
  over_.erase(step_id);
  std::shared_ptr<WorkerStep>& step = steps_[step_id];
  if (step == nullptr) step = std::make_shared<WorkerStep>(step_id, log_);
  return step;
}

std::shared_ptr<WorkerStep> StepTable::Find(int64_t step_id) const {
  MutexLock lock(&mu_);
  const auto it = steps_.find(step_id);
  return it == steps_.end() ? nullptr : it->second;
}

std::shared_ptr<WorkerStep> StepTable::Remove(int64_t step_id) {
  MutexLock lock(&mu_);
  if (over_.insert(step_id).second) {
    if (over_ring_.size() < kRemembered) {
      over_ring_.push_back(step_id);
    } else {
      over_.erase(over_ring_[over_oldest_]);
      over_ring_[over_oldest_] = step_id;
      over_oldest_ = (over_oldest_ + 1) % kRemembered;
    }
  }
  const auto it = steps_.find(step_id);
  if (it == steps_.end()) return nullptr;
  std::shared_ptr<WorkerStep> step = std::move(it->second);
  steps_.erase(it);
  return step;
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
