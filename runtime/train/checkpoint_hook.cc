#include "runtime/train/checkpoint_hook.h"

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"

namespace tensorfleet::train {
namespace {

// What the next attempt may not meet again.
bool IsOfTheDisk(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status) ||
         absl::IsNotFound(status) || absl::IsUnknown(status);
}

}  // namespace

Status SaveCheckpoints::Save(Session& session, int64_t step) {
  const auto begin = std::chrono::steady_clock::now();
  TFLEET_ASSIGN_OR_RETURN(const std::string prefix, saver_->Save(session, step));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  LogInfo("Saved a checkpoint",
          {{"step", step}, {"checkpoint", prefix}, {"seconds", absl::StrFormat("%.3f", seconds)}});
  saved_step_ = step;
  if (events_ == nullptr) return OkStatus();
  TFLEET_RETURN_IF_ERROR(events_->AddSession(tensorflow::SessionLog::CHECKPOINT, step, prefix));
  return events_->Flush();
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
  if (!cadence_.IsDue(result.global_step + 1)) return false;
  // The step may have read the counter before its own update: the name tells what is in the file.
  TFLEET_ASSIGN_OR_RETURN(const int64_t now, ReadGlobalStep(global_step_, *result.session));
  if (!cadence_.IsDue(now)) return false;
  cadence_.Fired(now);
  const Status saved = Save(*result.session, now);
  if (saved.ok()) return false;
  if (!IsOfTheDisk(saved)) return saved;
  LogError("The checkpoint was not saved; training goes on, the next one is tried when it is due",
           {{"step", now}, {"why", saved.message()}});
  return false;
}

Status SaveCheckpoints::End(Session& session, int64_t global_step) {
  return global_step == saved_step_ ? OkStatus() : Save(session, global_step);
}

}  // namespace tensorfleet::train
