#include "operator/api/tfjob_status.h"

namespace tensorfleet::api {

const Condition* TFJobStatus::Find(absl::string_view type) const {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

bool TFJobStatus::IsTrue(absl::string_view type) const {
  const Condition* condition = Find(type);
  return condition != nullptr && condition->is_true;
}

}  // namespace tensorfleet::api
