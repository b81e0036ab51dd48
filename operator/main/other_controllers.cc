#include "operator/main/other_controllers.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "operator/k8s/leader_lease.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

// A holder that has been silent for so long is not one whose clock goes wrong.
constexpr absl::Duration kLongAgo = absl::Minutes(10);

const json& At(const json& object, std::initializer_list<const char*> keys) {
  static const json nothing;
  const json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object()) return nothing;
    const auto it = at->find(key);
    if (it == at->end()) return nothing;
    at = &*it;
  }
  return *at;
}

std::string Text(const json& object, std::initializer_list<const char*> keys) {
  const json& found = At(object, keys);
  return found.is_string() ? found.get<std::string>() : "";
}

int64_t Number(const json& object, std::initializer_list<const char*> keys, int64_t otherwise) {
  const json& found = At(object, keys);
  return found.is_number_integer() ? found.get<int64_t>() : otherwise;
}

std::string NameOf(const json& object) {
  return absl::StrCat(Text(object, {"metadata", "namespace"}), "/",
                      Text(object, {"metadata", "name"}));
}

// The values of the flag `name` in a command line, as --name=value, -name value and so on.
std::vector<std::string> ValuesOf(const std::vector<std::string>& words, absl::string_view name) {
  std::vector<std::string> values;
  for (size_t i = 0; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (!absl::ConsumePrefix(&word, "-")) continue;
    absl::ConsumePrefix(&word, "-");
    if (word == name) {
      if (i + 1 < words.size()) values.push_back(words[i + 1]);
    } else if (absl::ConsumePrefix(&word, name) && absl::ConsumePrefix(&word, "=")) {
      values.emplace_back(word);
    }
  }
  return values;
}

std::vector<std::string> WordsOf(const json& container) {
  std::vector<std::string> words;
  for (const char* key : {"command", "args"}) {
    const json& list = At(container, {key});
    if (!list.is_array()) continue;
    for (const json& word : list) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
  }
  return words;
}

// What is being stopped counts until its pods are gone.
bool IsRunning(const json& deployment) {
  return Number(deployment, {"spec", "replicas"}, 1) > 0 ||
         Number(deployment, {"status", "replicas"}, 0) > 0;
}

bool Overlap(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

bool ContainerReconciles(const json& container, const std::string& ns) {
  const std::vector<std::string> words = WordsOf(container);
  bool ours = false, any = false;
  for (const std::string& value : ValuesOf(words, "enable-scheme")) {
    for (const auto scheme : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
      any = true;
      ours |= absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(scheme), "tfjob");
    }
  }
  if (any && !ours) return false;
  std::string watched;
  const json& env = At(container, {"env"});
  if (env.is_array()) {
    for (const json& one : env) {
      if (Text(one, {"name"}) == "KUBEFLOW_NAMESPACE") watched = Text(one, {"value"});
    }
  }
  for (const std::string& value : ValuesOf(words, "namespace")) watched = value;
  return Overlap(watched, ns);
}

}  // namespace

bool ReconcilesTFJobs(const json& deployment, const std::string& ns) {
  if (!IsRunning(deployment)) return false;
  const json& containers = At(deployment, {"spec", "template", "spec", "containers"});
  if (!containers.is_array()) return false;
  for (const json& container : containers) {
    // Sidecars, such as a mesh's, reconcile nothing.
    const bool is_it = containers.size() == 1 ||
                       absl::StrContains(Text(container, {"name"}), "training-operator") ||
                       absl::StrContains(Text(container, {"image"}), "training-operator");
    if (is_it && ContainerReconciles(container, ns)) return true;
  }
  return false;
}

OtherControllers::OtherControllers(k8s::Client* client, const Clock* clock,
                                   OtherControllersOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {}

StatusOr<std::string> OtherControllers::FindDeployment() {
  const std::string all = k8s::CollectionPath("apps/v1", options_.ns, "deployments");
  const std::string selected =
      absl::StrCat(all, "?labelSelector=", k8s::QueryEscape(kReferenceSelector));
  TFLEET_ASSIGN_OR_RETURN(const std::string text, client_->Get(selected));
  const json list = json::parse(text, nullptr, false);
  const json& items = At(list, {"items"});
  if (!items.is_array()) return DataLoss("the list of deployments cannot be read");
  harmless_.clear();
  for (const json& item : items) {
    if (ReconcilesTFJobs(item, options_.ns)) return absl::StrCat("deployment ", NameOf(item));
    if (IsRunning(item)) harmless_.insert(Text(item, {"metadata", "namespace"}));
  }
  return "";
}

bool OtherControllers::IsAlive(const std::string& name, const json& lease) {
  const std::string holder = Text(lease, {"spec", "holderIdentity"});
  const std::string renewed = Text(lease, {"spec", "renewTime"});
  if (holder.empty()) return false;
  absl::Time when;
  if (absl::ParseTime(absl::RFC3339_full, renewed, &when, nullptr) &&
      absl::FromUnixNanos(clock_->NowUnixNanos()) - when > kLongAgo) {
    return false;
  }
  const int64_t seconds =
      std::clamp<int64_t>(Number(lease, {"spec", "leaseDurationSeconds"}, 15), 1, 600);
  const std::string record = absl::StrCat(holder, "|", renewed);
  const auto now = clock_->NowSteady();
  Seen& seen = seen_[name];
  if (seen.record != record) seen = {record, now};
  return now - seen.at < std::chrono::seconds(seconds);
}

StatusOr<std::string> OtherControllers::FindLease() {
  const std::string all = k8s::CollectionPath("coordination.k8s.io/v1", options_.ns, "leases");
  const std::string queries[] = {
      absl::StrCat("?fieldSelector=", k8s::QueryEscape("metadata.name="), kReferenceLease),
      absl::StrCat("?labelSelector=", k8s::QueryEscape(k8s::kLeaseLabel))};
  for (const std::string& query : queries) {
    TFLEET_ASSIGN_OR_RETURN(const std::string text, client_->Get(all + query));
    const json list = json::parse(text, nullptr, false);
    const json& items = At(list, {"items"});
    if (!items.is_array()) return DataLoss("the list of leases cannot be read");
    for (const json& lease : items) {
      const std::string ns = Text(lease, {"metadata", "namespace"});
      const std::string name = Text(lease, {"metadata", "name"});
      if (ns == options_.own_lease_namespace && name == options_.own_lease_name) continue;
      const bool is_ours = !Text(lease, {"metadata", "labels", k8s::kLeaseLabel}).empty();
      if (name != kReferenceLease && !is_ours) continue;
      if (!is_ours && harmless_.contains(ns)) continue;
      if (is_ours &&
          !Overlap(Text(lease, {"metadata", "annotations", k8s::kLeaseScope}), options_.ns)) {
        continue;
      }
      if (!IsAlive(ns + "/" + name, lease)) continue;
      return absl::StrCat("the holder of lease ", ns, "/", name, ", ",
                          Text(lease, {"spec", "holderIdentity"}));
    }
  }
  return "";
}

StatusOr<std::string> OtherControllers::Find() {
  TFLEET_ASSIGN_OR_RETURN(const std::string deployment, FindDeployment());
  if (!deployment.empty()) return deployment;
  return FindLease();
}

}  // namespace tensorfleet::operator_main
