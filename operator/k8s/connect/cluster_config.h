// Where the API server is and how to be let in: from a kubeconfig file or from inside a pod.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operator/http/tls.h"
#include "operator/k8s/connect/credentials.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

struct ClusterConfig {
  std::string server;  // https://host:port[/prefix]
  http::TlsClientConfig tls;
  std::string tls_server_name;               // empty: the host of `server`
  std::string proxy_url;                     // empty: what the environment says
  std::shared_ptr<Credentials> credentials;  // null: none beyond `tls`
  std::string impersonate_user;              // empty: nobody
  std::string namespace_;                    // of the context or the pod; empty: not said
};

// Reads a kubeconfig. `context` empty: its current context. Relative file names are resolved
// against the file's folder. Supported: inline data and files for certificates and tokens, user and
// password, exec plug-ins, tls-server-name, insecure-skip-tls-verify, impersonation of a user,
// proxy-url. Refused with a clear error: auth-provider (removed from Kubernetes).
StatusOr<ClusterConfig> LoadKubeconfig(const std::string& path, const std::string& context,
                                       const Clock* clock);
// The same from text; `folder` is what relative names refer to.
StatusOr<ClusterConfig> ParseKubeconfig(const std::string& text, const std::string& folder,
                                        const std::string& context, const Clock* clock);

// Several files as kubectl merges them: of two entries of one name, and of two current contexts,
// the first counts; files that are not there are left out.
StatusOr<ClusterConfig> LoadKubeconfigs(const std::vector<std::string>& paths,
                                        const std::string& context, const Clock* clock);

// Inside a pod: service account files below `folder`, address from KUBERNETES_SERVICE_HOST and
// _PORT. kNotFound when this is not a pod.
inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";
StatusOr<ClusterConfig> InClusterConfig(const Clock* clock,
                                        const std::string& folder = kServiceAccountFolder);

// In this order: `path` when given, the files of $KUBECONFIG, merged, the pod's service account,
// ~/.kube/config.
StatusOr<ClusterConfig> FindClusterConfig(const std::string& path, const std::string& context,
                                          const Clock* clock);

}  // namespace tensorfleet::k8s
