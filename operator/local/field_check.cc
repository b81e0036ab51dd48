#include "operator/local/field_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/fields/json_fields.h"
#include "operator/api/fields/pod_fields.h"
#include "operator/api/fields/schema.h"
#include "operator/local/volumes.h"

namespace tensorfleet::local {
namespace {

using api::FieldError;
using api::Json;
using Names = std::vector<const char*>;

const Names kJob = {"apiVersion", "kind", "metadata", "spec", "status"};
const Names kTemplate = {"metadata", "spec"};
const Names kPod = {"containers", "initContainers", "volumes", "restartPolicy",
                    "terminationGracePeriodSeconds"};
const Names kContainer = {"name",    "image", "command",    "args",         "env",
                          "envFrom", "ports", "workingDir", "volumeMounts", "imagePullPolicy"};
const Names kMount = {"name", "mountPath", "subPath", "readOnly"};
// Known to a cluster, but of what nothing may be left out here.
const Names kMountRefused = {"subPathExpr"};

const Names kPodRefused = {"ephemeralContainers"};
const Names kContainerRefused = {"restartPolicy", "restartPolicyRules"};

bool IsIn(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Checker {
 public:
  explicit Checker(const Given& given) : given_(given) {}

  FieldFindings Run(const Json& job) {
    Known(job, "", kJob);
    const Json* spec = api::ObjectMember(job, "spec");
    if (spec == nullptr) return std::move(found_);
    KnownTo(api::SpecSchema(), *spec, "spec");
    if (const Json* policy = api::ObjectMember(*spec, "runPolicy")) RunPolicy(*policy);
    if (const Json* specs = api::ObjectMember(*spec, "tfReplicaSpecs")) {
      for (const auto& [type, replica] : specs->items()) Replica(type, replica);
    }
    found_.without_effect.assign(without_effect_.begin(), without_effect_.end());
    return std::move(found_);
  }

 private:
  void Refuse(FieldError error) { found_.errors.push_back(std::move(error)); }

  void Known(const Json& object, const std::string& path, const Names& known) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
      if (IsIn(known, key)) continue;
      Refuse({path.empty() ? key : absl::StrCat(path, ".", key), "unknown field"});
    }
  }

  // Likewise of an object of a pod. What a cluster knows beyond `known` has no effect here, and is
  // named in a notice by its `short_path`; what is `refused` would change what is computed.
  void KnownToPods(absl::string_view type, const Json& object, const std::string& path,
                   const Names& known, const std::string& short_path, const Names& refused = {}) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
      if (IsIn(known, key)) continue;
      if (api::HasPodField(type, key) && !IsIn(refused, key)) {
        without_effect_.insert(absl::StrCat(short_path, ".", key));
        continue;
      }
      Refuse({absl::StrCat(path, ".", key),
              api::HasPodField(type, key) ? "is not supported by a local run" : "unknown field"});
    }
  }

  // By the schema of the resource, but for pod templates: what a cluster takes there is another
  // matter than what has a meaning here.
  void KnownTo(const api::OrderedJson& schema, const Json& json, const std::string& path) {
    if (const auto items = schema.find("items"); items != schema.end() && json.is_array()) {
      for (size_t i = 0; i < json.size(); ++i) {
        KnownTo(*items, json[i], absl::StrCat(path, "[", i, "]"));
      }
    }
    if (!json.is_object()) return;
    const auto any = schema.find("additionalProperties");
    const auto known = schema.find("properties");
    for (const auto& [key, value] : json.items()) {
      if (any != schema.end()) {
        KnownTo(*any, value, absl::StrCat(path, "[", key, "]"));
      } else if (known != schema.end() && !known->contains(key)) {
        Refuse({absl::StrCat(path, ".", key), "unknown field"});
      } else if (known != schema.end() && key != "template") {
        KnownTo((*known)[key], value, absl::StrCat(path, ".", key));
      }
    }
  }

  void RunPolicy(const Json& policy) {
    if (api::BoolMember(policy, "suspend")) {
      Refuse(api::Forbidden("spec.runPolicy.suspend",
                            "a suspended job would never start; --set runPolicy.suspend=false"));
    }
    if (api::Member(policy, "schedulingPolicy") != nullptr) {
      without_effect_.insert("runPolicy.schedulingPolicy");
    }
    const std::string managed_by = api::StringMember(policy, "managedBy");
    if (!managed_by.empty() && managed_by != "kubeflow.org/training-operator") {
      Refuse(api::Forbidden("spec.runPolicy.managedBy",
                            "the job is for another controller; "
                            "--set runPolicy.managedBy=kubeflow.org/training-operator"));
    }
  }

  void Replica(const std::string& type, const Json& replica) {
    const std::string path = absl::StrCat("spec.tfReplicaSpecs[", type, "]");
    const Json* pod_template = api::ObjectMember(replica, "template");
    if (pod_template == nullptr) return;
    Known(*pod_template, path + ".template", kTemplate);
    const Json* pod = api::ObjectMember(*pod_template, "spec");
    if (pod == nullptr) return;
    const std::string pod_path = path + ".template.spec";
    KnownToPods("Pod", *pod, pod_path, kPod, "template.spec", kPodRefused);
    const Json& volumes = api::ArrayMember(*pod, "volumes");
    for (size_t i = 0; i < volumes.size(); ++i) {
      const Status folder = FolderFor(volumes[i], given_.volumes);
      if (folder.ok()) continue;
      Refuse(api::Forbidden(absl::StrCat(pod_path, ".volumes[", i, "]"), folder.message()));
    }
    for (const char* list : {"initContainers", "containers"}) {
      const Json& containers = api::ArrayMember(*pod, list);
      for (size_t i = 0; i < containers.size(); ++i) {
        Container(containers[i], absl::StrCat(pod_path, ".", list, "[", i, "]"), list);
      }
    }
  }

  void Container(const Json& container, const std::string& path, const std::string& list) {
    if (!container.is_object()) return;
    const std::string short_path = "template.spec." + list;
    Json others = container;
    if (list == "initContainers" && api::StringMember(container, "restartPolicy") == "Always") {
      Refuse(api::Forbidden(path + ".restartPolicy",
                            "sidecars among initContainers are not supported by a local run; "
                            "put it among containers"));
    }
    if (list == "initContainers") others.erase("restartPolicy");
    KnownToPods("Container", others, path, kContainer, short_path, kContainerRefused);
    Mounts(container, path);
    Variables(container, path);
  }

  void Mounts(const Json& container, const std::string& path) {
    const Json& mounts = api::ArrayMember(container, "volumeMounts");
    for (size_t i = 0; i < mounts.size(); ++i) {
      const std::string mount_path = absl::StrCat(path, ".volumeMounts[", i, "]");
      KnownToPods("VolumeMount", mounts[i], mount_path, kMount, "volumeMounts", kMountRefused);
      const std::string at = api::StringMember(mounts[i], "mountPath");
      if (at.empty() || at[0] != '/' || at == "/") {
        Refuse(api::Invalid(mount_path + ".mountPath", api::Dump(at),
                            "must be an absolute path below /"));
      }
      const std::string below = api::StringMember(mounts[i], "subPath");
      if (below.find("..") != std::string::npos || (!below.empty() && below[0] == '/')) {
        Refuse(api::Invalid(mount_path + ".subPath", api::Dump(below),
                            "must be a relative path without '..'"));
      }
    }
  }

  void Variables(const Json& container, const std::string& path) {
    const Json& variables = api::ArrayMember(container, "env");
    for (size_t i = 0; i < variables.size(); ++i) {
      const Json* from = api::ObjectMember(variables[i], "valueFrom");
      const std::string name = api::StringMember(variables[i], "name");
      if (from == nullptr || given_.variables.count(name) > 0) continue;
      for (const auto& [kind, source] : from->items()) {
        if (kind == "fieldRef" || api::BoolMember(source, "optional")) continue;
        Refuse(api::Forbidden(
            absl::StrCat(path, ".env[", i, "].valueFrom.", kind),
            absl::StrCat("there is no cluster to read it from; --env ", name, "=VALUE")));
      }
    }
    const Json& sources = api::ArrayMember(container, "envFrom");
    for (size_t i = 0; i < sources.size(); ++i) {
      for (const char* kind : {"configMapRef", "secretRef"}) {
        const Json* source = api::ObjectMember(sources[i], kind);
        if (source == nullptr || api::BoolMember(*source, "optional")) continue;
        Refuse(api::Forbidden(absl::StrCat(path, ".envFrom[", i, "].", kind),
                              "there is no cluster to read it from; give its variables by "
                              "--env NAME=VALUE and remove it, or mark it optional"));
      }
    }
  }

  const Given& given_;
  FieldFindings found_;
  std::set<std::string> without_effect_;
};

}  // namespace

FieldFindings CheckFields(const nlohmann::json& job, const Given& given) {
  return Checker(given).Run(job);
}

}  // namespace tensorfleet::local
