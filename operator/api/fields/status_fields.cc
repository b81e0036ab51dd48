// The fields of a TFJob's status, for its reader, its writer and the schema (see field_facts.h).
#include <concepts>
#include <limits>

#include "absl/strings/numbers.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/fields/schema.h"
#include "operator/api/tfjob_status.h"
#include "operator/api/values/index_set.h"

namespace tensorfleet::api {

// Whoever writes takes them const.
template <typename Given, typename Wanted>
concept Is = std::same_as<std::remove_const_t<Given>, Wanted>;

template <typename Visitor, Is<Condition> T>
void Describe(Visitor& v, T& condition) {
  v.String("type", condition.type, {.required = "names the condition"});
  v.Truth("status", condition.is_true, {.required = "says whether it holds"});
  v.String("reason", condition.reason);
  v.String("message", condition.message);
  v.Time("lastUpdateTime", condition.last_update_time);
  v.Time("lastTransitionTime", condition.last_transition_time);
}

template <typename Visitor, Is<Progress> T>
void Describe(Visitor& v, T& progress) {
  v.Int("step", progress.step);
  v.String("checkpoint", progress.checkpoint);
  v.Number("stepsPerSecond", progress.steps_per_second);
  v.Number("examplesPerSecond", progress.examples_per_second);
  v.Time("time", progress.time);
}

template <typename Visitor, Is<ReplicaStatus> T>
void Describe(Visitor& v, T& status) {
  v.Int("active", status.active);
  v.Int("succeeded", status.succeeded);
  v.Int("failed", status.failed);
  v.String("selector", status.selector);
  // For what training-operator stored.
  v.Unused("labelSelector", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
  v.Indexes("succeededIndexes", status.succeeded_indexes,
            {.doc = "Which replicas have succeeded, such as 0,2-5."});
  v.Counts("restartsByIndex", status.restarts_by_index);
  v.Counts("ignoredFailuresByIndex", status.ignored_by_index);
}

template <typename Visitor, Is<TFJobStatus> T>
void Describe(Visitor& v, T& status) {
  v.List("conditions", status.conditions);
  v.Time("startTime", status.start_time);
  v.Time("completionTime", status.completion_time);
  v.Time("lastReconcileTime", status.last_reconcile_time);
  v.String("ready", status.ready, {.doc = "Ready replicas of those wanted, such as 3/5."});
  v.Int("restarts", status.restarts,
        {.doc = "Restarts of all replicas, in place and by replacing pods."});
  v.Int("jobRestarts", status.job_restarts,
        {.doc = "How often all replicas were replaced together."});
  v.Object("progress", status.progress,
           {.doc = "What the chief said in the annotation tensorfleet.dev/progress of its pod."});
  v.ByType("replicaStatuses", status.replica_statuses);
}

namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// Takes what it can; a field of a wrong type is an absent one.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  // False when a text is missing without which the rest says nothing.
  bool is_complete() const { return is_complete_; }

  void String(const char* name, std::string& to, const FieldFacts& facts = {}) {
    to = StringMember(object_, name);
    if (facts.required != nullptr && to.empty()) is_complete_ = false;
  }
  void Truth(const char* name, bool& to, const FieldFacts&) {
    to = StringMember(object_, name) == "True";
  }
  void Time(const char* name, std::optional<absl::Time>& to) { to = TimeMember(object_, name); }
  void Int(const char* name, int32_t& to, const FieldFacts& = {}) { to = Count(object_, name); }
  void Int(const char* name, std::optional<int64_t>& to) {
    to = IntMember(object_, name, 0, std::numeric_limits<int64_t>::max());
  }
  void Number(const char* name, std::optional<double>& to) {
    const Json* member = Member(object_, name);
    if (member != nullptr && member->is_number()) to = member->get<double>();
  }
  void Indexes(const char* name, std::set<int32_t>& to, const FieldFacts&) {
    to = ParseIndexSet(StringMember(object_, name));
  }
  void Counts(const char* name, std::map<int32_t, int32_t>& to) {
    const Json* member = ObjectMember(object_, name);
    if (member == nullptr) return;
    for (const auto& [key, ignored] : member->items()) {
      int32_t index = 0;
      if (!absl::SimpleAtoi(key, &index) || index < 0 || index >= kMaxReplicas) continue;
      if (const int32_t count = Count(*member, key.c_str())) to[index] = count;
    }
  }
  void Unused(const char*, const OrderedJson&) {}
  template <typename T>
  void Object(const char* name, std::optional<T>& to, const FieldFacts&) {
    const Json* member = ObjectMember(object_, name);
    if (member == nullptr) return;
    Reader inner(*member);
    Describe(inner, to.emplace());
  }
  template <typename T>
  void List(const char* name, std::vector<T>& to) {
    for (const Json& item : ArrayMember(object_, name)) {
      Reader inner(item);
      Describe(inner, to.emplace_back());
      if (!inner.is_complete()) to.pop_back();
    }
  }
  template <typename T>
  void ByType(const char* name, std::map<ReplicaType, T>& to) {
    const Json* member = ObjectMember(object_, name);
    if (member == nullptr) return;
    for (const auto& [key, value] : member->items()) {
      const auto type = ParseReplicaType(key);
      if (!type) continue;
      Reader inner(value);
      Describe(inner, to[*type] = T());
    }
  }

 private:
  static int32_t Count(const Json& object, const char* name) {
    return static_cast<int32_t>(IntMember(object, name, 0, kMaxInt32).value_or(0));
  }

  const Json& object_;
  bool is_complete_ = true;
};

// Leaves out what is empty or 0, as Kubernetes does, but for lists and what is required.
class Writer {
 public:
  Json Take() { return std::move(object_); }

  void String(const char* name, const std::string& text, const FieldFacts& facts = {}) {
    if (!text.empty() || facts.required != nullptr) object_[name] = text;
  }
  void Truth(const char* name, bool is_true, const FieldFacts&) {
    object_[name] = is_true ? "True" : "False";
  }
  void Time(const char* name, const std::optional<absl::Time>& time) {
    if (time) object_[name] = ToTimestamp(*time);
  }
  void Int(const char* name, int32_t count, const FieldFacts& = {}) {
    if (count != 0) object_[name] = count;
  }
  void Int(const char* name, const std::optional<int64_t>& number) {
    if (number) object_[name] = *number;
  }
  void Number(const char* name, const std::optional<double>& number) {
    if (number) object_[name] = *number;
  }
  void Indexes(const char* name, const std::set<int32_t>& indexes, const FieldFacts&) {
    String(name, IndexSetToString(indexes));
  }
  void Counts(const char* name, const std::map<int32_t, int32_t>& counts) {
    for (const auto& [index, count] : counts) object_[name][absl::StrCat(index)] = count;
  }
  void Unused(const char*, const OrderedJson&) {}
  template <typename T>
  void Object(const char* name, const std::optional<T>& value, const FieldFacts&) {
    if (value) object_[name] = Written(*value);
  }
  template <typename T>
  void List(const char* name, const std::vector<T>& items) {
    Json& array = object_[name] = Json::array();
    for (const T& item : items) array.push_back(Written(item));
  }
  template <typename T>
  void ByType(const char* name, const std::map<ReplicaType, T>& by_type) {
    Json& object = object_[name] = Json::object();
    for (const auto& [type, value] : by_type) {
      object[std::string(CanonicalName(type))] = Written(value);
    }
  }

  template <typename T>
  static Json Written(const T& value) {
    Writer writer;
    Describe(writer, value);
    return writer.Take();
  }

 private:
  Json object_ = Json::object();
};

}  // namespace

TFJobStatus TFJobStatusFromJson(const nlohmann::json& json) {
  TFJobStatus status;
  Reader reader(json);
  Describe(reader, status);
  return status;
}

nlohmann::json ToJson(const TFJobStatus& status) { return Writer::Written(status); }

OrderedJson StatusSchema() { return SchemaWriter::SchemaOf<TFJobStatus>(); }

}  // namespace tensorfleet::api
