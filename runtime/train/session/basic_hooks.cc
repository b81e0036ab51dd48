#include "runtime/train/session/basic_hooks.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"

namespace tensorfleet::train {

bool Cadence::IsDue(int64_t step) const {
  if (every_steps_ <= 0 && every_seconds_ <= 0) return false;
  if (!has_fired_) return true;
  if (every_steps_ > 0) return step >= last_step_ + every_steps_ || step < last_step_;
  return clock_->NowSteady() - last_time_ >= std::chrono::duration<double>(every_seconds_);
}

void Cadence::Fired(int64_t step) {
  has_fired_ = true;
  last_step_ = step;
  last_time_ = clock_->NowSteady();
}

StatusOr<bool> StopAtStep::StepDone(const StepResult& result) {
  // The step may have read the counter before its own update: look again when it is close.
  if (result.global_step + 1 < last_step_) return false;
  if (result.global_step >= last_step_) return true;
  TFLEET_ASSIGN_OR_RETURN(const int64_t now, ReadGlobalStep(global_step_, *result.session));
  return now >= last_step_;
}

std::vector<std::string> Progress::Fetches(int64_t global_step) {
  asked_ = cadence_.IsDue(global_step + 1);
  if (!asked_ || loss_.empty()) return {};
  return {loss_};
}

StatusOr<bool> Progress::StepDone(const StepResult& result) {
  if (!asked_) return false;
  const auto now = clock_->NowSteady();
  const int64_t steps = result.global_step - cadence_.last_step();
  const double seconds = std::chrono::duration<double>(now - last_time_).count();
  const bool has_rate = cadence_.has_fired() && steps > 0 && seconds > 0;
  std::string loss = "not known";
  if (!result.values.empty()) {
    TFLEET_ASSIGN_OR_RETURN(const double value, ToDouble(result.values[0]));
    loss = absl::StrFormat("%.6g", value);
  }
  if (has_rate) {
    const double rate = static_cast<double>(steps) / seconds;
    LogInfo("Training", {{"step", result.global_step},
                         {"loss", loss},
                         {"steps_per_second", absl::StrFormat("%.1f", rate)}});
    if (events_ != nullptr) {
      TFLEET_RETURN_IF_ERROR(
          events_->AddScalar("global_step/sec", static_cast<float>(rate), result.global_step));
    }
  } else {
    LogInfo("Training", {{"step", result.global_step}, {"loss", loss}});
  }
  cadence_.Fired(result.global_step);
  last_time_ = now;
  return false;
}

StatusOr<bool> NanGuard::StepDone(const StepResult& result) {
  TFLEET_ASSIGN_OR_RETURN(const double loss, ToDouble(result.values[0]));
  if (!std::isnan(loss)) return false;
  if (is_fatal_) {
    return InvalidArgument("the loss ", loss_, " is NaN after step ", result.global_step,
                           ": the model diverged; a smaller learning rate or clipped gradients may "
                           "help (--nan=warn goes on)");
  }
  LogWarning("The loss is NaN", {{"loss", loss_}, {"step", result.global_step}});
  return false;
}

Status WriteSummaries::SessionStarted(Session&, int64_t global_step) {
  return events_->AddSession(tensorflow::SessionLog::START, global_step);
}

std::vector<std::string> WriteSummaries::Fetches(int64_t global_step) {
  asked_ = !summaries_.empty() && cadence_.IsDue(global_step + 1);
  return asked_ ? summaries_ : std::vector<std::string>();
}

StatusOr<bool> WriteSummaries::StepDone(const StepResult& result) {
  if (!asked_) return false;
  for (const Tensor& value : result.values) {
    if (value.dtype() != DType::kString || value.num_elements() != 1) {
      return InvalidArgument("a summary must be one string, not ", value.ToString());
    }
    TFLEET_RETURN_IF_ERROR(events_->AddSummary(value.scalar<std::string>(), result.global_step));
  }
  cadence_.Fired(result.global_step);
  TFLEET_RETURN_IF_ERROR(events_->Flush());
  return false;
}

Status WriteSummaries::End(Session&, int64_t global_step) {
  TFLEET_RETURN_IF_ERROR(events_->AddSession(tensorflow::SessionLog::STOP, global_step));
  return events_->Flush();
}

}  // namespace tensorfleet::train
