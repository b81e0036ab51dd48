// The chief may say on its own pod how far it is: status shows it, and `kubectl get tfjob` its
// step.
#include <nlohmann/json.hpp>

#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

constexpr size_t kMaxAnnotation = 4096;
constexpr size_t kMaxCheckpoint = 1024;

// Nothing when `text` is not a JSON object with at least one field we know.
std::optional<api::Progress> ParseProgress(const std::string& text) {
  if (text.empty() || text.size() > kMaxAnnotation) return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  // The annotation has the shape of the status field; only the time is the operator's own.
  api::TFJobStatus read = api::TFJobStatusFromJson({{"progress", json}});
  if (!read.progress) return std::nullopt;
  api::Progress& progress = *read.progress;
  progress.time.reset();
  if (progress.checkpoint.size() > kMaxCheckpoint) progress.checkpoint.clear();
  return progress == api::Progress() ? std::nullopt : std::move(read.progress);
}

}  // namespace

Next TakeProgress(Pass& pass) {
  const auto type = pass.DecidingType();
  const api::Pod* chief = type ? pass.PodOf({*type, 0}) : nullptr;
  if (chief == nullptr || pass.IsStale(*chief)) return Next::kContinue;
  auto progress = ParseProgress(chief->progress);
  if (!progress) return Next::kContinue;
  const auto& old = pass.status.progress;
  progress->time = old ? old->time : std::nullopt;
  if (progress == old) return Next::kContinue;
  progress->time = pass.seconds();
  pass.status.progress = std::move(progress);
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
