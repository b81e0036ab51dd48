#include "runtime/rpc/services/metrics_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/session/metrics.h"

namespace tensorfleet::rpc {
namespace {

constexpr size_t kMaxRequestBytes = 16 << 10;

std::string Respond(absl::string_view request, const std::function<std::string()>& more) {
  const auto answer = [](absl::string_view status, absl::string_view body) {
    return absl::StrCat(
        "HTTP/1.1 ", status,
        "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: ",
        body.size(), "\r\nConnection: close\r\n\r\n", body);
  };
  if (!absl::StartsWith(request, "GET ")) return answer("405 Method Not Allowed", "GET only\n");
  const absl::string_view path = request.substr(4, request.find(' ', 4) - 4);
  if (path == "/metrics" || absl::StartsWith(path, "/metrics?"))
    return answer("200 OK", absl::StrCat(RenderMetrics(), more ? more() : ""));
  if (path == "/healthz") return answer("200 OK", "ok\n");
  return answer("404 Not Found", "the metrics are under /metrics\n");
}

void Serve(int socket, const std::function<std::string()>& more) {
  const timeval patience{2, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string request;
  char block[2048];
  while (!absl::StrContains(request, "\r\n\r\n") && request.size() < kMaxRequestBytes) {
    const ssize_t n = ::recv(socket, block, sizeof(block), 0);
    if (n <= 0) return;
    request.append(block, static_cast<size_t>(n));
  }
  const std::string response = Respond(request, more);
  size_t sent = 0;
  while (sent < response.size()) {
    const ssize_t n = ::send(socket, response.data() + sent, response.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

}  // namespace

StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(int port,
                                                              std::function<std::string()> more) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto fail = [&](absl::string_view what) {
    const int error = errno;
    if (listener >= 0) ::close(listener);
    return Unavailable("metrics on port ", port, ": ", what, ": ", std::strerror(error));
  };
  if (listener < 0) return fail("socket");
  const int on = 1, off = 0;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return fail("bind");
  if (::listen(listener, 16) != 0) return fail("listen");
  int stop[2];
  if (::pipe(stop) != 0) return fail("pipe");
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(listener, stop[0], stop[1], std::move(more)));
}

MetricsServer::MetricsServer(int listener, int stop_read, int stop_write,
                             std::function<std::string()> more)
    : listener_(listener), stop_read_(stop_read), stop_write_(stop_write), more_(std::move(more)) {
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "metrics");
}

MetricsServer::~MetricsServer() {
  (void)!::write(stop_write_, "x", 1);
  thread_.join();
  for (const int fd : {listener_, stop_read_, stop_write_}) ::close(fd);
}

void MetricsServer::Loop() {
  while (true) {
    pollfd ready[2] = {{listener_, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (ready[0].revents == 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    Serve(socket, more_);
    ::close(socket);
  }
}

}  // namespace tensorfleet::rpc
