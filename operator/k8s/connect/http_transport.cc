#include "operator/k8s/connect/http_transport.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "operator/http/proxy.h"
#include "operator/http/stream.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {
namespace {

struct Connection {
  explicit Connection(std::unique_ptr<http::Stream> s)
      : stream(std::move(s)), reader(stream.get(), http::MessageKind::kResponse) {}
  std::unique_ptr<http::Stream> stream;
  http::MessageReader reader;
  std::shared_ptr<SSL_CTX> tls;  // what it was made with; changes when certificates do
  std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point idle_since;
};

class HttpTransport final : public Transport {
 public:
  HttpTransport(const ClusterConfig& config, http::Endpoint endpoint, std::string prefix,
                std::shared_ptr<SSL_CTX> tls, std::optional<http::Proxy> proxy,
                HttpTransportOptions options)
      : config_(config),
        endpoint_(std::move(endpoint)),
        prefix_(std::move(prefix)),
        server_name_(config.tls_server_name.empty() ? endpoint_.host : config.tls_server_name),
        proxy_(std::move(proxy)),
        options_(std::move(options)),
        tls_(std::move(tls)) {
    const bool v6 = endpoint_.host.find(':') != std::string::npos;
    host_header_ = v6 ? absl::StrCat("[", endpoint_.host, "]:", endpoint_.port)
                      : absl::StrCat(endpoint_.host, ":", endpoint_.port);
  }

  StatusOr<Response> Send(const Request& request) override {
    StatusOr<Response> response = Exchange(request, nullptr);
    if (response.ok() && response->status == 401 && config_.credentials != nullptr) {
      config_.credentials->Invalidate();
      return Exchange(request, nullptr);
    }
    return response;
  }

  StatusOr<Response> Stream(const Request& request, OnData on_data) override {
    StatusOr<Response> response = Exchange(request, &on_data);
    if (response.ok() && response->status == 401 && config_.credentials != nullptr) {
      config_.credentials->Invalidate();
      return Exchange(request, &on_data);
    }
    return response;
  }

 private:
  StatusOr<Response> Exchange(const Request& request, OnData* on_data) {
    Credential credential;
    if (config_.credentials != nullptr) {
      TFLEET_ASSIGN_OR_RETURN(credential, config_.credentials->Get(request.deadline));
    }
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<SSL_CTX> tls, TlsFor(credential));
    const std::string head = HeadOf(request, credential);
    std::unique_ptr<Connection> connection = TakeIdle(tls.get());
    const bool reused = connection != nullptr;
    if (!reused) {
      TFLEET_ASSIGN_OR_RETURN(connection, Open(request, tls));
    }
    bool may_retry = false;
    StatusOr<Response> response = Talk(request, head, *connection, on_data, &may_retry);
    if (!response.ok() && reused && may_retry && !IsCancelled(request)) {
      // The server had closed the kept connection just when we picked it. Creates are by fixed
      // names, so sending one twice cannot make two objects.
      TFLEET_ASSIGN_OR_RETURN(connection, Open(request, tls));
      response = Talk(request, head, *connection, on_data, &may_retry);
    }
    if (response.ok() && connection->reader.reusable() && keep_alive(*response)) {
      GiveBack(std::move(connection));
    }
    return response;
  }

  static bool keep_alive(const Response& response) {
    return http::FindHeader(response.headers, "connection") != "close";
  }
  static bool IsCancelled(const Request& request) {
    return request.cancel != nullptr && request.cancel->is_cancelled();
  }

  std::string HeadOf(const Request& request, const Credential& credential) const {
    std::string head = absl::StrCat(
        request.method, " ", prefix_, request.path, " HTTP/1.1\r\nhost: ", host_header_,
        "\r\nuser-agent: ", options_.user_agent, "\r\naccept: ", request.accept, "\r\n");
    if (!credential.authorization.empty()) {
      absl::StrAppend(&head, "authorization: ", credential.authorization, "\r\n");
    }
    if (!config_.impersonate_user.empty()) {
      absl::StrAppend(&head, "impersonate-user: ", config_.impersonate_user, "\r\n");
    }
    if (!request.body.empty()) {
      absl::StrAppend(&head, "content-type: ", request.content_type, "\r\n");
    }
    if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
      absl::StrAppend(&head, "content-length: ", request.body.size(), "\r\n");
    }
    head += "\r\n";
    return head;
  }

  // Sends `request` and reads its answer. `*may_retry`: nothing of an answer had come.
  StatusOr<Response> Talk(const Request& request, const std::string& head, Connection& connection,
                          OnData* on_data, bool* may_retry) {
    *may_retry = false;
    http::Stream* stream = connection.stream.get();
    CancellationManager::Token token = -1;
    if (request.cancel != nullptr) {
      token = request.cancel->Register([stream] { stream->Shutdown(); });
      if (token < 0) return request.cancel->status();
    }
    StatusOr<Response> response = TalkUninterrupted(request, head, connection, on_data, may_retry);
    if (token >= 0) request.cancel->Deregister(token);
    if (IsCancelled(request)) return request.cancel->status();
    return response;
  }

  StatusOr<Response> TalkUninterrupted(const Request& request, const std::string& head,
                                       Connection& connection, OnData* on_data, bool* may_retry) {
    *may_retry = true;
    TFLEET_RETURN_IF_ERROR(connection.stream->Write(head + request.body, request.deadline));
    http::Head answer;
    do {
      StatusOr<http::Head> read =
          connection.reader.ReadHead(request.deadline, request.method == "HEAD");
      if (!read.ok()) {
        *may_retry = connection.reader.untouched() && !absl::IsDeadlineExceeded(read.status());
        if (absl::IsOutOfRange(read.status()))
          return Unavailable("the API server closed the connection");
        return read.status();
      }
      answer = *std::move(read);
    } while (answer.status < 200);
    *may_retry = false;
    Response response;
    response.status = answer.status;
    response.headers = std::move(answer.headers);
    if (on_data == nullptr || response.status >= 300) {
      TFLEET_RETURN_IF_ERROR(connection.reader.ReadWholeBody(
          &response.body, options_.max_body_bytes, request.deadline));
      return response;
    }
    std::string piece;
    bool done = false;
    while (true) {
      TFLEET_RETURN_IF_ERROR(connection.reader.ReadBody(&piece, &done, request.deadline));
      if (!piece.empty() && !(*on_data)(piece)) return response;
      if (done) return response;
      piece.clear();
    }
  }

  // The context for `credential`: the configured one unless a plug-in gave a certificate.
  StatusOr<std::shared_ptr<SSL_CTX>> TlsFor(const Credential& credential) {
    MutexLock lock(&mu_);
    if (!endpoint_.tls || credential.certificate_pem == plugin_certificate_) return tls_;
    http::TlsClientConfig config = config_.tls;
    config.certificate_pem = credential.certificate_pem;
    config.key_pem = credential.key_pem;
    TFLEET_ASSIGN_OR_RETURN(tls_, http::ClientContext(config));
    plugin_certificate_ = credential.certificate_pem;
    return tls_;
  }

  std::unique_ptr<Connection> TakeIdle(const SSL_CTX* tls) {
    const auto now = std::chrono::steady_clock::now();
    while (true) {
      std::unique_ptr<Connection> connection;
      {
        MutexLock lock(&mu_);
        if (idle_.empty()) return nullptr;
        // The most recently used first, so that the others age and go.
        connection = std::move(idle_.back());
        idle_.pop_back();
      }
      if (connection->tls.get() == tls && now - connection->idle_since < options_.idle_time &&
          connection->stream->IsQuiet()) {
        return connection;
      }
    }
  }

  void GiveBack(std::unique_ptr<Connection> connection) {
    connection->idle_since = std::chrono::steady_clock::now();
    // Of several API servers behind one address a new connection may get another: one that has
    // come back to life gets its share again.
    if (connection->idle_since - connection->opened > options_.max_age) return;
    std::vector<std::unique_ptr<Connection>> closed;  // outside the lock
    MutexLock lock(&mu_);
    auto fresh = std::find_if(idle_.begin(), idle_.end(), [&](const auto& idle) {
      return connection->idle_since - idle->idle_since < options_.idle_time;
    });
    if (fresh == idle_.begin() && static_cast<int>(idle_.size()) >= options_.max_idle_connections)
      ++fresh;
    std::move(idle_.begin(), fresh, std::back_inserter(closed));
    idle_.erase(idle_.begin(), fresh);
    idle_.push_back(std::move(connection));
  }

  StatusOr<std::unique_ptr<Connection>> Open(const Request& request,
                                             const std::shared_ptr<SSL_CTX>& tls) {
    const auto deadline = std::min(request.deadline, http::After(options_.connect_time));
    TFLEET_ASSIGN_OR_RETURN(
        std::unique_ptr<http::Stream> stream,
        http::Stream::Connect(endpoint_, endpoint_.tls ? tls.get() : nullptr, server_name_,
                              deadline, request.cancel, proxy_ ? &*proxy_ : nullptr));
    auto connection = std::make_unique<Connection>(std::move(stream));
    connection->tls = tls;
    return connection;
  }

  const ClusterConfig config_;
  const http::Endpoint endpoint_;
  const std::string prefix_;
  const std::string server_name_;
  const std::optional<http::Proxy> proxy_;
  const HttpTransportOptions options_;
  std::string host_header_;
  Mutex mu_;
  std::shared_ptr<SSL_CTX> tls_ ABSL_GUARDED_BY(mu_);
  std::string plugin_certificate_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mu_);  // oldest first
};

}  // namespace

StatusOr<std::unique_ptr<Transport>> MakeHttpTransport(const ClusterConfig& config,
                                                       HttpTransportOptions options) {
  std::string prefix;
  TFLEET_ASSIGN_OR_RETURN(http::Endpoint endpoint, http::ParseUrl(config.server, &prefix));
  std::shared_ptr<SSL_CTX> tls;
  if (endpoint.tls) {
    TFLEET_ASSIGN_OR_RETURN(tls, http::ClientContext(config.tls));
  }
  TFLEET_ASSIGN_OR_RETURN(std::optional<http::Proxy> proxy,
                          http::ProxyFor(endpoint, config.proxy_url, [](const char* name) {
                            const char* value = std::getenv(name);
                            return std::string(value == nullptr ? "" : value);
                          }));
  return std::unique_ptr<Transport>(
      std::make_unique<HttpTransport>(config, std::move(endpoint), std::move(prefix),
                                      std::move(tls), std::move(proxy), std::move(options)));
}

}  // namespace tensorfleet::k8s
