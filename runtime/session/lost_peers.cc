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

bool MasterSession::NeedsTask(const std::string& task) {
  std::vector<std::shared_ptr<StepRun>> steps;  // let go of outside the lock
  MutexLock lock(&mu_);
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
  {
    MutexLock lock(&mu_);
    for (const auto& [key, weak] : distributed_) {
      if (std::shared_ptr<StepRun> step = weak.lock()) steps.push_back(std::move(step));
    }
    for (const auto& [handle, partial] : partial_) partial_steps.push_back(partial);
  }
  for (const auto& step : steps) {
    if (RunsOn(step->step(), task)) step->Abort(why);
  }
  for (const auto& partial : partial_steps) {
    if (RunsOn(*partial->step, task)) partial->cancellation.StartCancel(why);
  }
}

}  // namespace tensorfleet
