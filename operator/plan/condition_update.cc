#include "operator/plan/condition_update.h"

#include <algorithm>

#include "operator/api/conditions.h"

namespace tensorfleet::plan {
namespace {

void Drop(api::TFJobStatus& status, absl::string_view type) {
  auto& all = status.conditions;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const api::Condition& c) { return c.type == type; }),
            all.end());
}

}  // namespace

bool SetCondition(api::TFJobStatus& status, absl::string_view type, bool is_true,
                  absl::string_view reason, std::string message, absl::Time now) {
  if (status.IsTrue(api::kFailed) || status.IsTrue(api::kSucceeded)) return false;
  const api::Condition* old = status.Find(type);
  if (old != nullptr && old->is_true == is_true && old->reason == reason) return false;

  api::Condition condition;
  condition.type = std::string(type);
  condition.is_true = is_true;
  condition.reason = std::string(reason);
  condition.message = std::move(message);
  condition.last_update_time = now;
  const bool same_status = old != nullptr && old->is_true == is_true;
  condition.last_transition_time = same_status ? old->last_transition_time : now;

  const bool ends = is_true && (type == api::kSucceeded || type == api::kFailed);
  Drop(status, type);
  if (type == api::kRunning) Drop(status, api::kRestarting);
  if (type == api::kRestarting) Drop(status, api::kRunning);
  if (ends) {
    Drop(status, api::kRestarting);
    for (api::Condition& other : status.conditions) {
      if (other.type == api::kRunning) other.is_true = false;
    }
  }
  status.conditions.push_back(std::move(condition));
  return true;
}

}  // namespace tensorfleet::plan
