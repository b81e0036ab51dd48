// The HTTP endpoints of the operator: metrics, probes and the webhook.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "operator/http/server.h"
#include "operator/main/admission.h"
#include "operator/main/metrics.h"

namespace tensorfleet::operator_main {

// Serves at ":8080", "127.0.0.1:8080" or "[::1]:8080"; "0" and "" serve nowhere and give null.
StatusOr<std::unique_ptr<http::Server>> ServeAt(const std::string& address,
                                                http::Server::Handler handler);

// /metrics. `metrics` must outlive the handler, here and below.
http::Server::Handler MetricsHandler(Metrics* metrics);
// /healthz, and /readyz as `is_ready` says.
http::Server::Handler HealthHandler(std::function<bool()> is_ready);
// The admission path.
http::Server::Handler WebhookHandler(Metrics* metrics);

}  // namespace tensorfleet::operator_main
