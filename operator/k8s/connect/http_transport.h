// The Transport of ours: HTTP/1.1 with kept-alive connections over operator/http. Measurements that
// led to it, beside those of cpprestsdk, are in operator/bench/README.md.
#pragma once

#include <memory>

#include "operator/k8s/connect/cluster_config.h"
#include "operator/k8s/connect/transport.h"

namespace tensorfleet::k8s {

struct HttpTransportOptions {
  int max_idle_connections = 64;
  std::chrono::seconds idle_time{90};  // older ones are closed rather than tried
  std::chrono::seconds connect_time{10};
  std::chrono::seconds max_age{300};  // an older connection is closed after its request
  size_t max_body_bytes = 64 << 20;
  std::string user_agent = "tensorfleet-operator";
};

// Fails when `config` has a bad URL or certificates that cannot be read.
StatusOr<std::unique_ptr<Transport>> MakeHttpTransport(const ClusterConfig& config,
                                                       HttpTransportOptions options = {});

}  // namespace tensorfleet::k8s
