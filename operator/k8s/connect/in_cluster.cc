#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "operator/k8s/connect/cluster_config.h"

namespace tensorfleet::k8s {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("cannot read ", path);
  return text.str();
}

}  // namespace

StatusOr<ClusterConfig> InClusterConfig(const Clock* clock, const std::string& folder) {
  const std::string host = Env("KUBERNETES_SERVICE_HOST");
  const std::string port = Env("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return NotFound(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClusterConfig config;
  config.server = absl::StrContains(host, ":") ? absl::StrCat("https://[", host, "]:", port)
                                               : absl::StrCat("https://", host, ":", port);
  TFLEET_ASSIGN_OR_RETURN(config.tls.ca_pem, ReadFile(folder + "/ca.crt"));
  config.credentials = TokenFile(folder + "/token", clock);
  if (StatusOr<Credential> first = config.credentials->Get(); !first.ok()) return first.status();
  if (StatusOr<std::string> name = ReadFile(folder + "/namespace"); name.ok())
    config.namespace_ = *name;
  return config;
}

StatusOr<ClusterConfig> FindClusterConfig(const std::string& path, const std::string& context,
                                          const Clock* clock) {
  if (!path.empty()) return LoadKubeconfig(path, context, clock);
  const std::string from_env = Env("KUBECONFIG");
  if (!from_env.empty()) {
    return LoadKubeconfigs(absl::StrSplit(from_env, ':', absl::SkipEmpty()), context, clock);
  }
  StatusOr<ClusterConfig> in_cluster = InClusterConfig(clock);
  if (in_cluster.ok() || !absl::IsNotFound(in_cluster.status())) return in_cluster;
  const std::string home = Env("HOME");
  const std::string standard = home + "/.kube/config";
  if (!home.empty() && std::ifstream(standard).good())
    return LoadKubeconfig(standard, context, clock);
  return NotFound(
      "no cluster to talk to: give --kubeconfig FILE, set KUBECONFIG, put a file at "
      "~/.kube/config or run in a pod with a service account");
}

}  // namespace tensorfleet::k8s
