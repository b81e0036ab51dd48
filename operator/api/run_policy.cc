#include "operator/api/quantity.h"
#include "operator/api/spec_reader.h"

namespace tensorfleet::api {
namespace {

// Counts and seconds: never below zero.
template <typename T>
std::optional<T> NotNegative(FieldReader& reader, const char* key, std::optional<T> value) {
  if (!value || *value >= 0) return value;
  reader.Add(
      Invalid(reader.PathOf(key), absl::StrCat(*value), "must be greater than or equal to 0"));
  return std::nullopt;
}

SchedulingPolicy ReadScheduling(const Json& json, const std::string& path,
                                std::vector<FieldError>& errors) {
  SchedulingPolicy policy;
  FieldReader reader(json, path, errors);
  policy.min_available = NotNegative(reader, "minAvailable", reader.Int32("minAvailable"));
  policy.queue = reader.String("queue").value_or("");
  policy.priority_class = reader.String("priorityClass").value_or("");
  policy.schedule_timeout_seconds =
      NotNegative(reader, "scheduleTimeoutSeconds", reader.Int32("scheduleTimeoutSeconds"));
  if (const Json* resources = reader.Object("minResources")) {
    for (const auto& [name, quantity] : resources->items()) {
      const std::string text = quantity.is_string() ? quantity.get<std::string>() : Dump(quantity);
      if (ParseQuantity(text)) {
        policy.min_resources[name] = text;
      } else {
        reader.Add(Invalid(absl::StrCat(reader.PathOf("minResources"), "[", name, "]"),
                           Dump(Json(text)), "must be a quantity, such as 2, 500m or 4Gi"));
      }
    }
  }
  return policy;
}

}  // namespace

RunPolicy ReadRunPolicy(const Json& json, const std::string& path,
                        std::vector<FieldError>& errors) {
  RunPolicy policy;
  FieldReader reader(json, path, errors);
  if (Member(json, "cleanPodPolicy") != nullptr) {
    const auto word =
        reader.Word("cleanPodPolicy", kCleanPodPolicyWords, /*tolerable_once_started=*/true);
    policy.clean_pod_policy = static_cast<CleanPodPolicy>(word.value_or(0));
  }
  policy.ttl_seconds_after_finished =
      NotNegative(reader, "ttlSecondsAfterFinished", reader.Int32("ttlSecondsAfterFinished"));
  policy.active_deadline_seconds =
      NotNegative(reader, "activeDeadlineSeconds", reader.Int64("activeDeadlineSeconds"));
  policy.backoff_limit = NotNegative(reader, "backoffLimit", reader.Int32("backoffLimit"));
  policy.suspend = reader.Bool("suspend").value_or(false);
  policy.managed_by = reader.String("managedBy");
  if (const Json* scheduling = reader.Object("schedulingPolicy")) {
    policy.scheduling = ReadScheduling(*scheduling, reader.PathOf("schedulingPolicy"), errors);
  }
  return policy;
}

}  // namespace tensorfleet::api
