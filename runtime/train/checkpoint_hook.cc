#include "runtime/train/checkpoint_hook.h"

#include "runtime/base/log.h"

namespace tensorfleet::train {
namespace {

// What the next attempt may not meet again.
bool IsOfTheDisk(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status) ||
         absl::IsNotFound(status) || absl::IsUnknown(status);
}

}  // namespace

Status SaveCheckpoints::Take(const BackgroundSave::Result& result) {
  TFLEET_RETURN_IF_ERROR(result.prefix.status());
  saved_step_ = result.step;
  if (events_ == nullptr) return OkStatus();
  TFLEET_RETURN_IF_ERROR(
      events_->AddSession(tensorflow::SessionLog::CHECKPOINT, result.step, *result.prefix));
  return events_->Flush();
}

Status SaveCheckpoints::Save(Session& session, int64_t step) {
  const Status begun = save_.Begin(session, step);
  const Status saved = Take(save_.Wait());
  return saved.ok() ? begun : saved;
}

Status SaveCheckpoints::SessionStarted(Session& session, int64_t global_step) {
  // After a recovery, the next step comes first.
  if (cadence_.has_fired()) return OkStatus();
  cadence_.Fired(global_step);
  const auto latest = saver_->latest();
  if (latest && StepOfCheckpoint(*latest) == global_step) {
    saved_step_ = global_step;
    return OkStatus();
  }
  return Save(session, global_step);
}

StatusOr<bool> SaveCheckpoints::StepDone(const StepResult& result) {
  if (const auto over = save_.Poll()) {
    const Status saved = Take(*over);
    if (!saved.ok() && !IsOfTheDisk(saved)) return saved;
    if (!saved.ok()) {
      LogError(
          "The checkpoint was not saved; training goes on, the next one is tried when it is due",
          {{"step", over->step}, {"why", saved.message()}});
    }
  }
  if (save_.is_under_way() || !cadence_.IsDue(result.global_step + 1)) return false;
  // The step may have read the counter before its own update: the name tells what is in the file.
  TFLEET_ASSIGN_OR_RETURN(const int64_t now, ReadGlobalStep(global_step_, *result.session));
  if (!cadence_.IsDue(now)) return false;
  cadence_.Fired(now);
  TFLEET_RETURN_IF_ERROR(save_.Begin(*result.session, now));
  return false;
}

void SaveCheckpoints::SessionEnds() {
  if (!save_.is_under_way()) return;
  const BackgroundSave::Result last = save_.Wait();
  const Status saved = Take(last);
  if (saved.ok()) return;
  LogInfo("A save ended with its session", {{"step", last.step}, {"why", saved.message()}});
}

Status SaveCheckpoints::End(Session& session, int64_t global_step) {
  if (save_.is_under_way()) {
    const BackgroundSave::Result last = save_.Wait();
    const Status saved = Take(last);
    // What the disk refused may fit now: the save below says.
    if (!saved.ok() && !IsOfTheDisk(saved)) return saved;
  }
  return global_step == saved_step_ ? OkStatus() : Save(session, global_step);
}

}  // namespace tensorfleet::train
