#include "operator/api/failure_policy.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "operator/api/spec_reader.h"

namespace tensorfleet::api {
namespace {

void ReadExitCodes(const Json& codes, const std::string& path, FailureRule& rule,
                   std::vector<FieldError>& errors) {
  FieldReader reader(codes, path, errors);
  rule.exit_codes_not_in = reader.Word("operator", kExitCodeOperatorWords).value_or(0) == 1;
  const Json* values = reader.Array("values");
  if (values == nullptr || values->empty()) {
    reader.Add(Required(reader.PathOf("values"), "must list at least one exit code"));
    return;
  }
  for (const Json& value : *values) {
    const bool fits = value.is_number_integer() && value >= 1 && value <= 255;
    if (fits) {
      rule.exit_codes.push_back(value.get<int32_t>());
    } else {
      reader.Add(Invalid(reader.PathOf("values"), Dump(value),
                         "an exit code of a failure is between 1 and 255, inclusive"));
    }
  }
}

void ReadReplicaTypes(const Json& types, const std::string& path, FailureRule& rule,
                      std::vector<FieldError>& errors) {
  for (const Json& type : types) {
    const auto parsed =
        type.is_string() ? ParseReplicaType(type.get_ref<const std::string&>()) : std::nullopt;
    if (parsed) {
      rule.replica_types.push_back(*parsed);
    } else {
      errors.push_back(Invalid(path, Dump(type), "must be a replica type"));
    }
  }
}

FailureRule ReadRule(const Json& json, const std::string& path, std::vector<FieldError>& errors) {
  FailureRule rule;
  FieldReader reader(json, path, errors);
  if (Member(json, "action") == nullptr) {
    reader.Add(Required(reader.PathOf("action"), "must say what a match does"));
  }
  rule.action = static_cast<FailureAction>(reader.Word("action", kFailureActionWords).value_or(0));
  if (const Json* types = reader.Array("replicaTypes")) {
    ReadReplicaTypes(*types, reader.PathOf("replicaTypes"), rule, errors);
  }
  const Json* codes = reader.Object("onExitCodes");
  if (codes != nullptr) ReadExitCodes(*codes, reader.PathOf("onExitCodes"), rule, errors);
  const Json* conditions = reader.Array("onPodConditions");
  if (conditions != nullptr) {
    for (const Json& condition : *conditions) {
      if (condition.is_string() && !condition.get_ref<const std::string&>().empty()) {
        rule.pod_conditions.push_back(condition.get<std::string>());
      } else {
        reader.Add(Invalid(reader.PathOf("onPodConditions"), Dump(condition),
                           "must be the type of a pod condition"));
      }
    }
  }
  if (codes == nullptr && (conditions == nullptr || conditions->empty())) {
    reader.Add(Required(path, "a rule needs onExitCodes or onPodConditions"));
  }
  return rule;
}

// A number, or a percentage such as "20%".
void ReadMaxFailedWorkers(const Json& policy, FieldReader& reader, FailurePolicy& out) {
  constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  const Json* value = Member(policy, "maxFailedWorkers");
  if (value == nullptr) return;
  if (auto count = IntMember(policy, "maxFailedWorkers", 0, kMaxInt32)) {
    out.max_failed_workers = static_cast<int32_t>(*count);
    return;
  }
  if (value->is_string()) {
    absl::string_view text = value->get_ref<const std::string&>();
    int32_t percent = 0;
    if (absl::ConsumeSuffix(&text, "%") && absl::SimpleAtoi(text, &percent) && percent >= 0 &&
        percent <= 100) {
      out.max_failed_workers_percent = percent;
      return;
    }
  }
  reader.Add(Invalid(reader.PathOf("maxFailedWorkers"),
                     value->is_structured() ? value->type_name() : Dump(*value),
                     "must be a number, 0 or more, or a percentage from \"0%\" to \"100%\""));
}

std::optional<int32_t> ReadLimit(FieldReader& reader, const char* key) {
  const auto value = reader.Int32(key);
  if (value && *value < 0) {
    reader.Add(
        Invalid(reader.PathOf(key), absl::StrCat(*value), "must be greater than or equal to 0"));
    return std::nullopt;
  }
  return value;
}

}  // namespace

FailurePolicy ReadFailurePolicy(const Json& policy, const std::string& path,
                                std::vector<FieldError>& errors) {
  FailurePolicy out;
  FieldReader reader(policy, path, errors);
  if (const Json* rules = reader.Array("rules")) {
    for (size_t i = 0; i < rules->size(); ++i) {
      const std::string rule_path = absl::StrCat(reader.PathOf("rules"), "[", i, "]");
      out.rules.push_back(ReadRule((*rules)[i], rule_path, errors));
    }
  }
  ReadMaxFailedWorkers(policy, reader, out);
  out.max_restarts_per_replica = ReadLimit(reader, "maxRestartsPerReplica");
  out.lost_pod_timeout_seconds = ReadLimit(reader, "lostPodTimeoutSeconds");
  out.pending_timeout_seconds = ReadLimit(reader, "pendingTimeoutSeconds");
  return out;
}

}  // namespace tensorfleet::api
