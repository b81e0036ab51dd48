#include "runtime/train/checkpoint/background_save.h"

#include <chrono>
#include <utility>

#include "runtime/base/thread_priority.h"

namespace tensorfleet::train {
namespace {

using std::chrono::steady_clock;

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

BackgroundSave::~BackgroundSave() {
  if (thread_.joinable()) thread_.join();
  Abandon();
}

void BackgroundSave::Abandon() {
  if (std::exchange(has_begun_, false)) DeleteParts(graph_.stem);
}

void BackgroundSave::Begin(StepRequest* request) {
  has_begun_ = true;
  request->targets.insert(request->targets.end(), graph_.begin.begin(), graph_.begin.end());
}

void BackgroundSave::End(Session& session, int64_t step) {
  has_begun_ = false;
  result_.reset();
  is_over_.emplace();
  thread_ = std::thread([this, &session, step, begin = steady_clock::now()] {
    result_ = Result{step, Save(session, step)};
    result_->seconds = SecondsSince(begin);
    is_over_->Notify();
  });
}

StatusOr<std::vector<CheckpointPart>> BackgroundSave::AwaitParts(Session& session) const {
  StepRequest end;
  end.fetches = graph_.parts;
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> told, session.Run(end));
  std::vector<CheckpointPart> parts(told.size());
  for (size_t i = 0; i < told.size(); ++i) {
    if (!parts[i].ParseFromString(told[i].scalar<std::string>())) {
      return Internal("what is told of the part ", graph_.parts[i], " cannot be parsed");
    }
  }
  return parts;
}

StatusOr<std::string> BackgroundSave::Save(Session& session, int64_t step) {
  const StatusOr<std::vector<CheckpointPart>> parts = AwaitParts(session);
  // What is left is files, and takes no lock that a training step wants.
  RunInIdleTime();
  StatusOr<std::string> saved =
      parts.ok() ? saver_.Merge(graph_.stem, *parts, step) : StatusOr<std::string>(parts.status());
  if (!saved.ok()) DeleteParts(graph_.stem);
  return saved;
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
