// The fields of a TFJob's spec, for the reader and for the schema (see field_facts.h). What they do
// is told at length in operator/docs/fields.md.
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "operator/api/fields/schema.h"
#include "operator/api/fields/schema_writer.h"
#include "operator/api/fields/spec_reader.h"
#include "operator/api/fields/spec_visitor.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/index_set.h"
#include "operator/api/values/quantity.h"

namespace tensorfleet::api {

namespace {

// Documents nested deeper than any PodSpec are refused before they are written out again.
constexpr int kMaxTemplateDepth = 64;

std::vector<std::string> ReplicaTypeWords() {
  std::vector<std::string> words;
  for (const ReplicaType type : kReplicaTypes) words.emplace_back(CanonicalName(type));
  return words;
}

}  // namespace

template <typename Visitor>
void Describe(Visitor& v, SchedulingPolicy& policy) {
  v.Int("minAvailable", policy.min_available, {.minimum = 0});
  v.String("queue", policy.queue,
           {.max_length = 253,
            .rules = {{"self == oldSelf", "spec.runPolicy.schedulingPolicy.queue is immutable"}}});
  v.String("priorityClass", policy.priority_class);
  v.Int("scheduleTimeoutSeconds", policy.schedule_timeout_seconds, {.minimum = 0});
  const auto schema = [] {
    return OrderedJson::parse(R"json({
      "type": "object",
      "additionalProperties": {
        "x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"
      }
    })json");
  };
  v.Custom("minResources", {}, schema,
           [&](const Json& amounts, const std::string& path, std::vector<FieldError>& errors) {
             if (!amounts.is_object()) {
               errors.push_back(WrongType(path, amounts, "an object"));
               return;
             }
             for (const auto& [name, amount] : amounts.items()) {
               const std::string text =
                   amount.is_string() ? amount.get<std::string>() : Dump(amount);
               if (ParseQuantity(text)) {
                 policy.min_resources[name] = text;
               } else {
                 errors.push_back(Invalid(absl::StrCat(path, "[", name, "]"), Dump(Json(text)),
                                          "must be a quantity, such as 2, 500m or 4Gi"));
               }
             }
           });
}

template <typename Visitor>
void Describe(Visitor& v, RunPolicy& policy) {
  v.Rule(
      {"has(self.managedBy) == has(oldSelf.managedBy)", "spec.runPolicy.managedBy is immutable"});
  v.Word("cleanPodPolicy", policy.clean_pod_policy, kCleanPodPolicyWords,
         {.tolerable_once_started = true});
  v.Int("ttlSecondsAfterFinished", policy.ttl_seconds_after_finished, {.minimum = 0});
  v.Int("activeDeadlineSeconds", policy.active_deadline_seconds, {.minimum = 0});
  v.Int("backoffLimit", policy.backoff_limit, {.minimum = 0});
  v.Bool("suspend", policy.suspend, {.fallback = "false"});
  v.String("managedBy", policy.managed_by,
           {.rules = {{"self == oldSelf", "spec.runPolicy.managedBy is immutable"}}},
           {kManagedByUs, kManagedByMultiKueue});
  v.Object("schedulingPolicy", policy.scheduling);
}

template <typename Visitor>
void DescribeExitCodes(Visitor& v, FailureRule& rule) {
  v.Word("operator", rule.exit_codes_not_in, kExitCodeOperatorWords);
  v.Elements(
      "values", {.required = "must list at least one exit code", .min_items = 1, .max_items = 255},
      [] {
        return OrderedJson{
            {"type", "integer"}, {"format", "int32"}, {"minimum", 1}, {"maximum", 255}};
      },
      [&](const Json& value) -> const char* {
        if (!value.is_number_integer() || value < 1 || value > 255) {
          return "an exit code of a failure is between 1 and 255, inclusive";
        }
        rule.exit_codes.push_back(value.get<int32_t>());
        return nullptr;
      });
}

template <typename Visitor>
void Describe(Visitor& v, FailureRule& rule) {
  v.Word("action", rule.action, kFailureActionWords, {.required = "must say what a match does"});
  v.Elements(
      "replicaTypes", {.max_items = kReplicaTypeCount},
      [] {
        return OrderedJson{{"type", "string"}, {"enum", ReplicaTypeWords()}};
      },
      [&](const Json& value) -> const char* {
        const auto type = value.is_string() ? ParseReplicaType(value.get_ref<const std::string&>())
                                            : std::nullopt;
        if (!type) return "must be a replica type";
        rule.replica_types.push_back(*type);
        return nullptr;
      });
  v.Group("onExitCodes", {}, [&](auto& inner) { DescribeExitCodes(inner, rule); });
  v.Elements(
      "onPodConditions", {.min_items = 1, .max_items = 20},
      [] {
        return OrderedJson{{"type", "string"}, {"minLength", 1}, {"maxLength", 316}};
      },
      [&](const Json& value) -> const char* {
        if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
          return "must be the type of a pod condition";
        }
        rule.pod_conditions.push_back(value.get<std::string>());
        return nullptr;
      });
  v.Rule({"has(self.onExitCodes) || has(self.onPodConditions)",
          "a rule needs onExitCodes or onPodConditions"},
         [](const Json& self) {
           const Json* conditions = Member(self, "onPodConditions");
           return ObjectMember(self, "onExitCodes") != nullptr ||
                  (conditions != nullptr && conditions->is_array() && !conditions->empty());
         });
}

namespace {

// A number, or a percentage such as "20%".
void ReadMaxFailedWorkers(const Json& value, const std::string& path, FailurePolicy& policy,
                          std::vector<FieldError>& errors) {
  if (value.is_number_integer() && value >= 0 && value <= std::numeric_limits<int32_t>::max()) {
    policy.max_failed_workers = value.get<int32_t>();
    return;
  }
  if (value.is_string()) {
    absl::string_view text = value.get_ref<const std::string&>();
    int32_t percent = 0;
    if (absl::ConsumeSuffix(&text, "%") && absl::SimpleAtoi(text, &percent) && percent >= 0 &&
        percent <= 100) {
      policy.max_failed_workers_percent = percent;
      return;
    }
  }
  errors.push_back(Invalid(path, value.is_structured() ? value.type_name() : Dump(value),
                           "must be a number, 0 or more, or a percentage from \"0%\" to \"100%\""));
}

}  // namespace

template <typename Visitor>
void Describe(Visitor& v, FailurePolicy& policy) {
  v.List("rules", policy.rules,
         {.doc = "The first rule that matches a failed pod decides.", .max_items = 20});
  const auto schema = [] {
    return OrderedJson::parse(R"json({
      "x-kubernetes-int-or-string": true,
      "anyOf": [{"type": "integer"}, {"type": "string"}]
    })json");
  };
  v.Custom("maxFailedWorkers",
           {.doc = "Workers that may fail for good, as a number or a percentage.",
            .max_length = 4,
            .rules = {{"type(self) == int ? self >= 0 : "
                       "self.matches('^([0-9]|[1-9][0-9]|100)%$')",
                       "must be a number, 0 or more, or a percentage from 0% to 100%"}}},
           schema,
           [&](const Json& value, const std::string& path, std::vector<FieldError>& errors) {
             ReadMaxFailedWorkers(value, path, policy, errors);
           });
  v.Int("maxRestartsPerReplica", policy.max_restarts_per_replica, {.minimum = 0});
  v.Int("lostPodTimeoutSeconds", policy.lost_pod_timeout_seconds,
        {.doc = "A pod still there this long after its grace period is deleted by force.",
         .minimum = 0});
  v.Int("pendingTimeoutSeconds", policy.pending_timeout_seconds,
        {.doc = "A pod still pending this long after it was made fails the job.", .minimum = 0});
}

namespace {

// Of a PodTemplateSpec: typed as far as the operator relies on it, so that every field of PodSpec
// passes, of whatever version of Kubernetes.
OrderedJson TemplateSchema() {
  return OrderedJson::parse(R"json({
    "type": "object",
    "properties": {
      "metadata": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "namespace": {"type": "string"},
          "labels": {"type": "object", "additionalProperties": {"type": "string"}},
          "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
          "finalizers": {"type": "array", "items": {"type": "string"}}
        }
      },
      "spec": {
        "type": "object",
        "description": "A PodSpec. Its restartPolicy is overwritten.",
        "required": ["containers"],
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
          "schedulerName": {"type": "string"},
          "restartPolicy": {"type": "string"},
          "containers": {
            "type": "array",
            "maxItems": 1000,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
              "type": "object",
              "required": ["name"],
              "x-kubernetes-preserve-unknown-fields": true,
              "properties": {"name": {"type": "string"}, "image": {"type": "string"}}
            }
          }
        }
      }
    }
  })json");
}

void ReadTemplate(const Json& json, const std::string& path, ReplicaSpec& spec,
                  std::vector<FieldError>& errors) {
  if (!json.is_object()) {
    errors.push_back(WrongType(path, json, "an object"));
  } else if (IsNestedDeeperThan(json, kMaxTemplateDepth)) {
    errors.push_back(Invalid(path, "object",
                             absl::StrCat("is nested deeper than ", kMaxTemplateDepth, " levels")));
  } else {
    spec.facts = ReadTemplateFacts(json, path, errors);
    spec.template_json = Dump(json);
  }
}

}  // namespace

template <typename Visitor>
void Describe(Visitor& v, ReplicaSpec& spec) {
  v.Int("replicas", spec.replicas, {.minimum = 0, .maximum = kMaxReplicas});
  v.Word("restartPolicy", spec.restart_policy, kRestartPolicyWords);
  v.Word("cleanPodPolicy", spec.clean_pod_policy, kCleanPodPolicyWords,
         {.doc = "Overrides spec.runPolicy.cleanPodPolicy for this type."});
  v.Custom("template", {}, TemplateSchema,
           [&](const Json& json, const std::string& path, std::vector<FieldError>& errors) {
             ReadTemplate(json, path, spec, errors);
           });
}

namespace {

OrderedJson ReplicaSpecsSchema() {
  OrderedJson schema = OrderedJson::parse(R"json({
    "type": "object",
    "minProperties": 1,
    "maxProperties": 5,
    "x-kubernetes-validations": [
      {
        "rule": "self.all(t, t.lowerAscii() in ['chief', 'evaluator', 'master', 'ps', 'worker'])",
        "message": "replica types are Chief, Evaluator, Master, PS and Worker, in any letter case"
      },
      {
        "rule": "self.all(t, !self.exists(u, u != t && u.lowerAscii() == t.lowerAscii()))",
        "message": "a replica type is given twice, in different letter case"
      },
      {
        "rule": "!(self.exists(t, t.lowerAscii() == 'chief') && self.exists(t, t.lowerAscii() == 'master'))",
        "message": "must not have more than 1 Chief or Master role"
      },
      {
        "rule": "self.all(t, !(t.lowerAscii() in ['chief', 'master']) || !has(self[t].replicas) || self[t].replicas <= 1)",
        "message": "a job has at most one Chief or Master"
      }
    ]
  })json");
  schema["additionalProperties"] = SchemaWriter::SchemaOf<ReplicaSpec>();
  return schema;
}

// Keys are taken in any letter case. Of two spellings of one type the canonical one loses, as it
// always did; admission refuses such a job.
void ReadReplicaSpecs(const Json& specs, const std::string& specs_path, TFJobSpec& out,
                      std::vector<FieldError>& errors) {
  if (!specs.is_object()) {
    errors.push_back(WrongType(specs_path, specs, "an object"));
    return;
  }
  out.has_replica_specs = true;
  for (const auto& [key, json] : specs.items()) {
    const std::string path = absl::StrCat(specs_path, "[", key, "]");
    const auto type = ParseReplicaType(key);
    if (!type) {
      FieldError error = Unsupported(path, key, ReplicaTypeWords());
      error.tolerable_once_started = true;
      errors.push_back(std::move(error));
      continue;
    }
    if (!json.is_object()) {
      errors.push_back(WrongType(path, json, "an object"));
      continue;
    }
    auto& slot = out.replicas[static_cast<int>(*type)];
    if (slot.has_value()) {
      FieldError error = Forbidden(path, absl::StrCat("replica type ", CanonicalName(*type),
                                                      " is given twice, in different letter case"));
      error.tolerable_once_started = true;
      errors.push_back(std::move(error));
      if (key == CanonicalName(*type)) continue;
    }
    SpecVisitor reader(json, path, errors);
    Describe(reader, slot.emplace());
    slot->key = key;
  }
}

}  // namespace

template <typename Visitor>
void Describe(Visitor& v, TFJobSpec& spec) {
  // Clients of the Python SDK cannot read a job without it.
  v.Object("runPolicy", spec.run_policy, {.fallback = "{}"});
  v.Word("successPolicy", spec.success_policy, kSuccessPolicyWords,
         {.doc = "Without a chief: empty ends the job with worker 0, AllWorkers with the last "
                 "worker.",
          .tolerable_once_started = true});
  v.Bool("evaluatorInCluster", spec.evaluator_in_cluster,
         {.doc = "Whether TF_CONFIG's cluster lists the evaluators (default true)."});
  v.Bool("enableDynamicWorker", spec.enable_dynamic_worker,
         {.doc = "Workers may come and go: TF_CONFIG names only the replica itself and the "
                 "parameter servers, and a failed worker does not fail the job."});
  v.Word("restartScope", spec.restart_scope, kRestartScopeWords,
         {.doc = "What is replaced when a replica fails: itself (default), or all replicas "
                 "together."});
  v.Word("startOrder", spec.start_order, kStartOrderWords,
         {.doc = "PSFirst starts the others once all parameter servers are ready."});
  v.Word("replicaCompletion", spec.replica_completion, kReplicaCompletionWords,
         {.doc = "When a replica has ended: with its pod (default), or with its container "
                 "tensorflow, whatever sidecars still do."});
  v.Object("failurePolicy", spec.failure_policy,
           {.doc = "Which failures count, and how many are borne."});
  v.Custom("tfReplicaSpecs", {.required = "must be required"}, ReplicaSpecsSchema,
           [&](const Json& specs, const std::string& path, std::vector<FieldError>& errors) {
             ReadReplicaSpecs(specs, path, spec, errors);
           });
}

TFJobSpec ReadSpec(const Json& json, std::vector<FieldError>& errors) {
  TFJobSpec spec;
  SpecVisitor reader(json, "spec", errors);
  Describe(reader, spec);
  return spec;
}

OrderedJson SpecSchema() { return SchemaWriter::SchemaOf<TFJobSpec>(); }

}  // namespace tensorfleet::api
