// `tensorfleet ui`: the pages over HTTP. Read-only: nothing but GET and HEAD is answered, and the
// cluster is asked with the credentials of whoever started it.
#pragma once

#include <memory>
#include <string>

#include "operator/http/server.h"
#include "operator/view/job_reader.h"

namespace tensorfleet::view {

struct UiOptions {
  std::string address = "127.0.0.1";
  int port = 8090;
  std::string ns;  // whose jobs are listed; "" for all
};

class UiServer {
 public:
  // `reader` must outlive it. Errors: Unavailable when the port cannot be listened on.
  static StatusOr<std::unique_ptr<UiServer>> Start(const UiOptions& options, JobReader* reader);
  int port() const { return server_->port(); }

 private:
  UiServer(UiOptions options, JobReader* reader) : options_(std::move(options)), reader_(reader) {}
  void Handle(const http::ServerRequest& request, http::ResponseWriter& to);

  const UiOptions options_;
  JobReader* const reader_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace tensorfleet::view
