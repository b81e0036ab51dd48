// A small HTTP server that gives Prometheus the metrics: GET /metrics on a port of its own. One
// thread; a slow or silent scraper is dropped after two seconds.
#pragma once

#include <memory>
#include <thread>

#include "runtime/base/status.h"

namespace tensorfleet::rpc {

class MetricsServer {
 public:
  // Errors: Unavailable when the port cannot be listened on.
  static StatusOr<std::unique_ptr<MetricsServer>> Start(int port);
  ~MetricsServer();

 private:
  MetricsServer(int listener, int stop_read, int stop_write);
  void Loop();

  const int listener_, stop_read_, stop_write_;
  std::thread thread_;
};

}  // namespace tensorfleet::rpc
