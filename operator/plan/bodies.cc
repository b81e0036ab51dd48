#include "operator/plan/bodies.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/plan/gang.h"

namespace tensorfleet::plan {
namespace {

using api::Json;
using api::ReplicaId;
using api::ReplicaSpec;
using api::ReplicaType;
using api::TFJob;

// Of a template that came through validation; anything else gives an empty object.
Json ReadTemplate(const TFJob& job, ReplicaType type) {
  const ReplicaSpec* spec = job.spec.Find(type);
  if (spec == nullptr) return Json::object();
  Json json = Json::parse(spec->template_json, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

Json ObjectOrEmpty(const Json& object, const char* key) {
  const Json* member = api::ObjectMember(object, key);
  return member == nullptr ? Json::object() : *member;
}

Json* FindContainer(Json& spec) {
  if (!spec.contains("containers") || !spec["containers"].is_array()) return nullptr;
  for (Json& container : spec["containers"]) {
    if (api::StringMember(container, "name") == api::kContainerName) return &container;
  }
  return nullptr;
}

bool HasJobPort(const Json& container) {
  for (const Json& port : api::ArrayMember(container, "ports")) {
    if (api::StringMember(port, "name") == api::kPortName) return true;
  }
  return false;
}

// The kubelet restarts in place what the pod says; ExitCode is decided here, one pod at a time.
absl::string_view PodRestartPolicy(api::RestartPolicy policy) {
  return policy == api::RestartPolicy::kExitCode ? "Never" : api::RestartPolicyName(policy);
}

std::string Text(absl::string_view view) { return std::string(view); }

}  // namespace

Json OwnerReferences(const TFJob& job) {
  return Json::array({{{"apiVersion", api::kApiVersion},
                       {"kind", api::kKind},
                       {"name", job.name},
                       {"uid", job.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

Json ReplicaLabels(const TFJob& job, ReplicaId replica) {
  return {{api::kOperatorNameLabel, api::kControllerName},
          {api::kJobNameLabel, job.name},
          {api::kReplicaTypeLabel, Text(api::LowerName(replica.type))},
          {api::kReplicaIndexLabel, absl::StrCat(replica.index)}};
}

bool IsMaster(const TFJob& job, ReplicaId replica) {
  const bool has_chief = job.spec.Find(ReplicaType::kChief) != nullptr ||
                         job.spec.Find(ReplicaType::kMaster) != nullptr;
  if (!has_chief) return replica == ReplicaId{ReplicaType::kWorker, 0};
  return replica.type == ReplicaType::kChief || replica.type == ReplicaType::kMaster;
}

PodMaker::PodMaker(const TFJob& job, ReplicaType type, const Options& options)
    : job_(job), type_(type), options_(options), tf_config_(job, options.cluster_domain) {
  const Json pod_template = ReadTemplate(job, type);
  const Json template_metadata = ObjectOrEmpty(pod_template, "metadata");
  Json metadata = {{"namespace", job.namespace_}, {"ownerReferences", OwnerReferences(job)}};
  metadata["labels"] = ObjectOrEmpty(template_metadata, "labels");
  metadata["annotations"] = ObjectOrEmpty(template_metadata, "annotations");
  if (const Json& finalizers = api::ArrayMember(template_metadata, "finalizers");
      !finalizers.empty()) {
    metadata["finalizers"] = finalizers;
  }
  pod_ = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  pod_["metadata"] = std::move(metadata);
  pod_["spec"] = ObjectOrEmpty(pod_template, "spec");
  const ReplicaSpec* spec = job.spec.Find(type);
  pod_["spec"]["restartPolicy"] =
      Text(PodRestartPolicy(spec == nullptr ? api::RestartPolicy::kNever : spec->restart_policy));
  MarkForGang();
  PrepareContainer();
}

void PodMaker::PrepareContainer() {
  container_ = FindContainer(pod_["spec"]);
  if (container_ == nullptr) return;
  Json& container = *container_;
  for (const char* list : {"ports", "env"}) {
    if (!container.contains(list) || !container[list].is_array()) container[list] = Json::array();
  }
  if (!HasJobPort(container)) {
    container["ports"].push_back({{"name", api::kPortName}, {"containerPort", api::kPort}});
  }
  env_size_ = container["env"].size();
}

void PodMaker::MarkForGang() {
  if (options_.gang_scheduler_name.empty()) return;
  Json& scheduler = pod_["spec"]["schedulerName"];
  if (!scheduler.is_string() || scheduler.get_ref<const std::string&>().empty()) {
    scheduler = GangSchedulerName(options_);
  }
  Json& metadata = pod_["metadata"];
  if (IsVolcano(options_)) {
    metadata["annotations"][api::kVolcanoGroupAnnotation] = job_.name;
    metadata["annotations"][api::kVolcanoTaskAnnotation] = Text(api::LowerName(type_));
  } else {
    metadata["labels"][api::kPodGroupLabel] = job_.name;
  }
}

std::string PodMaker::Make(int index, int attempt, int job_attempt) {
  const ReplicaId replica = {type_, index};
  Json& metadata = pod_["metadata"];
  metadata["name"] = api::ReplicaName(job_.name, replica);
  Json& labels = metadata["labels"];
  labels.update(ReplicaLabels(job_, replica));
  labels.erase(api::kJobRoleLabel);
  if (IsMaster(job_, replica)) labels[api::kJobRoleLabel] = api::kJobRoleMaster;
  Json& annotations = metadata["annotations"];
  annotations.erase(api::kAttemptAnnotation);
  annotations.erase(api::kJobAttemptAnnotation);
  if (attempt > 0) annotations[api::kAttemptAnnotation] = absl::StrCat(attempt);
  if (job_attempt > 0) annotations[api::kJobAttemptAnnotation] = absl::StrCat(job_attempt);
  if (container_ != nullptr) {
    Json::array_t& env = (*container_)["env"].get_ref<Json::array_t&>();
    env.resize(env_size_);
    if (auto config = tf_config_.For(replica)) {
      env.push_back({{"name", api::kTfConfigEnv}, {"value", *config}});
    }
  }
  return api::Dump(pod_);
}

std::string ServiceBody(const TFJob& job, ReplicaId replica, const Options& options) {
  Json ports = Json::array();
  Json pod_template = ReadTemplate(job, replica.type);
  Json spec_json = ObjectOrEmpty(pod_template, "spec");
  const Json* container = FindContainer(spec_json);
  const Json empty = Json::object();
  for (const Json& port : api::ArrayMember(container == nullptr ? empty : *container, "ports")) {
    const auto number = api::IntMember(port, "containerPort", 1, 65535);
    if (!number) continue;
    Json entry = {{"port", *number}};
    // A service with several ports must name each; a container need not.
    const std::string name = api::StringMember(port, "name");
    entry["name"] = name.empty() ? absl::StrCat("port-", *number) : name;
    const std::string protocol = api::StringMember(port, "protocol");
    if (!protocol.empty()) entry["protocol"] = protocol;
    if (name.empty() && !protocol.empty() && protocol != "TCP") {
      entry["name"] = absl::StrCat("port-", *number, "-", absl::AsciiStrToLower(protocol));
    }
    ports.push_back(std::move(entry));
  }
  if (container == nullptr || !HasJobPort(*container)) {
    ports.push_back({{"name", api::kPortName}, {"port", api::kPort}});
  }
  const Json labels = ReplicaLabels(job, replica);
  Json spec = {{"clusterIP", "None"}, {"selector", labels}, {"ports", std::move(ports)}};
  if (options.publish_not_ready_addresses) spec["publishNotReadyAddresses"] = true;
  const Json service = {{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata",
                         {{"name", api::ReplicaName(job.name, replica)},
                          {"namespace", job.namespace_},
                          {"labels", labels},
                          {"ownerReferences", OwnerReferences(job)}}},
                        {"spec", std::move(spec)}};
  return api::Dump(service);
}

}  // namespace tensorfleet::plan
