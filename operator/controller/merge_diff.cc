#include "operator/controller/merge_diff.h"

#include <nlohmann/json.hpp>

namespace tensorfleet::controller {

nlohmann::json MergeDiff(const nlohmann::json& from, const nlohmann::json& to) {
  if (!from.is_object() || !to.is_object()) return to;
  nlohmann::json patch = nlohmann::json::object();
  for (const auto& [key, value] : to.items()) {
    const auto old = from.find(key);
    if (old == from.end()) {
      patch[key] = value;
    } else if (*old != value) {
      patch[key] = MergeDiff(*old, value);
    }
  }
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

}  // namespace tensorfleet::controller
