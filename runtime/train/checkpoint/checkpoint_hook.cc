#include "runtime/train/checkpoint/checkpoint_hook.h"

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

Status SaveCheckpoints::Take(const BackgroundSave::Result& result) {
  TFLEET_RETURN_IF_ERROR(result.prefix.status());
  LogInfo("Saved a checkpoint", {{"step", result.step},
                                 {"checkpoint", *result.prefix},
                                 {"seconds", absl::StrFormat("%.3f", result.seconds)}});
  saved_step_ = result.step;
  if (events_ == nullptr) return OkStatus();
  TFLEET_RETURN_IF_ERROR(
      events_->AddSession(tensorflow::SessionLog::CHECKPOINT, result.step, *result.prefix));
  return events_->Flush();
}

Status SaveCheckpoints::TakeOrGoOn(const BackgroundSave::Result& result) {
  const Status saved = Take(result);
  if (saved.ok() || !IsOfTheDisk(saved)) return saved;
  LogError("The checkpoint was not saved; training goes on, the next one is tried when it is due",
           {{"step", result.step}, {"why", saved.message()}});
  return OkStatus();
}

BackgroundSave::Result SaveCheckpoints::SaveNow(Session& session, int64_t step) {
  const auto begin = clock_->NowSteady();
  BackgroundSave::Result result{step, saver_->Save(session, step)};
  result.seconds = std::chrono::duration<double>(clock_->NowSteady() - begin).count();
  return result;
}

Status SaveCheckpoints::Save(Session& session, int64_t step) {
  return Take(SaveNow(session, step));
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

void SaveCheckpoints::StepBegins(int64_t global_step, StepRequest* request) {
  if (!beside_) return;
  beside_->Abandon();  // the last step failed
  if (!is_under_way() && cadence_.IsDue(global_step + 1)) beside_->Begin(request);
}

StatusOr<bool> SaveCheckpoints::StepDone(const StepResult& result) {
  if (beside_ && beside_->has_begun()) {
    cadence_.Fired(result.global_step);
    beside_->End(*result.session, result.global_step);
    return false;
  }
  if (beside_) {
    if (const auto over = beside_->Poll()) TFLEET_RETURN_IF_ERROR(TakeOrGoOn(*over));
    return false;
  }
  if (!cadence_.IsDue(result.global_step + 1)) return false;
  // The step may have read the counter before its own update: the name tells what is in the file.
  TFLEET_ASSIGN_OR_RETURN(const int64_t now, ReadGlobalStep(global_step_, *result.session));
  if (!cadence_.IsDue(now)) return false;
  cadence_.Fired(now);
  TFLEET_RETURN_IF_ERROR(TakeOrGoOn(SaveNow(*result.session, now)));
  return false;
}

void SaveCheckpoints::SessionEnds() {
  if (!is_under_way()) return;
  const BackgroundSave::Result last = beside_->Wait();
  const Status saved = Take(last);
  if (saved.ok()) return;
  LogInfo("A save ended with its session", {{"step", last.step}, {"why", saved.message()}});
}

Status SaveCheckpoints::End(Session& session, int64_t global_step) {
  if (is_under_way()) {
    const Status saved = Take(beside_->Wait());
    // What the disk refused may fit now: the save below says.
    if (!saved.ok() && !IsOfTheDisk(saved)) return saved;
  }
  if (global_step != saved_step_) TFLEET_RETURN_IF_ERROR(Save(session, global_step));
  saver_->DeleteLeftovers();
  return OkStatus();
}

}  // namespace tensorfleet::train
