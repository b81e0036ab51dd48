#include "runtime/kernels/portable/staging/waiting_ops.h"

#include <utility>

namespace tensorfleet::portable {

void WaitingOps::Do(KernelContext& ctx, Attempt attempt, Done done) {
  const std::shared_ptr<Core> core = core_;  // `done` may drop the state
  std::optional<Status> outcome;
  Finished finished;
  {
    MutexLock lock(&core->mu);
    outcome = attempt();
    if (outcome) {
      TryAll(*core, &finished);
    } else {
      Waiting& waiting = core->line.emplace_back();
      waiting.id = core->next_id++;
      waiting.cancellation = ctx.step().cancellation;
      waiting.pool = &ctx.step().device->pool();
      waiting.attempt = std::move(attempt);
      waiting.done = std::move(done);
      if (waiting.cancellation != nullptr) {
        waiting.token =
            waiting.cancellation->Register([core, id = waiting.id] { Cancel(*core, id); });
        if (waiting.token < 0) {  // cancelled already
          outcome = Cancelled("the operation was cancelled");
          done = std::move(waiting.done);
          core->line.pop_back();
        }
      }
    }
  }
  CallOnPools(std::move(finished));
  if (outcome) done(*std::move(outcome));
}

void WaitingOps::TryAll(Core& core, Finished* finished) {
  // What one operation changes may let an earlier one through.
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = core.line.begin(); it != core.line.end();) {
      std::optional<Status> outcome = it->attempt();
      if (!outcome) {
        ++it;
        continue;
      }
      progress = true;
      it->status = *std::move(outcome);
      finished->push_back(std::move(*it));
      it = core.line.erase(it);
    }
  }
}

void WaitingOps::Cancel(Core& core, uint64_t id) {
  Finished finished;
  {
    MutexLock lock(&core.mu);
    for (auto it = core.line.begin(); it != core.line.end(); ++it) {
      if (it->id != id) continue;
      it->status = Cancelled("the operation was cancelled");
      it->token = -1;  // its callback is running: this
      finished.push_back(std::move(*it));
      core.line.erase(it);
      break;
    }
  }
  CallOnPools(std::move(finished));
}

void WaitingOps::CallOnPools(Finished finished) {
  for (Waiting& waiting : finished) {
    if (waiting.token >= 0) waiting.cancellation->TryDeregister(waiting.token);
    waiting.attempt = nullptr;
    waiting.pool->Schedule(
        [done = std::move(waiting.done), status = std::move(waiting.status)] { done(status); });
  }
}

}  // namespace tensorfleet::portable
