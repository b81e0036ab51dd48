#include "runtime/train/background_save.h"

#include <chrono>

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"

namespace tensorfleet::train {
namespace {

using std::chrono::steady_clock;

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

BackgroundSave::~BackgroundSave() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundSave::Save(Session& session, int64_t step, int64_t number) {
  const auto begin = steady_clock::now();
  StepRequest also;
  if (point_) {
    also.feeds.emplace_back(point_->number, Tensor::Scalar<int64_t>(number));
    also.targets.push_back(point_->passed);
  }
  result_ = Result{step, saver_.Save(session, step, std::move(also))};
  if (result_->prefix.ok()) {
    LogInfo("Saved a checkpoint", {{"step", step},
                                   {"checkpoint", *result_->prefix},
                                   {"seconds", absl::StrFormat("%.3f", SecondsSince(begin))}});
    return;
  }
  if (!point_) return;
  // It may have failed before the values were fixed: nobody is to wait for that.
  StepRequest release;
  release.feeds.emplace_back(point_->number, Tensor::Scalar<int64_t>(number));
  release.targets.push_back(point_->release);
  session.Run(release).IgnoreError();
}

Status BackgroundSave::Begin(Session& session, int64_t step) {
  const int64_t number = ++number_;
  result_.reset();
  is_over_.emplace();
  thread_ = std::thread([this, &session, step, number] {
    Save(session, step, number);
    is_over_->Notify();
  });
  if (!point_) {
    is_over_->Wait();
    return OkStatus();
  }
  StepRequest await;
  await.fetches = {point_->await};
  for (;;) {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> passed, session.Run(await));
    if (passed[0].scalar<int64_t>() == number) return OkStatus();
  }
}

std::optional<BackgroundSave::Result> BackgroundSave::Poll() {
  if (!is_under_way() || !is_over_->HasBeenNotified()) return std::nullopt;
  return Wait();
}

BackgroundSave::Result BackgroundSave::Wait() {
  thread_.join();
  return *std::move(result_);
}

}  // namespace tensorfleet::train
