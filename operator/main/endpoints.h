// The HTTP endpoints of the operator: metrics, probes and the webhook.
#pragma once

#include <chrono>
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
// /readyz as `is_ready` says; /healthz fails once `standing_still`, for how long the control loop
// has had work and done none of it, is longer than any of its requests may take.
http::Server::Handler HealthHandler(std::function<bool()> is_ready,
                                    std::function<std::chrono::nanoseconds()> standing_still);
// The admission path.
http::Server::Handler WebhookHandler(Metrics* metrics, std::string cluster_domain = "");

}  // namespace tensorfleet::operator_main
