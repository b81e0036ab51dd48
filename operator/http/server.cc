#include "operator/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/log.h"

namespace tensorfleet::http {
namespace {

constexpr auto kRequestTime = std::chrono::seconds(30);
constexpr auto kWriteTime = std::chrono::seconds(30);
constexpr auto kIdleTime = std::chrono::seconds(120);

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

Status ResponseWriter::Send(int status, absl::string_view content_type, absl::string_view body,
                            const Headers& extra) {
  responded_ = true;
  std::string text =
      absl::StrCat("HTTP/1.1 ", status, " ", ReasonPhrase(status),
                   "\r\ncontent-type: ", content_type, "\r\ncontent-length: ", body.size(), "\r\n");
  for (const auto& [name, value] : extra) absl::StrAppend(&text, name, ": ", value, "\r\n");
  if (!keep_alive_) text += "connection: close\r\n";
  absl::StrAppend(&text, "\r\n", body);
  return to_->Write(text, After(kWriteTime));
}

Status ResponseWriter::BeginChunks(int status, absl::string_view content_type) {
  responded_ = true;
  return to_->Write(
      absl::StrCat("HTTP/1.1 ", status, " ", ReasonPhrase(status),
                   "\r\ncontent-type: ", content_type, "\r\ntransfer-encoding: chunked\r\n\r\n"),
      After(kWriteTime));
}

Status ResponseWriter::WriteChunk(absl::string_view data) {
  if (data.empty()) return OkStatus();
  return to_->Write(absl::StrCat(absl::Hex(data.size()), "\r\n", data, "\r\n"), After(kWriteTime));
}

Status ResponseWriter::EndChunks() { return to_->Write("0\r\n\r\n", After(kWriteTime)); }

Status ResponseWriter::WriteRaw(absl::string_view bytes) {
  responded_ = true;
  keep_alive_ = false;
  return to_->Write(bytes, After(kWriteTime));
}

StatusOr<std::unique_ptr<Server>> Server::Start(Options options, Handler handler) {
  const bool any = options.address.empty();
  const bool v6 = any || options.address.find(':') != std::string::npos;
  int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool use_v6 = v6;
  if (fd < 0 && any) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    use_v6 = false;
  }
  if (fd < 0) return Unavailable("socket: ", strerror(errno));
  const int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage where{};
  socklen_t size;
  bool parsed = true;
  if (use_v6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&where);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(static_cast<uint16_t>(options.port));
    if (any) {
      in6->sin6_addr = in6addr_any;
    } else {
      parsed = inet_pton(AF_INET6, options.address.c_str(), &in6->sin6_addr) == 1;
    }
    size = sizeof(sockaddr_in6);
  } else {
    auto* in = reinterpret_cast<sockaddr_in*>(&where);
    in->sin_family = AF_INET;
    in->sin_port = htons(static_cast<uint16_t>(options.port));
    if (!any) parsed = inet_pton(AF_INET, options.address.c_str(), &in->sin_addr) == 1;
    size = sizeof(sockaddr_in);
  }
  if (!parsed) {
    close(fd);
    return InvalidArgument("listen address \"", options.address, "\" is not an IP address");
  }
  if (bind(fd, reinterpret_cast<sockaddr*>(&where), size) != 0 || listen(fd, 128) != 0) {
    const Status status =
        Unavailable("listen on ", options.address, ":", options.port, ": ", strerror(errno));
    close(fd);
    return status;
  }
  size = sizeof(where);
  getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size);
  const int port = ntohs(use_v6 ? reinterpret_cast<sockaddr_in6*>(&where)->sin6_port
                                : reinterpret_cast<sockaddr_in*>(&where)->sin_port);
  std::unique_ptr<Server> server(new Server(std::move(options), std::move(handler), fd, port));
  server->acceptor_ = std::thread([raw = server.get()] { raw->AcceptLoop(); });
  return server;
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (stopping_.exchange(true)) return;
  shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  close(listen_fd_);
  DropConnections();
  std::list<std::unique_ptr<Connection>> rest;
  {
    MutexLock lock(&mu_);
    rest.swap(connections_);
  }
  for (auto& connection : rest) connection->thread.join();
}

void Server::DropConnections() {
  MutexLock lock(&mu_);
  for (auto& connection : connections_) connection->stream->Shutdown();
}

void Server::Reap() {
  std::list<std::unique_ptr<Connection>> finished;
  {
    MutexLock lock(&mu_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto here = it++;
      if ((*here)->done) finished.splice(finished.end(), connections_, here);
    }
  }
  for (auto& connection : finished) connection->thread.join();
}

bool Server::MakeRoom() {
  int open = 0;
  Connection* longest = nullptr;
  int64_t since = 0;
  for (auto& connection : connections_) {
    if (connection->done || connection->evicted) continue;
    ++open;
    const int64_t waiting = connection->waiting_since;
    if (waiting == 0 || (longest != nullptr && waiting >= since)) continue;
    longest = connection.get();
    since = waiting;
  }
  if (open < options_.max_connections) return true;
  if (longest == nullptr) return false;
  longest->evicted = true;
  longest->stream->Shutdown();
  return true;
}

void Server::AcceptLoop() {
  while (!stopping_) {
    // Woken now and then so that threads of closed connections are joined without new ones coming.
    pollfd entry{listen_fd_, POLLIN, 0};
    const int ready = poll(&entry, 1, 5000);
    Reap();
    if (stopping_) return;
    if (ready <= 0) continue;
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    auto connection = std::make_unique<Connection>();
    if (options_.tls) {
      connection->tls = options_.tls();
      if (connection->tls == nullptr) {
        close(fd);
        continue;
      }
    }
    connection->stream = Stream::Accepted(fd, connection->tls.get());
    if (connection->stream == nullptr) continue;
    MutexLock lock(&mu_);
    if (!MakeRoom()) continue;  // closes it
    ++accepted_;
    connection->waiting_since = Now();
    Connection* raw = connection.get();
    connections_.push_back(std::move(connection));
    raw->thread = std::thread([this, raw] { Serve(raw); });
  }
}

void Server::Serve(Connection* connection) {
  Stream* stream = connection->stream.get();
  MessageReader reader(stream, MessageKind::kRequest);
  bool keep = true;
  while (keep && !stopping_) {
    connection->waiting_since = Now();
    StatusOr<Head> head = reader.ReadHead(After(kIdleTime));
    if (!head.ok()) {
      if (absl::IsInvalidArgument(head.status())) {
        ResponseWriter writer(stream, false);
        (void)writer.Send(400, "text/plain", absl::StrCat(head.status().message(), "\n"));
      }
      break;
    }
    ServerRequest request;
    request.head = *std::move(head);
    ResponseWriter writer(stream, request.head.keep_alive);
    if (FindHeader(request.head.headers, "expect") == "100-continue" &&
        !stream->Write("HTTP/1.1 100 Continue\r\n\r\n", After(kWriteTime)).ok()) {
      break;
    }
    const Status body =
        reader.ReadWholeBody(&request.body, options_.max_body_bytes, After(kRequestTime));
    if (!body.ok()) {
      writer.CloseAfterwards();
      (void)writer.Send(absl::IsResourceExhausted(body) ? 413 : 400, "text/plain",
                        absl::StrCat(body.message(), "\n"));
      break;
    }
    connection->waiting_since = 0;
    handler_(request, writer);
    if (!writer.responded()) break;  // the handler chose to hang up
    keep = writer.keep_alive();
  }
  stream->Shutdown();
  connection->done = true;
}

}  // namespace tensorfleet::http
