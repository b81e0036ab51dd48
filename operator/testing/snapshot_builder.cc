#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/timestamp.h"
#include "operator/plan/bodies.h"
#include "operator/testing/builders.h"
#include "runtime/base/check.h"

namespace tensorfleet::testing {
namespace {

using Json = nlohmann::json;
using plan::Action;
using plan::ActionKind;
using plan::Plan;
using plan::Snapshot;

// "mnist-worker-0" of job "mnist".
api::ReplicaId ReplicaOf(absl::string_view job, absl::string_view name) {
  TFLEET_CHECK(name.size() > job.size() && name.substr(0, job.size()) == job);
  const std::vector<std::string> parts = absl::StrSplit(name.substr(job.size() + 1), '-');
  TFLEET_CHECK(parts.size() == 2);
  const auto type = api::ParseReplicaType(parts[0]);
  api::ReplicaId id;
  TFLEET_CHECK(type.has_value() && absl::SimpleAtoi(parts[1], &id.index));
  id.type = *type;
  return id;
}

Json Child(absl::string_view kind, absl::string_view job, absl::string_view name) {
  api::TFJob named;
  named.name = std::string(job);
  return {{"metadata",
           {{"name", std::string(name)},
            {"namespace", kNamespace},
            {"uid", absl::StrCat(kind, "-", name)},
            {"resourceVersion", "1"},
            {"labels", plan::ReplicaLabels(named, ReplicaOf(job, name))},
            {"ownerReferences", Json::array({{{"uid", kJobUid}, {"controller", true}}})}}}};
}

void ChangeAll(Json& json, const std::vector<Change>& changes) {
  for (const Change& change : changes) change(json);
}

template <typename T>
std::shared_ptr<const T> Share(StatusOr<T> object) {
  TFLEET_CHECK(object.ok());
  return std::make_shared<const T>(*std::move(object));
}

// A body as the API server would store it.
Json Stored(const Action& action, absl::string_view uid) {
  Json json = Json::parse(action.body);
  json["metadata"]["uid"] = std::string(uid);
  json["metadata"]["resourceVersion"] = "2";
  return json;
}

template <typename T>
void Remove(std::vector<std::shared_ptr<const T>>& objects, const std::string& name) {
  objects.erase(std::remove_if(objects.begin(), objects.end(),
                               [&](const auto& object) { return object->meta.name == name; }),
                objects.end());
}

void ApplyTo(Snapshot& after, const Action& action, int serial) {
  const std::string uid = absl::StrCat("made-", serial, "-", action.name);
  switch (action.kind) {
    case ActionKind::kCreatePod: {
      Json json = Stored(action, uid);
      json["status"]["phase"] = "Pending";
      after.pods.push_back(Share(api::PodFromJson(json)));
      break;
    }
    case ActionKind::kDeletePod:
      Remove(after.pods, action.name);
      break;
    case ActionKind::kCreateService:
      after.services.push_back(Share(api::ServiceFromJson(Stored(action, uid))));
      break;
    case ActionKind::kDeleteService:
      Remove(after.services, action.name);
      break;
    case ActionKind::kAdoptService:
      for (auto& service : after.services) {
        if (service->meta.name != action.name) continue;
        api::Service adopted = *service;
        adopted.meta.has_owner = true;
        adopted.meta.owner_uid = after.job->uid;
        service = std::make_shared<const api::Service>(std::move(adopted));
      }
      break;
    case ActionKind::kAdoptPod:
      for (auto& pod : after.pods) {
        if (pod->meta.name != action.name) continue;
        api::Pod adopted = *pod;
        adopted.meta.has_owner = true;
        adopted.meta.owner_uid = after.job->uid;
        adopted.meta.has_other_labels = false;
        pod = std::make_shared<const api::Pod>(std::move(adopted));
      }
      break;
    case ActionKind::kCreatePodGroup:
      after.pod_group = Share(api::PodGroupFromJson(Stored(action, uid)));
      break;
    case ActionKind::kUpdatePodGroup: {
      Json json = {{"metadata", {{"name", action.name}}}, {"spec", Json::object()}};
      json.merge_patch(Json::parse(action.body));
      api::PodGroup group = *Share(api::PodGroupFromJson(json));
      group.meta = after.pod_group->meta;
      group.phase = after.pod_group->phase;
      after.pod_group = std::make_shared<const api::PodGroup>(std::move(group));
      break;
    }
    case ActionKind::kDeletePodGroup:
      after.pod_group = nullptr;
      break;
    case ActionKind::kDeleteJob: {
      api::TFJob job = *after.job;
      job.deletion_time = after.now;
      after.job = std::make_shared<const api::TFJob>(std::move(job));
      break;
    }
  }
}

}  // namespace

std::shared_ptr<const api::Pod> MakePod(absl::string_view job, absl::string_view name,
                                        const std::vector<Change>& changes) {
  Json json = Child("pod", job, name);
  json["status"]["phase"] = "Pending";
  ChangeAll(json, changes);
  return Share(api::PodFromJson(json));
}

SnapshotOf::SnapshotOf(std::shared_ptr<const api::TFJob> job) {
  snapshot_.job = std::move(job);
  snapshot_.now = kStart;
}

SnapshotOf& SnapshotOf::AddPod(absl::string_view name, const std::vector<Change>& changes) {
  snapshot_.pods.push_back(MakePod(snapshot_.job->name, name, changes));
  return *this;
}

SnapshotOf& SnapshotOf::AddService(absl::string_view name, const std::vector<Change>& changes) {
  Json json = Child("service", snapshot_.job->name, name);
  ChangeAll(json, changes);
  snapshot_.services.push_back(Share(api::ServiceFromJson(json)));
  return *this;
}

SnapshotOf& SnapshotOf::AddAllPods(const std::vector<Change>& changes) {
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = snapshot_.job->spec.Find(type);
    for (int i = 0; spec != nullptr && i < spec->replicas; ++i) {
      AddPod(api::ReplicaName(snapshot_.job->name, {type, i}), changes);
    }
  }
  return *this;
}

SnapshotOf& SnapshotOf::WithAllServices() {
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = snapshot_.job->spec.Find(type);
    for (int i = 0; spec != nullptr && i < spec->replicas; ++i) {
      AddService(api::ReplicaName(snapshot_.job->name, {type, i}), {});
    }
  }
  return *this;
}

SnapshotOf& SnapshotOf::WithPodGroup(absl::string_view json_spec, absl::string_view phase,
                                     std::vector<Change> changes) {
  Json json = {{"metadata",
                {{"name", snapshot_.job->name},
                 {"uid", "group-uid"},
                 {"ownerReferences", Json::array({{{"uid", kJobUid}, {"controller", true}}})}}},
               {"spec", Json::parse(json_spec.begin(), json_spec.end())},
               {"status", {{"phase", std::string(phase)}}}};
  ChangeAll(json, changes);
  snapshot_.pod_group = Share(api::PodGroupFromJson(json));
  return *this;
}

SnapshotOf& SnapshotOf::At(double seconds) {
  snapshot_.now = After(seconds);
  return *this;
}

Snapshot Apply(const Plan& plan, const Snapshot& before) {
  Snapshot after = before;
  api::TFJob job = *before.job;
  // As it would be read back.
  job.status = api::TFJobStatusFromJson(ToJson(plan.status));
  after.job = std::make_shared<const api::TFJob>(std::move(job));
  int serial = 0;
  for (const Action& action : plan.actions) ApplyTo(after, action, serial++);
  return after;
}

std::vector<std::string> Names(const Plan& plan, ActionKind kind) {
  std::vector<std::string> names;
  for (const Action& action : plan.actions) {
    if (action.kind == kind) names.push_back(action.name);
  }
  return names;
}

std::vector<std::string> PodsCreated(const Plan& plan) {
  return Names(plan, ActionKind::kCreatePod);
}
std::vector<std::string> PodsDeleted(const Plan& plan) {
  return Names(plan, ActionKind::kDeletePod);
}
std::vector<std::string> ServicesCreated(const Plan& plan) {
  return Names(plan, ActionKind::kCreateService);
}
std::vector<std::string> ServicesDeleted(const Plan& plan) {
  return Names(plan, ActionKind::kDeleteService);
}

std::string ConditionsOf(const api::TFJobStatus& status) {
  std::string text;
  for (const api::Condition& condition : status.conditions) {
    absl::StrAppend(&text, text.empty() ? "" : ",", condition.type,
                    condition.is_true ? "" : "(False)");
  }
  return text;
}

std::vector<std::string> EventReasons(const Plan& plan) {
  std::vector<std::string> reasons;
  for (const plan::Event& event : plan.events) reasons.push_back(event.reason);
  return reasons;
}

Json BodyOf(const Plan& plan, ActionKind kind, absl::string_view name) {
  for (const Action& action : plan.actions) {
    if (action.kind == kind && action.name == name) return Json::parse(action.body);
  }
  TFLEET_CHECK(!"no such action");
  return {};
}

}  // namespace tensorfleet::testing
