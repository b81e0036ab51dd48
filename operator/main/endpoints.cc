#include "operator/main/endpoints.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace tensorfleet::operator_main {
namespace {

// A request has 30 s, and is tried ten times at most when the server asks for that.
constexpr auto kLongestStandstill = std::chrono::minutes(10);

std::string PathOf(const http::ServerRequest& request) {
  return request.head.target.substr(0, request.head.target.find('?'));
}

}  // namespace

StatusOr<std::unique_ptr<http::Server>> ServeAt(const std::string& address,
                                                http::Server::Handler handler) {
  if (address.empty() || address == "0") return std::unique_ptr<http::Server>();
  const size_t colon = address.rfind(':');
  http::Server::Options options;
  absl::string_view host =
      absl::string_view(address).substr(0, colon == std::string::npos ? 0 : colon);
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  options.address = std::string(host);
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &options.port) ||
      options.port < 0 || options.port > 65535) {
    return InvalidArgument("\"", address, "\" is not an address such as :8080 or 127.0.0.1:8080");
  }
  return http::Server::Start(std::move(options), std::move(handler));
}

http::Server::Handler MetricsHandler(Metrics* metrics) {
  return [metrics](const http::ServerRequest& request, http::ResponseWriter& writer) {
    if (PathOf(request) != "/metrics") {
      (void)writer.Send(404, "text/plain", "see /metrics\n");
      return;
    }
    (void)writer.Send(200, "text/plain; version=0.0.4; charset=utf-8", metrics->Text());
  };
}

http::Server::Handler HealthHandler(std::function<bool()> is_ready,
                                    std::function<std::chrono::nanoseconds()> standing_still) {
  return [is_ready = std::move(is_ready), standing_still = std::move(standing_still)](
             const http::ServerRequest& request, http::ResponseWriter& writer) {
    const std::string path = PathOf(request);
    const auto still = std::chrono::duration_cast<std::chrono::seconds>(standing_still());
    if (path == "/healthz" && still > kLongestStandstill) {
      (void)writer.Send(503, "text/plain",
                        absl::StrCat("the control loop has stood still for ", still.count(),
                                     " s though there is work\n"));
    } else if (path == "/healthz" || (path == "/readyz" && is_ready())) {
      (void)writer.Send(200, "text/plain", "ok");
    } else if (path == "/readyz") {
      (void)writer.Send(503, "text/plain",
                        "not everything has been listed, or the webhook has no certificate\n");
    } else {
      (void)writer.Send(404, "text/plain", "see /healthz and /readyz\n");
    }
  };
}

http::Server::Handler WebhookHandler(Metrics* metrics, std::string cluster_domain) {
  return [metrics, cluster_domain = std::move(cluster_domain)](const http::ServerRequest& request,
                                                               http::ResponseWriter& writer) {
    const auto begin = std::chrono::steady_clock::now();
    if (PathOf(request) != kAdmissionPath) {
      (void)writer.Send(404, "text/plain", absl::StrCat("see ", kAdmissionPath, "\n"));
      return;
    }
    if (request.head.method != "POST") {
      (void)writer.Send(405, "text/plain", "POST an AdmissionReview\n");
      return;
    }
    metrics->OnAdmissionBegins();
    const AdmissionAnswer answer = AnswerAdmission(request.body, cluster_domain);
    (void)writer.Send(answer.http_code, answer.http_code == 200 ? "application/json" : "text/plain",
                      answer.body);
    metrics->OnAdmission(answer.http_code, answer.allowed,
                         std::chrono::steady_clock::now() - begin);
  };
}

}  // namespace tensorfleet::operator_main
