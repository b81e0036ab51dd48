#include "runtime/session/peer_watch.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet {

void PeerWatch::Start() {
  options_.timers->RunAfter(options_.period, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Tick();
  });
}

void PeerWatch::Tick() {
  if (is_stopped_.load()) return;
  CallOptions call;
  call.timeout = options_.patience;
  for (const SessionTask& task : options_.tasks) {
    if (task.is_local || !options_.is_needed(task.name)) continue;
    // The closure keeps this watch, and so the task.
    task.worker->GetStatus(call, [self = shared_from_this(), name = &task.name](
                                     const StatusOr<std::vector<DeviceAttributes>>& answer) {
      if (answer.ok() || self->is_stopped_.load()) return;
      self->options_.lost(
          *name, Unavailable("no sign of life from ", *name, ": ", answer.status().message()));
    });
  }
  Start();
}

}  // namespace tensorfleet
