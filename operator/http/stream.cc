#include "operator/http/stream.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "operator/http/dial.h"
#include "operator/http/proxy.h"

namespace tensorfleet::http {
namespace {

std::string OpenSslErrors() {
  std::string all;
  while (const unsigned long code = ERR_get_error()) {
    char text[256];
    ERR_error_string_n(code, text, sizeof(text));
    if (!all.empty()) all += "; ";
    all += text;
  }
  return all.empty() ? "no further detail" : all;
}

void SetSocketOptions(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // A peer that vanished without a word is noticed in about a minute, also by a silent watch.
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  const int idle = 30, interval = 10, count = 3, user_timeout_ms = 60'000;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof(user_timeout_ms));
}

bool IsAddress(const std::string& name) {
  ASN1_OCTET_STRING* ip = a2i_IPADDRESS(name.c_str());
  if (ip == nullptr) {
    ERR_clear_error();
    return false;
  }
  ASN1_OCTET_STRING_free(ip);
  return true;
}

// Has the handshake fail unless the certificate is for `name`. OpenSSL takes an empty name for
// none.
bool ExpectName(SSL* ssl, const std::string& name) {
  if (name.empty()) return false;
  if (IsAddress(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  return SSL_set_tlsext_host_name(ssl, name.c_str()) == 1 && SSL_set1_host(ssl, name.c_str()) == 1;
}

}  // namespace

StatusOr<Endpoint> ParseUrl(absl::string_view url, std::string* prefix) {
  Endpoint to;
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "https://")) {
    to.tls = true;
    to.port = 443;
  } else if (absl::ConsumePrefix(&rest, "http://")) {
    to.port = 80;
  } else {
    return InvalidArgument("URL \"", url, "\" must begin with https:// or http://");
  }
  const size_t slash = rest.find('/');
  absl::string_view authority = rest.substr(0, slash);
  if (prefix != nullptr) {
    *prefix = slash == absl::string_view::npos ? "" : std::string(rest.substr(slash));
    while (!prefix->empty() && prefix->back() == '/') prefix->pop_back();
  }
  absl::string_view port;
  if (absl::StartsWith(authority, "[")) {
    const size_t end = authority.find(']');
    if (end == absl::string_view::npos)
      return InvalidArgument("URL \"", url, "\" has no closing ]");
    to.host = std::string(authority.substr(1, end - 1));
    port = authority.substr(end + 1);
  } else {
    const size_t colon = authority.find(':');
    to.host = std::string(authority.substr(0, colon));
    if (colon != absl::string_view::npos) port = authority.substr(colon);
  }
  if (!port.empty() && (!absl::ConsumePrefix(&port, ":") || !absl::SimpleAtoi(port, &to.port) ||
                        to.port < 1 || to.port > 65535)) {
    return InvalidArgument("URL \"", url, "\" has a bad port");
  }
  if (to.host.empty()) return InvalidArgument("URL \"", url, "\" has no host");
  return to;
}

StatusOr<std::unique_ptr<Stream>> Stream::Connect(const Endpoint& to, SSL_CTX* tls,
                                                  const std::string& server_name, Deadline deadline,
                                                  CancellationManager* cancel, const Proxy* proxy) {
  TFLEET_ASSIGN_OR_RETURN(int fd, Dial(proxy == nullptr ? to : proxy->at, deadline, cancel));
  SetSocketOptions(fd);
  if (proxy != nullptr) {
    Stream plain(fd, nullptr);
    CancellationManager::Token token = -1;
    if (cancel != nullptr) token = cancel->Register([fd] { shutdown(fd, SHUT_RDWR); });
    const Status opened = OpenTunnel(&plain, *proxy, to, deadline);
    if (token >= 0) cancel->Deregister(token);
    TFLEET_RETURN_IF_ERROR(opened);
    fd = plain.Release();
  }
  SSL* ssl = nullptr;
  if (tls != nullptr) {
    ssl = SSL_new(tls);
    if (ssl == nullptr) {
      close(fd);
      return Internal("SSL_new: ", OpenSslErrors());
    }
    SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
  }
  std::unique_ptr<Stream> stream(new Stream(fd, ssl));
  if (ssl != nullptr && !ExpectName(ssl, server_name)) {
    return Internal("cannot check that the peer is \"", server_name, "\": ", OpenSslErrors());
  }
  if (ssl != nullptr) {
    CancellationManager::Token token = -1;
    if (cancel != nullptr) token = cancel->Register([fd] { shutdown(fd, SHUT_RDWR); });
    Status status = stream->Handshake(deadline);
    if (token >= 0) cancel->Deregister(token);
    if (!status.ok()) return Prefixed(absl::StrCat(to.host, ":", to.port, ": "), status);
  }
  if (cancel != nullptr && cancel->is_cancelled()) return cancel->status();
  return stream;
}

std::unique_ptr<Stream> Stream::Accepted(int fd, SSL_CTX* tls) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  SetSocketOptions(fd);
  SSL* ssl = nullptr;
  if (tls != nullptr) {
    ssl = SSL_new(tls);
    if (ssl == nullptr) {
      close(fd);
      return nullptr;
    }
    SSL_set_fd(ssl, fd);
    SSL_set_accept_state(ssl);
  }
  return std::unique_ptr<Stream>(new Stream(fd, ssl));
}

Stream::~Stream() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  if (fd_ >= 0) close(fd_);
}

Status Stream::WaitForTls(int result, absl::string_view what, Deadline deadline) {
  const int saved_errno = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return PollFor(fd_, POLLIN, what, deadline);
    case SSL_ERROR_WANT_WRITE:
      return PollFor(fd_, POLLOUT, what, deadline);
    case SSL_ERROR_ZERO_RETURN:
      return Unavailable(what, ": peer closed the connection");
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return Unavailable(what, ": ",
                         saved_errno == 0 ? "connection closed" : strerror(saved_errno));
    default: {
      const long verify = SSL_get_verify_result(ssl_);
      const std::string detail = OpenSslErrors();
      if (verify != X509_V_OK && !SSL_is_init_finished(ssl_)) {
        return Unavailable(what, ": the peer's certificate is not accepted: ",
                           X509_verify_cert_error_string(verify));
      }
      return Unavailable(what, ": ", detail);
    }
  }
}

Status Stream::Handshake(Deadline deadline) {
  while (true) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) return OkStatus();
    TFLEET_RETURN_IF_ERROR(WaitForTls(result, "TLS handshake", deadline));
  }
}

StatusOr<size_t> Stream::Read(char* to, size_t size, Deadline deadline) {
  while (true) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      errno = 0;
      const int got = SSL_read(ssl_, to, static_cast<int>(std::min<size_t>(size, 1 << 30)));
      if (got > 0) return static_cast<size_t>(got);
      const int error = SSL_get_error(ssl_, got);
      // Many peers close without the TLS good-bye; the message framing tells whether bytes are
      // missing.
      if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && errno == 0)) return 0;
      TFLEET_RETURN_IF_ERROR(WaitForTls(got, "read", deadline));
    } else {
      const ssize_t got = recv(fd_, to, size, 0);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Unavailable("read: ", strerror(errno));
      TFLEET_RETURN_IF_ERROR(PollFor(fd_, POLLIN, "read", deadline));
    }
  }
}

Status Stream::Write(absl::string_view data, Deadline deadline) {
  while (!data.empty()) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      errno = 0;
      const int put =
          SSL_write(ssl_, data.data(), static_cast<int>(std::min<size_t>(data.size(), 1 << 30)));
      if (put > 0) {
        data.remove_prefix(put);
        continue;
      }
      TFLEET_RETURN_IF_ERROR(WaitForTls(put, "write", deadline));
    } else {
      const ssize_t put = send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (put >= 0) {
        data.remove_prefix(put);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Unavailable("write: ", strerror(errno));
      TFLEET_RETURN_IF_ERROR(PollFor(fd_, POLLOUT, "write", deadline));
    }
  }
  return OkStatus();
}

void Stream::Shutdown() { shutdown(fd_, SHUT_RDWR); }

bool Stream::IsQuiet() {
  char byte;
  if (ssl_ != nullptr) {
    // Session tickets arrive at any time and are not data: SSL_peek digests them.
    ERR_clear_error();
    const int got = SSL_peek(ssl_, &byte, 1);
    const bool waiting = got <= 0 && SSL_get_error(ssl_, got) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return waiting;
  }
  return recv(fd_, &byte, 1, MSG_PEEK) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace tensorfleet::http
