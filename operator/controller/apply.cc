#include "operator/controller/apply.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/api/tfjob_status.h"

namespace tensorfleet::controller {
namespace {

using nlohmann::json;
using plan::ActionKind;

// Whether an answer to DELETE says that the object lives on for its grace period.
bool LivesOn(const json& answer) {
  if (!answer.is_object() || answer.value("kind", json()) == "Status") return false;
  const auto meta = answer.find("metadata");
  if (meta == answer.end() || !meta->is_object() || !meta->contains("deletionTimestamp"))
    return false;
  const auto grace = meta->find("deletionGracePeriodSeconds");
  const bool waits =
      grace == meta->end() || !grace->is_number_integer() || grace->get<int64_t>() > 0;
  const auto finalizers = meta->find("finalizers");
  return waits || (finalizers != meta->end() && finalizers->is_array() && !finalizers->empty());
}

const std::string& UidOf(const api::TFJob& job) { return job.uid; }
template <typename Child>
const std::string& UidOf(const Child& child) {
  return child.meta.uid;
}

// The patch that puts our labels back onto what is `there` under the name that `create` wants, when
// it is the job's own and lacks some of them.
std::optional<plan::Action> LabelsToRestore(const api::TFJob& job, const plan::Action& create,
                                            absl::string_view there) {
  const json wanted = json::parse(create.body, nullptr, false);
  const json held = json::parse(there.begin(), there.end(), nullptr, false);
  const json::json_pointer owners("/metadata/ownerReferences"), uid("/metadata/uid");
  if (!held.is_object() || held.contains(json::json_pointer("/metadata/deletionTimestamp")) ||
      !held.contains(owners) || !held.at(owners).is_array() || !held.contains(uid) ||
      !held.at(uid).is_string()) {
    return std::nullopt;
  }
  const bool is_ours =
      std::any_of(held.at(owners).begin(), held.at(owners).end(), [&](const json& owner) {
        return owner.is_object() && owner.contains("controller") && owner["controller"] == true &&
               owner.contains("uid") && owner["uid"] == job.uid;
      });
  if (!is_ours) return std::nullopt;
  json missing = json::object();
  for (const char* label : {api::kOperatorNameLabel, api::kJobNameLabel, api::kReplicaTypeLabel,
                            api::kReplicaIndexLabel}) {
    const json::json_pointer path = json::json_pointer("/metadata/labels") / std::string(label);
    if (!wanted.contains(path)) continue;
    if (!held.contains(path) || held.at(path) != wanted.at(path)) missing[label] = wanted.at(path);
  }
  if (missing.empty()) return std::nullopt;
  plan::Action patch = create;
  patch.uid = held.at(uid).get<std::string>();
  patch.body = json{{"metadata", {{"labels", std::move(missing)}}}}.dump();
  return patch;
}

}  // namespace

template <typename Cache>
Status Applier::Create(Cache& cache, const api::TFJob& job, absl::string_view group_version,
                       absl::string_view plural, const plan::Action& action,
                       std::vector<std::string>* warnings) {
  std::string path = k8s::CollectionPath(group_version, job.namespace_, plural);
  // What the API server does not know in a template is an error, not left out without a word.
  if (action.kind == ActionKind::kCreatePod) path += "?fieldValidation=Strict";
  const StatusOr<std::string> made = client_->Create(path, action.body, warnings);
  if (made.ok()) return cache.Assume(*made).status();
  if (!k8s::IsNameTaken(made.status())) return made.status();
  // By us before a crash, or with the answer lost; or by somebody else.
  const StatusOr<std::string> there =
      client_->Get(k8s::ObjectPath(group_version, job.namespace_, plural, action.name));
  if (absl::IsNotFound(there.status()))
    return Aborted(plural, " ", action.name, " has just gone, trying again");
  TFLEET_RETURN_IF_ERROR(there.status());
  // Ours, yet not seen: whoever took the labels away by which we watch took it out of our sight,
  // and it would be asked for again and again.
  if (const auto patch = LabelsToRestore(job, action, *there)) {
    return Patch(cache, job, group_version, plural, *patch);
  }
  TFLEET_ASSIGN_OR_RETURN(const auto held, cache.Assume(*there));
  if (held == nullptr) return Aborted(plural, " ", action.name, " is going away, trying again");
  if (!held->meta.IsControlledBy(job.uid)) {
    return AlreadyExists(plural, " \"", action.name,
                         "\" already exists and belongs to another owner");
  }
  if (held->meta.is_terminating()) {
    return Aborted(plural, " \"", action.name, "\" is still being deleted");
  }
  return OkStatus();
}

template <typename Cache>
Status Applier::Delete(Cache& cache, const api::TFJob& job, absl::string_view group_version,
                       absl::string_view plural, const plan::Action& action) {
  k8s::DeleteOptions options;
  options.uid = action.uid;
  options.resource_version = action.resource_version;
  if (action.force) options.grace_seconds = 0;
  const std::string path = k8s::ObjectPath(group_version, job.namespace_, plural, action.name);
  const StatusOr<std::string> answer = client_->Delete(path, options);
  if (k8s::IsConflict(answer.status()) && !action.resource_version.empty()) {
    // Another object of that name, or ours has changed: then it is looked at again as it is now.
    const StatusOr<std::string> fresh = client_->Get(path);
    if (!fresh.ok() && !absl::IsNotFound(fresh.status())) return fresh.status();
    if (fresh.ok()) {
      TFLEET_ASSIGN_OR_RETURN(const auto held, cache.Assume(*fresh));
      if (held != nullptr && UidOf(*held) == action.uid) return answer.status();
    }
    cache.AssumeDeleted(job.namespace_, action.name, action.uid);
    return OkStatus();
  }
  // Another object of that name, or none: ours is gone.
  const bool gone = absl::IsNotFound(answer.status()) || k8s::IsConflict(answer.status());
  if (!answer.ok() && !gone) return answer.status();
  if (answer.ok() && LivesOn(json::parse(*answer, nullptr, false)))
    return cache.Assume(*answer).status();
  cache.AssumeDeleted(job.namespace_, action.name, action.uid);
  return OkStatus();
}

template <typename Cache>
Status Applier::Patch(Cache& cache, const api::TFJob& job, absl::string_view group_version,
                      absl::string_view plural, const plan::Action& action) {
  json patch = json::parse(action.body, nullptr, false);
  if (!patch.is_object())
    return Internal("patch of ", plural, " ", action.name, " is not an object");
  if (!action.uid.empty()) patch["metadata"]["uid"] = action.uid;
  TFLEET_ASSIGN_OR_RETURN(
      const std::string changed,
      client_->MergePatch(k8s::ObjectPath(group_version, job.namespace_, plural, action.name),
                          patch.dump()));
  return cache.Assume(changed).status();
}

Status Applier::Apply(const api::TFJob& job, const plan::Action& action,
                      std::vector<std::string>* warnings) {
  switch (action.kind) {
    case ActionKind::kCreatePod:
      return Create(informers_->pods(), job, "v1", "pods", action, warnings);
    case ActionKind::kDeletePod:
      return Delete(informers_->pods(), job, "v1", "pods", action);
    case ActionKind::kCreateService:
      return Create(informers_->services(), job, "v1", "services", action, warnings);
    case ActionKind::kDeleteService:
      return Delete(informers_->services(), job, "v1", "services", action);
    case ActionKind::kAdoptPod:
      return Patch(informers_->pods(), job, "v1", "pods", action);
    case ActionKind::kAdoptService:
      return Patch(informers_->services(), job, "v1", "services", action);
    case ActionKind::kCreatePodGroup:
      return Create(informers_->pod_groups(), job, pod_group_api_version_, "podgroups", action,
                    warnings);
    case ActionKind::kUpdatePodGroup:
      return Patch(informers_->pod_groups(), job, pod_group_api_version_, "podgroups", action);
    case ActionKind::kDeletePodGroup:
      return Delete(informers_->pod_groups(), job, pod_group_api_version_, "podgroups", action);
    case ActionKind::kDeleteJob:
      return Delete(informers_->jobs(), job, api::kApiVersion, api::kPlural, action);
  }
  return Internal("unknown action");
}

Status Applier::WriteStatus(const api::TFJob& job, const api::TFJobStatus& status) {
  const std::string path =
      k8s::ObjectPath(api::kApiVersion, job.namespace_, api::kPlural, job.name);
  // The status subresource takes nothing but status from what it is given, and an update costs the
  // API server two thirds of what a patch does.
  const json body = {{"apiVersion", api::kApiVersion},
                     {"kind", api::kKind},
                     {"metadata",
                      {{"name", job.name},
                       {"namespace", job.namespace_},
                       {"uid", job.uid},
                       {"resourceVersion", job.resource_version}}},
                     {"status", api::ToJson(status)}};
  const StatusOr<std::string> written = client_->Replace(path + "/status", api::Dump(body));
  if (written.ok()) return informers_->jobs().Assume(*written).status();
  if (absl::IsNotFound(written.status())) return OkStatus();
  if (k8s::IsConflict(written.status())) {
    // Our view was old. The watch will bring the new one, but why wait.
    if (const StatusOr<std::string> fresh = client_->Get(path); fresh.ok()) {
      TFLEET_RETURN_IF_ERROR(informers_->jobs().Assume(*fresh).status());
    }
  }
  return written.status();
}

}  // namespace tensorfleet::controller
