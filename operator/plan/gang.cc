#include "operator/plan/gang.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/quantity.h"
#include "operator/plan/bodies.h"

namespace tensorfleet::plan {
namespace {

using api::Json;
using api::Quantity;
using api::TFJob;

using Resources = std::map<std::string, Quantity>;

// Requests of the template's containers; limits stand in where a container has no requests at all.
Resources ResourcesOf(const api::ReplicaSpec& spec) {
  Resources sum;
  const Json json = Json::parse(spec.template_json, nullptr, /*allow_exceptions=*/false);
  const Json* pod_spec = api::ObjectMember(json, "spec");
  if (pod_spec == nullptr) return sum;
  for (const Json& container : api::ArrayMember(*pod_spec, "containers")) {
    const Json* resources = api::ObjectMember(container, "resources");
    if (resources == nullptr) continue;
    const Json* amounts = api::ObjectMember(*resources, "requests");
    if (amounts == nullptr) amounts = api::ObjectMember(*resources, "limits");
    if (amounts == nullptr) continue;
    for (const auto& [name, amount] : amounts->items()) {
      const auto quantity =
          api::ParseQuantity(amount.is_string() ? amount.get<std::string>() : api::Dump(amount));
      if (quantity) sum[name] = sum[name] + *quantity;
    }
  }
  return sum;
}

// Of the first `min_member` pods, in the order of types and indices.
std::map<std::string, std::string> SumOfResources(const TFJob& job, int64_t min_member) {
  Resources total;
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = job.spec.Find(type);
    if (spec == nullptr) continue;
    const int64_t pods = std::clamp<int64_t>(min_member, 0, std::max(spec->replicas, 0));
    min_member -= pods;
    for (const auto& [name, quantity] : ResourcesOf(*spec)) {
      total[name].milli += quantity.milli * pods;
      total[name].is_binary = total[name].is_binary || quantity.is_binary;
    }
  }
  std::map<std::string, std::string> texts;
  for (const auto& [name, quantity] : total) {
    if (quantity.milli != 0) texts[name] = ToString(quantity);
  }
  return texts;
}

bool SameAmounts(const std::map<std::string, std::string>& a,
                 const std::map<std::string, std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const auto left = api::ParseQuantity(x.second);
    const auto right = api::ParseQuantity(y.second);
    return x.first == y.first &&
           (left && right ? left->milli == right->milli : x.second == y.second);
  });
}

Json SpecJson(const api::PodGroup& group, const Options& options) {
  Json spec = {{"minMember", group.min_member}};
  if (IsVolcano(options)) {
    spec["queue"] = group.queue;
    if (!group.priority_class.empty()) spec["priorityClassName"] = group.priority_class;
  } else if (group.schedule_timeout_seconds) {
    spec["scheduleTimeoutSeconds"] = *group.schedule_timeout_seconds;
  }
  if (!group.min_resources.empty()) spec["minResources"] = group.min_resources;
  return spec;
}

}  // namespace

bool IsVolcano(const Options& options) {
  return absl::EqualsIgnoreCase(options.gang_scheduler_name, api::kVolcano);
}

std::string GangSchedulerName(const Options& options) {
  return IsVolcano(options) ? api::kVolcano : options.gang_scheduler_name;
}

api::PodGroup WantedPodGroup(const TFJob& job, const api::PodGroup* existing,
                             const Options& options) {
  const api::SchedulingPolicy& policy = job.spec.run_policy.scheduling;
  api::PodGroup group;
  group.meta.name = job.name;
  const int64_t total = job.spec.total_replicas();
  group.min_member = policy.min_available.value_or(
      static_cast<int32_t>(std::min<int64_t>(total, std::numeric_limits<int32_t>::max())));
  group.min_resources =
      policy.min_resources.empty() ? SumOfResources(job, group.min_member) : policy.min_resources;
  if (IsVolcano(options)) {
    group.queue = policy.queue.empty() ? "default" : policy.queue;
    if (existing != nullptr && !existing->queue.empty()) group.queue = existing->queue;
    group.priority_class = policy.priority_class;
  } else {
    group.schedule_timeout_seconds = policy.schedule_timeout_seconds;
  }
  return group;
}

bool SpecsDiffer(const api::PodGroup& a, const api::PodGroup& b) {
  return a.min_member != b.min_member || a.queue != b.queue ||
         a.priority_class != b.priority_class ||
         a.schedule_timeout_seconds != b.schedule_timeout_seconds ||
         !SameAmounts(a.min_resources, b.min_resources);
}

std::string PodGroupBody(const TFJob& job, const api::PodGroup& group, const Options& options) {
  Json body = {{"apiVersion",
                IsVolcano(options) ? api::kVolcanoApiVersion : api::kSchedulerPluginsApiVersion},
               {"kind", "PodGroup"},
               {"metadata",
                {{"name", group.meta.name},
                 {"namespace", job.namespace_},
                 {"ownerReferences", OwnerReferences(job)}}},
               {"spec", SpecJson(group, options)}};
  if (!job.annotations.empty()) {
    Json& annotations = body["metadata"]["annotations"] = Json::object();
    for (const auto& [key, value] : job.annotations) annotations[key] = value;
  }
  return api::Dump(body);
}

std::string PodGroupPatch(const api::PodGroup& from, const api::PodGroup& to,
                          const Options& options) {
  Json spec = SpecJson(to, options);
  const Json old = SpecJson(from, options);
  for (const auto& [key, value] : old.items()) {
    if (!spec.contains(key)) spec[key] = nullptr;
  }
  if (spec.contains("minResources") && spec["minResources"].is_object()) {
    for (const auto& [name, quantity] : from.min_resources) {
      if (to.min_resources.count(name) == 0) spec["minResources"][name] = nullptr;
    }
  }
  return api::Dump(Json{{"metadata", {{"uid", from.meta.uid}}}, {"spec", std::move(spec)}});
}

}  // namespace tensorfleet::plan
