// A small HTTP/1.1 server: a thread per connection, up to a limit, plain or TLS. For metrics,
// probes, webhooks and the fake API server; not for the open internet.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "operator/http/message.h"
#include "operator/http/stream.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::http {

struct ServerRequest {
  Head head;
  std::string body;
};

// Writes one response. Either Send once, or BeginChunks, any number of WriteChunk, EndChunks.
class ResponseWriter {
 public:
  ResponseWriter(Stream* to, bool keep_alive) : to_(to), keep_alive_(keep_alive) {}

  Status Send(int status, absl::string_view content_type, absl::string_view body,
              const Headers& extra = {});
  Status BeginChunks(int status, absl::string_view content_type);
  Status WriteChunk(absl::string_view data);
  Status EndChunks();
  // Writes bytes as they are, for tests that break the protocol; the connection is closed
  // afterwards.
  Status WriteRaw(absl::string_view bytes);
  // The connection is closed once the handler returns.
  void CloseAfterwards() { keep_alive_ = false; }

  bool keep_alive() const { return keep_alive_; }
  bool responded() const { return responded_; }
  // True once the peer has gone away; never waits.
  bool IsPeerGone() { return !to_->IsQuiet(); }

 private:
  Stream* const to_;
  bool keep_alive_;
  bool responded_ = false;
};

class Server {
 public:
  using Handler = std::function<void(const ServerRequest&, ResponseWriter&)>;
  struct Options {
    std::string address = "127.0.0.1";  // "" for every address of the machine
    int port = 0;                       // 0: any free one, see port()
    size_t max_body_bytes = 8 << 20;
    // When there are so many, the one that has kept us waiting longest gives way to a new one; when
    // none waits, since all are being answered, the new one is closed.
    int max_connections = 256;
    // Gives the TLS context for each new connection, so that certificates can change; null for
    // plain.
    std::function<std::shared_ptr<SSL_CTX>()> tls;
  };

  // Listens and serves at once. `handler` is called from many threads.
  static StatusOr<std::unique_ptr<Server>> Start(Options options, Handler handler);
  // Stops and waits for every connection's thread.
  ~Server();
  void Stop();

  int port() const { return port_; }
  // Connections accepted so far.
  int64_t accepted() const { return accepted_; }
  // Cuts every open connection in the middle of whatever it does.
  void DropConnections();
  // True from Stop on: long-running handlers look at it and return.
  bool is_stopping() const { return stopping_; }

 private:
  struct Connection {
    std::unique_ptr<Stream> stream;
    std::shared_ptr<SSL_CTX> tls;
    std::thread thread;
    std::atomic<bool> done{false};
    // Since when the peer keeps us waiting, as a count of the steady clock; 0 while it is answered.
    std::atomic<int64_t> waiting_since{0};
    bool evicted = false;  // of the accepting thread
  };

  Server(Options options, Handler handler, int listen_fd, int port)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        listen_fd_(listen_fd),
        port_(port) {}
  void AcceptLoop();
  void Serve(Connection* connection);
  void Reap();
  // Makes room for one more connection. False: all are busy.
  bool MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const Handler handler_;
  const int listen_fd_;
  const int port_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> accepted_{0};
  std::thread acceptor_;
  Mutex mu_;
  std::list<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::http
