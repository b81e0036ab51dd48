#include "operator/api/objects/pod_group.h"

#include <limits>

#include "operator/api/fields/json_fields.h"

namespace tensorfleet::api {

StatusOr<PodGroup> PodGroupFromJson(const nlohmann::json& object) {
  constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  PodGroup group;
  TFLEET_ASSIGN_OR_RETURN(group.meta, ChildMetaFromJson(object));
  if (const Json* status = ObjectMember(object, "status")) {
    group.phase = StringMember(*status, "phase");
  }
  const Json* spec = ObjectMember(object, "spec");
  if (spec == nullptr) return group;
  group.min_member = static_cast<int32_t>(IntMember(*spec, "minMember", 0, kMaxInt32).value_or(0));
  group.queue = StringMember(*spec, "queue");
  group.priority_class = StringMember(*spec, "priorityClassName");
  if (auto seconds = IntMember(*spec, "scheduleTimeoutSeconds", 0, kMaxInt32)) {
    group.schedule_timeout_seconds = static_cast<int32_t>(*seconds);
  }
  if (const Json* resources = ObjectMember(*spec, "minResources")) {
    for (const auto& [name, quantity] : resources->items()) {
      group.min_resources[name] =
          quantity.is_string() ? quantity.get<std::string>() : Dump(quantity);
    }
  }
  return group;
}

}  // namespace tensorfleet::api
