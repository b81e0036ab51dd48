#include "runtime/session/worker/transfer_log.h"

#include <algorithm>

namespace tensorfleet {

void TransferLog::Record(int64_t step_id, const std::string& device, absl::string_view label,
                         const StepStatsCollector::Times& times, int64_t bytes) {
  MutexLock lock(&mu_);
  const auto [it, is_new] = steps_.try_emplace(step_id, nullptr);
  if (is_new) {
    it->second = std::make_unique<StepStatsCollector>();
    order_.push_back(step_id);
  }
  it->second->AddRpc(device, "RecvTensor", label, times, bytes);
  if (order_.size() > kMaxSteps) {
    steps_.erase(order_.front());
    order_.pop_front();
  }
}

void TransferLog::Fetch(int64_t step_id, tensorflow::LoggingResponse* response) {
  MutexLock lock(&mu_);
  const auto it = steps_.find(step_id);
  if (it == steps_.end()) return;
  tensorflow::LabeledStepStats* labeled = response->add_step();
  labeled->set_step_id(step_id);
  it->second->Finish(labeled->mutable_step_stats());
  steps_.erase(it);
  order_.erase(std::find(order_.begin(), order_.end(), step_id));
}

void TransferLog::Clear() {
  MutexLock lock(&mu_);
  steps_.clear();
  order_.clear();
}

}  // namespace tensorfleet
