// How requests reach an API server. Everything above works on this interface, so tests can put
// faults in between and the HTTP library can be changed in one file. Implementations are
// thread-safe.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "operator/http/message.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

struct Request {
  std::string method = "GET";
  std::string path;  // begins with '/', query included
  std::string body;
  std::string content_type = "application/json";  // of the body, when there is one
  std::string accept = "application/json";
  http::Deadline deadline = http::kNoDeadline;
  CancellationManager* cancel = nullptr;  // may be null; must outlive the call
};

struct Response {
  int status = 0;
  http::Headers headers;
  std::string body;
};

class Transport {
 public:
  // Takes a piece of the body; false ends the request early.
  using OnData = absl::FunctionRef<bool(absl::string_view)>;

  virtual ~Transport() = default;

  // One request and its whole answer, whatever its status code. Errors are those of the network
  // (kUnavailable), of time (kDeadlineExceeded), of the caller (kCancelled), or of credentials
  // (kUnauthenticated). A request may have been carried out although an error is returned.
  virtual StatusOr<Response> Send(const Request& request) = 0;

  // Like Send, but the body of a 2xx answer goes to `on_data` as it arrives, on the calling thread.
  // Returns when the server has ended the body or `on_data` has returned false.
  virtual StatusOr<Response> Stream(const Request& request, OnData on_data) = 0;
};

}  // namespace tensorfleet::k8s
