// Requests in Kubernetes' terms over a Transport: rate limit, retries that are always safe, errors
// with their reason. Bodies are JSON text; nothing is parsed that nobody asked for. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operator/k8s/api_error.h"
#include "operator/k8s/connect/transport.h"
#include "operator/k8s/rate_limiter.h"

namespace tensorfleet::k8s {

// "/api/v1/namespaces/ns/pods", "/apis/kubeflow.org/v1/tfjobs": `group_version` is "v1" or
// "group/v". `ns` empty: all namespaces.
std::string CollectionPath(absl::string_view group_version, absl::string_view ns,
                           absl::string_view plural);
std::string ObjectPath(absl::string_view group_version, absl::string_view ns,
                       absl::string_view plural, absl::string_view name);
// Percent-encodes for a query value.
std::string QueryEscape(absl::string_view text);

struct DeleteOptions {
  std::string uid;               // precondition; empty for none
  std::string resource_version;  // likewise
  int grace_seconds = -1;        // below 0: the object's own
  std::string
      propagation;  // "Background", "Foreground", "Orphan" or empty for the server's default
};

// Seen by metrics: method, status code (0 when there was no answer).
using RequestObserver = std::function<void(absl::string_view method, int code)>;

struct ClientOptions {
  std::chrono::seconds request_time{30};  // for all but watches
  // How often a request is repeated that the server put off (429, or 5xx with Retry-After).
  int max_retries = 10;
  CancellationManager* cancel = nullptr;  // ends every request; may be null
  // No request goes on after that, however often the server puts it off.
  http::Deadline deadline = http::kNoDeadline;
  RequestObserver observer;
};

class Client {
 public:
  // `limiter` may be null (no limit). Both must outlive the client.
  Client(Transport* transport, RateLimiter* limiter, ClientOptions options = {});

  // The same client, all of whose requests have ended by `deadline`.
  Client Until(http::Deadline deadline) const;

  StatusOr<std::string> Get(absl::string_view path);
  // `warnings`, unless null, gets the texts of the answer's Warning headers.
  StatusOr<std::string> Create(absl::string_view collection, std::string body,
                               std::vector<std::string>* warnings = nullptr);
  StatusOr<std::string> Replace(absl::string_view path, std::string body);
  // RFC 7386. Put metadata.resourceVersion or metadata.uid into the patch to make it conditional.
  StatusOr<std::string> MergePatch(absl::string_view path, std::string body);
  // Server-side apply: creates or updates, owning the fields in `body` as `field_manager`.
  StatusOr<std::string> Apply(absl::string_view path, absl::string_view field_manager, bool force,
                              std::string body);
  StatusOr<std::string> Delete(absl::string_view path, const DeleteOptions& options = {});

  // Reads `path` and gives the body of the answer to `on_data` as it comes. `time` limits the
  // whole.
  Status Read(absl::string_view path, std::chrono::nanoseconds time, Transport::OnData on_data,
              CancellationManager* cancel);

  CancellationManager* cancel() const { return options_.cancel; }

 private:
  StatusOr<std::string> Call(Request request, std::vector<std::string>* warnings = nullptr);

  Transport* const transport_;
  RateLimiter* const limiter_;
  const ClientOptions options_;
};

}  // namespace tensorfleet::k8s
