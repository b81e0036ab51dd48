#include "operator/api/fields/pod_fields.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "operator/api/fields/json_fields.h"

namespace tensorfleet::api {
namespace {

// Field names by blanks. "a=Type" is an object of that type or a list of them; anything may be
// below a field without a type.
struct TypeText {
  const char* type;
  const char* fields;
};

constexpr TypeText kTypes[] = {
    {"Template", "metadata=TemplateMeta spec=Pod"},
    {"TemplateMeta",
     "name generateName namespace labels annotations finalizers creationTimestamp ownerReferences "
     "uid resourceVersion generation selfLink deletionTimestamp deletionGracePeriodSeconds "
     "managedFields"},
    {"Pod",
     "activeDeadlineSeconds affinity=Affinity automountServiceAccountToken containers=Container "
     "dnsConfig=DnsConfig dnsPolicy enableServiceLinks ephemeralContainers hostAliases=HostAlias "
     "hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets=Reference "
     "initContainers=Container nodeName nodeSelector os overhead preemptionPolicy priority "
     "priorityClassName readinessGates resourceClaims resources=Resources restartPolicy "
     "runtimeClassName schedulerName schedulingGates securityContext=PodSecurity serviceAccount "
     "serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain "
     "terminationGracePeriodSeconds tolerations=Toleration topologySpreadConstraints=Spread "
     "volumes=Volume"},
    {"Container",
     "args command env=EnvVar envFrom=EnvSource image imagePullPolicy lifecycle=Lifecycle "
     "livenessProbe=Probe name ports=Port readinessProbe=Probe resizePolicy resources=Resources "
     "restartPolicy restartPolicyRules securityContext=Security startupProbe=Probe stdin stdinOnce "
     "terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts=VolumeMount "
     "workingDir"},
    {"EnvVar", "name value valueFrom=ValueFrom"},
    {"ValueFrom", "configMapKeyRef fieldRef fileKeyRef resourceFieldRef secretKeyRef"},
    {"EnvSource", "configMapRef prefix secretRef"},
    {"Port", "containerPort hostIP hostPort name protocol"},
    {"Resources", "claims limits requests"},
    {"Lifecycle", "postStart preStop stopSignal"},
    {"Probe",
     "exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold "
     "tcpSocket terminationGracePeriodSeconds timeoutSeconds"},
    {"Security",
     "allowPrivilegeEscalation appArmorProfile capabilities privileged procMount "
     "readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions seccompProfile "
     "windowsOptions"},
    {"PodSecurity",
     "appArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser "
     "seLinuxChangePolicy seLinuxOptions seccompProfile supplementalGroups "
     "supplementalGroupsPolicy sysctls windowsOptions"},
    {"VolumeMount",
     "mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr"},
    {"Volume",
     "awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI "
     "emptyDir=EmptyDir ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs "
     "hostPath=HostPath image iscsi name nfs=Nfs persistentVolumeClaim=Claim photonPersistentDisk "
     "portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume"},
    {"EmptyDir", "medium sizeLimit"},
    {"HostPath", "path type"},
    {"Nfs", "path readOnly server"},
    {"Claim", "claimName readOnly"},
    {"Reference", "name"},
    {"Toleration", "effect key operator tolerationSeconds value"},
    {"Spread",
     "labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy "
     "topologyKey whenUnsatisfiable"},
    {"Affinity", "nodeAffinity=Preference podAffinity=Preference podAntiAffinity=Preference"},
    {"Preference",
     "preferredDuringSchedulingIgnoredDuringExecution "
     "requiredDuringSchedulingIgnoredDuringExecution"},
    {"DnsConfig", "nameservers options searches"},
    {"HostAlias", "hostnames ip"},
};

using Fields = std::map<std::string, std::string, std::less<>>;  // name: type, or ""
using Table = std::map<std::string, Fields, std::less<>>;

const Table& Types() {
  static const auto* const table = [] {
    auto* made = new Table;
    for (const TypeText& text : kTypes) {
      for (const absl::string_view word : absl::StrSplit(text.fields, ' ')) {
        const std::pair<std::string, std::string> parts =
            absl::StrSplit(word, absl::MaxSplits('=', 1));
        (*made)[text.type][parts.first] = parts.second;
      }
    }
    return made;
  }();
  return *table;
}

// How many letters must be added, left out, replaced or exchanged with their neighbours to come
// from `a` to `b`.
int Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// The field that was probably meant; empty when none is near.
std::string Nearest(const Fields& known, absl::string_view name) {
  constexpr size_t kLongest = 64;  // of a field's name
  if (name.size() > kLongest) return "";
  std::string best;
  // One letter in three, two at most; letter case and a plural count for nothing.
  int limit = std::min<int>(2, static_cast<int>(name.size()) / 3);
  for (const auto& [field, type] : known) {
    if (absl::EqualsIgnoreCase(field, name)) return field;
    const int distance = Distance(field, name);
    if (distance > limit) continue;
    limit = distance - 1;
    best = field;
  }
  return best;
}

// Where else a field of that name belongs.
std::string OwnerOf(absl::string_view name) {
  for (const char* type : {"Pod", "Container", "Template"}) {
    if (Types().find(type)->second.contains(name)) {
      return type[0] == 'C' ? "a container" : type[0] == 'P' ? "the pod's spec" : "the template";
    }
  }
  return "";
}

void Check(absl::string_view type, const Json& value, const std::string& path,
           UnknownFields& found) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      Check(type, value[i], absl::StrCat(path, "[", i, "]"), found);
    }
    return;
  }
  if (!value.is_object()) return;
  const Fields& known = Types().find(type)->second;
  for (const auto& [key, member] : value.items()) {
    const std::string below = absl::StrCat(path, ".", key);
    const auto field = known.find(key);
    if (field != known.end()) {
      if (!field->second.empty()) Check(field->second, member, below, found);
      continue;
    }
    if (const std::string meant = Nearest(known, key); !meant.empty()) {
      found.mistakes.push_back(
          {below, absl::StrCat("unknown field; did you mean \"", meant, "\"?")});
    } else if (const std::string owner = OwnerOf(key); !owner.empty()) {
      found.mistakes.push_back({below, absl::StrCat("unknown field; it belongs to ", owner)});
    } else {
      found.doubtful.push_back({below, "unknown field"});
    }
  }
}

}  // namespace

bool HasPodField(absl::string_view type, absl::string_view field) {
  const auto fields = Types().find(type);
  return fields != Types().end() && fields->second.contains(field);
}

UnknownFields FindUnknownFields(const nlohmann::json& job) {
  UnknownFields found;
  const Json* spec = ObjectMember(job, "spec");
  const Json* replicas = spec == nullptr ? nullptr : ObjectMember(*spec, "tfReplicaSpecs");
  if (replicas == nullptr) return found;
  for (const auto& [type, replica] : replicas->items()) {
    const Json* pod_template = ObjectMember(replica, "template");
    if (pod_template == nullptr) continue;
    Check("Template", *pod_template, absl::StrCat("spec.tfReplicaSpecs[", type, "].template"),
          found);
  }
  return found;
}

}  // namespace tensorfleet::api
