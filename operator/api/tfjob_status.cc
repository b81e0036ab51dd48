#include "operator/api/tfjob_status.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "operator/api/index_set.h"
#include "operator/api/json_fields.h"

namespace tensorfleet::api {
namespace {

int32_t CountMember(const Json& object, const char* key) {
  constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(IntMember(object, key, 0, kMaxInt32).value_or(0));
}

std::map<int32_t, int32_t> CountsByIndex(const Json& object, const char* key) {
  std::map<int32_t, int32_t> counts;
  const Json* member = ObjectMember(object, key);
  if (member == nullptr) return counts;
  for (const auto& [name, ignored] : member->items()) {
    int32_t index = 0;
    if (!absl::SimpleAtoi(name, &index) || index < 0 || index >= kMaxReplicas) continue;
    if (const int32_t count = CountMember(*member, name.c_str())) counts[index] = count;
  }
  return counts;
}

ReplicaStatus ReadReplicaStatus(const Json& json) {
  ReplicaStatus status;
  status.active = CountMember(json, "active");
  status.succeeded = CountMember(json, "succeeded");
  status.failed = CountMember(json, "failed");
  status.selector = StringMember(json, "selector");
  status.succeeded_indexes = ParseIndexSet(StringMember(json, "succeededIndexes"));
  status.restarts_by_index = CountsByIndex(json, "restartsByIndex");
  status.ignored_by_index = CountsByIndex(json, "ignoredFailuresByIndex");
  return status;
}

std::optional<double> NumberMember(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  return member->get<double>();
}

Progress ReadProgress(const Json& json) {
  Progress progress;
  progress.step = IntMember(json, "step", 0, std::numeric_limits<int64_t>::max());
  progress.checkpoint = StringMember(json, "checkpoint");
  progress.steps_per_second = NumberMember(json, "stepsPerSecond");
  progress.examples_per_second = NumberMember(json, "examplesPerSecond");
  progress.time = TimeMember(json, "time");
  return progress;
}

void PutTime(Json& json, const char* key, const std::optional<absl::Time>& time) {
  if (time) json[key] = ToTimestamp(*time);
}

void PutCount(Json& json, const char* key, int32_t count) {
  if (count != 0) json[key] = count;
}

void PutText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void PutCounts(Json& json, const char* key, const std::map<int32_t, int32_t>& counts) {
  if (counts.empty()) return;
  Json& object = json[key] = Json::object();
  for (const auto& [index, count] : counts) object[absl::StrCat(index)] = count;
}

Json ToJson(const Condition& condition) {
  Json json = {{"type", condition.type}, {"status", condition.is_true ? "True" : "False"}};
  PutText(json, "reason", condition.reason);
  PutText(json, "message", condition.message);
  PutTime(json, "lastUpdateTime", condition.last_update_time);
  PutTime(json, "lastTransitionTime", condition.last_transition_time);
  return json;
}

Json ToJson(const ReplicaStatus& status) {
  Json json = Json::object();
  PutCount(json, "active", status.active);
  PutCount(json, "succeeded", status.succeeded);
  PutCount(json, "failed", status.failed);
  PutText(json, "selector", status.selector);
  PutText(json, "succeededIndexes", IndexSetToString(status.succeeded_indexes));
  PutCounts(json, "restartsByIndex", status.restarts_by_index);
  PutCounts(json, "ignoredFailuresByIndex", status.ignored_by_index);
  return json;
}

Json ToJson(const Progress& progress) {
  Json json = Json::object();
  if (progress.step) json["step"] = *progress.step;
  PutText(json, "checkpoint", progress.checkpoint);
  if (progress.steps_per_second) json["stepsPerSecond"] = *progress.steps_per_second;
  if (progress.examples_per_second) json["examplesPerSecond"] = *progress.examples_per_second;
  PutTime(json, "time", progress.time);
  return json;
}

}  // namespace

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

TFJobStatus TFJobStatusFromJson(const nlohmann::json& json) {
  TFJobStatus status;
  for (const Json& item : ArrayMember(json, "conditions")) {
    Condition condition;
    condition.type = StringMember(item, "type");
    if (condition.type.empty()) continue;
    condition.is_true = StringMember(item, "status") == "True";
    condition.reason = StringMember(item, "reason");
    condition.message = StringMember(item, "message");
    condition.last_update_time = TimeMember(item, "lastUpdateTime");
    condition.last_transition_time = TimeMember(item, "lastTransitionTime");
    status.conditions.push_back(std::move(condition));
  }
  if (const Json* replicas = ObjectMember(json, "replicaStatuses")) {
    for (const auto& [key, value] : replicas->items()) {
      if (auto type = ParseReplicaType(key)) {
        status.replica_statuses[*type] = ReadReplicaStatus(value);
      }
    }
  }
  status.start_time = TimeMember(json, "startTime");
  status.completion_time = TimeMember(json, "completionTime");
  status.last_reconcile_time = TimeMember(json, "lastReconcileTime");
  status.ready = StringMember(json, "ready");
  status.restarts = CountMember(json, "restarts");
  status.job_restarts = CountMember(json, "jobRestarts");
  if (const Json* progress = ObjectMember(json, "progress"))
    status.progress = ReadProgress(*progress);
  return status;
}

nlohmann::json ToJson(const TFJobStatus& status) {
  Json json = Json::object();
  Json& conditions = json["conditions"] = Json::array();
  for (const Condition& condition : status.conditions) conditions.push_back(ToJson(condition));
  Json& replicas = json["replicaStatuses"] = Json::object();
  for (const auto& [type, replica] : status.replica_statuses) {
    replicas[std::string(CanonicalName(type))] = ToJson(replica);
  }
  PutTime(json, "startTime", status.start_time);
  PutTime(json, "completionTime", status.completion_time);
  PutTime(json, "lastReconcileTime", status.last_reconcile_time);
  PutText(json, "ready", status.ready);
  PutCount(json, "restarts", status.restarts);
  PutCount(json, "jobRestarts", status.job_restarts);
  if (status.progress) json["progress"] = ToJson(*status.progress);
  return json;
}

}  // namespace tensorfleet::api
