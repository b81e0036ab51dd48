// One connected socket, plain or TLS, whose reads and writes have deadlines. Used by one thread at
// a time; only Shutdown may come from another, and wakes whoever waits.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"

namespace tensorfleet::http {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();
inline Deadline After(std::chrono::nanoseconds delay) {
  return std::chrono::steady_clock::now() + delay;
}

struct Endpoint {
  std::string host;  // name or address, without brackets
  int port = 0;
  bool tls = false;
};

// Parses "https://host:port/prefix". `prefix` gets the path without its last slash; it may be null.
StatusOr<Endpoint> ParseUrl(absl::string_view url, std::string* prefix);

struct Proxy;

class Stream {
 public:
  // Connects, through `proxy` unless that is null, and shakes hands when `tls` is given.
  // `server_name` is what the certificate must be for (name or address); verification itself is
  // configured in `tls`. Of several addresses each gets its share of the time that is left.
  // Cancelling `cancel` (may be null) ends the attempt.
  static StatusOr<std::unique_ptr<Stream>> Connect(const Endpoint& to, SSL_CTX* tls,
                                                   const std::string& server_name,
                                                   Deadline deadline, CancellationManager* cancel,
                                                   const Proxy* proxy = nullptr);
  // Takes over an accepted socket; with `tls` the handshake is made by the first read or write.
  static std::unique_ptr<Stream> Accepted(int fd, SSL_CTX* tls);

  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Reads up to `size` bytes; 0 at the end of the stream.
  StatusOr<size_t> Read(char* to, size_t size, Deadline deadline);
  Status Write(absl::string_view data, Deadline deadline);

  // Ends both directions: waiting calls return with an error or the end of the stream. Thread-safe.
  void Shutdown();

  // False when the peer has closed, or sent something nobody asked for. Never waits.
  bool IsQuiet();

 private:
  Stream(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}
  // The socket, which is the caller's from now on.
  int Release() { return std::exchange(fd_, -1); }
  Status Handshake(Deadline deadline);
  // Waits for what OpenSSL asked for; `result` is what the SSL call returned.
  Status WaitForTls(int result, absl::string_view what, Deadline deadline);

  int fd_;          // -1 once released
  SSL* const ssl_;  // null for plain sockets
};

}  // namespace tensorfleet::http
