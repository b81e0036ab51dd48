// What a session does about peers that say nothing any more.

#include <algorithm>

#include "runtime/session/master_session.h"
#include "runtime/session/partial_step.h"
#include "runtime/session/step_run.h"

namespace tensorfleet {
namespace {

bool RunsOn(const CompiledStep& step, const std::string& task) {
  return step.is_ready() &&
         std::any_of(step.parts().begin(), step.parts().end(),
                     [&](const CompiledStep::Part& part) { return part.task->name == task; });
}

bool IsAmong(const std::vector<std::string>& tasks, const std::string& task) {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

}  // namespace

void MasterSession::WatchPeers() {
  const std::vector<SessionTask>& tasks = options_.tasks;
  const bool alone = std::all_of(tasks.begin(), tasks.end(),
                                 [](const SessionTask& task) { return task.is_local; });
  if (alone || options_.timers == nullptr) return;
  PeerWatch::Options watch;
  watch.timers = options_.timers;
  watch.tasks = tasks;
  watch.is_needed = [weak = weak_from_this()](const std::string& task) {
    const auto self = weak.lock();
    return self != nullptr && self->NeedsTask(task);
  };
  watch.lost = [weak = weak_from_this()](const std::string& task, const Status& why) {
    if (const auto self = weak.lock()) self->TaskLost(task, why);
  };
  watch_ = std::make_shared<PeerWatch>(std::move(watch));
  watch_->Start();
}

int64_t MasterSession::AddPreparation(Preparation preparation) {
  MutexLock lock(&mu_);
  preparations_.emplace(next_preparation_, std::move(preparation));
  return next_preparation_++;
}

void MasterSession::RemovePreparation(int64_t id) {
  Preparation removed;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto it = preparations_.find(id);
  if (it == preparations_.end()) return;
  removed = std::move(it->second);
  preparations_.erase(it);
}

bool MasterSession::NeedsTask(const std::string& task) {
  std::vector<std::shared_ptr<StepRun>> steps;  // let go of outside the lock
  MutexLock lock(&mu_);
  for (const auto& [id, preparation] : preparations_) {
    if (IsAmong(preparation.tasks, task)) return true;
  }
  for (const auto& [handle, partial] : partial_) {
    if (RunsOn(*partial->step, task)) return true;
  }
  for (const auto& [key, weak] : distributed_) {
    std::shared_ptr<StepRun> step = weak.lock();
    if (step == nullptr) continue;
    steps.push_back(std::move(step));
    if (RunsOn(steps.back()->step(), task)) return true;
  }
  return false;
}

void MasterSession::TaskLost(const std::string& task, const Status& why) {
  std::vector<std::shared_ptr<StepRun>> steps;
  std::vector<std::shared_ptr<PartialStep>> partial_steps;
  std::vector<std::function<void(const Status&)>> preparations;
  {
    MutexLock lock(&mu_);
    for (const auto& [key, weak] : distributed_) {
      if (std::shared_ptr<StepRun> step = weak.lock()) steps.push_back(std::move(step));
    }
    for (const auto& [handle, partial] : partial_) partial_steps.push_back(partial);
    for (const auto& [id, preparation] : preparations_) {
      if (IsAmong(preparation.tasks, task)) preparations.push_back(preparation.lost);
    }
  }
  for (const auto& lost : preparations) lost(why);
  for (const auto& step : steps) {
    if (RunsOn(step->step(), task)) step->Abort(why);
  }
  for (const auto& partial : partial_steps) {
    if (RunsOn(*partial->step, task)) partial->cancellation.StartCancel(why);
  }
}

}  // namespace tensorfleet
