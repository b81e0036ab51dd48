#include "operator/main/self_check.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "operator/api/objects/labels.h"
#include "operator/k8s/rate_limiter.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

// The schema takes any container's name; only the webhook asks for this one.
std::string JobWithContainer(const std::string& ns, const char* container) {
  const json containers = json::array({{{"name", container}, {"image", "self-check"}}});
  const json worker = {{"replicas", 1}, {"template", {{"spec", {{"containers", containers}}}}}};
  const json job = {
      {"apiVersion", api::kApiVersion},
      {"kind", api::kKind},
      {"metadata", {{"name", "self-check"}, {"namespace", ns}}},
      {"spec", {{"runPolicy", json::object()}, {"tfReplicaSpecs", {{"Worker", worker}}}}}};
  return job.dump();
}

}  // namespace

Status SelfCheck(k8s::Client& client, const std::string& ns, bool webhook) {
  const std::string path = k8s::CollectionPath(api::kApiVersion, ns, api::kPlural) + "?dryRun=All";
  const Status good = client.Create(path, JobWithContainer(ns, api::kContainerName)).status();
  if (absl::IsNotFound(good)) {
    return FailedPrecondition("the API server knows no TFJobs, or there is no namespace ", ns,
                              ": install deploy/crd (", good.message(), ")");
  }
  // A name that is taken got past admission, which is what was asked.
  if (!good.ok() && !k8s::IsNameTaken(good)) {
    return Prefixed("a good TFJob was not taken: ", good);
  }
  if (!webhook) return OkStatus();
  const Status bad = client.Create(path, JobWithContainer(ns, "other")).status();
  if (bad.ok()) {
    return FailedPrecondition(
        "a TFJob without a container named ", api::kContainerName,
        " was taken: no ValidatingWebhookConfiguration sends TFJobs of namespace ", ns,
        " to the operator");
  }
  const bool by_webhook = absl::StrContains(bad.message(), "admission webhook") &&
                          absl::StrContains(bad.message(), "at least one container with name");
  return by_webhook ? OkStatus()
                    : Prefixed("a bad TFJob was refused, but not by the operator's webhook: ", bad);
}

Status SelfCheckWithin(k8s::Client& client, const std::string& ns, bool webhook,
                       std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const Status checked = SelfCheck(client, ns, webhook);
    if (checked.ok() || std::chrono::steady_clock::now() >= end) return checked;
    TFLEET_RETURN_IF_ERROR(k8s::SleepFor(std::chrono::seconds(1), client.cancel()));
  }
}

}  // namespace tensorfleet::operator_main
