// What an API server says when it refuses: a Status object. It travels as a payload of
// absl::Status, so that callers can tell a conflict from a name taken without reading texts.
#pragma once

#include <optional>
#include <string>

#include "operator/k8s/connect/transport.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

struct ApiError {
  int code = 0;        // HTTP status or that of an ERROR event
  std::string reason;  // "AlreadyExists", "Conflict", "Expired", ...; may be empty
  // How long the server asks us to wait; nothing when it does not say.
  std::optional<std::chrono::milliseconds> retry_after;
};

// The error of an answer that is not 2xx. `what` names the request in the message.
Status ErrorFromResponse(absl::string_view what, const Response& response);
// The error of a Status object as text (an ERROR event's object).
Status ErrorFromStatusObject(absl::string_view what, absl::string_view json);

// The payload, when `status` came from an API server.
std::optional<ApiError> ApiErrorOf(const Status& status);

// True for errors that mean "list again": 410, or reason Expired or Gone.
bool IsExpired(const Status& status);
// True for a name that is taken, as opposed to a version that moved on; both are HTTP 409.
bool IsNameTaken(const Status& status);
bool IsConflict(const Status& status);
// True when the namespace is being removed: nothing can be created in it any more.
bool IsNamespaceTerminating(const Status& status);

}  // namespace tensorfleet::k8s
