// A small HTTP server that gives Prometheus the metrics: GET /metrics on a port of its own, and
// GET /healthz. One thread; a scraper that is slow or silent is dropped after two seconds.
//
// prometheus-cpp's Exposer is not used because silence stops it: two connections that sent nothing
// kept a third one waiting for more than 6 seconds (version 1.0, civetweb 1.15, its two workers).
// It has no /healthz either, and takes three threads and 0.5 MB.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/base/status.h"

namespace tensorfleet::rpc {

class MetricsServer {
 public:
  // `more` gives what is not in RenderMetrics, in the same form; empty for nothing. Errors:
  // Unavailable when the port cannot be listened on.
  static StatusOr<std::unique_ptr<MetricsServer>> Start(int port,
                                                        std::function<std::string()> more = {});
  ~MetricsServer();

 private:
  MetricsServer(int listener, int stop_read, int stop_write, std::function<std::string()> more);
  void Loop();

  const int listener_, stop_read_, stop_write_;
  const std::function<std::string()> more_;
  std::thread thread_;
};

}  // namespace tensorfleet::rpc
