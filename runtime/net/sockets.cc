#include "runtime/net/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::net {
namespace {

constexpr int kBacklog = 128;
constexpr int kUnacknowledgedMs = 10'000;
constexpr int kIdleSeconds = 20, kProbeSeconds = 5, kProbes = 2;
// Until a process without free descriptors is asked again.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

void Set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

void SetOptions(int fd) {
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

struct AddressList {
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
  addrinfo* first = nullptr;
};

Status Resolve(const std::string& host, int port, int flags, AddressList* out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &out->first);
  if (error != 0) return InvalidArgument(host, ": ", ::gai_strerror(error));
  return OkStatus();
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

StatusOr<int> Open(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Unavailable("socket: ", std::strerror(errno));
  return fd;
}

StatusOr<int> Listen(const sockaddr* address, socklen_t size) {
  TFLEET_ASSIGN_OR_RETURN(const int fd, Open(address->sa_family));
  if (address->sa_family != AF_UNIX) Set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6) Set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(fd, address, size) == 0 && ::listen(fd, kBacklog) == 0) return fd;
  const Status status = Unavailable("cannot listen: ", std::strerror(errno));
  ::close(fd);
  return status;
}

// An abstract address: no file, gone with the socket.
struct LocalAddress {
  explicit LocalAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::copy_n(name.data(), length, address.sun_path + 1);  // after a NUL
    size = offsetof(sockaddr_un, sun_path) + 1 + length;
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

}  // namespace

StatusOr<int> StartConnect(const std::string& ip, int port) {
  AddressList list;
  TFLEET_RETURN_IF_ERROR(Resolve(ip, port, AI_NUMERICHOST, &list));
  const addrinfo& address = *list.first;
  TFLEET_ASSIGN_OR_RETURN(const int fd, Open(address.ai_family));
  SetOptions(fd);
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0 || errno == EINPROGRESS) return fd;
  const Status status = Unavailable(ip, ":", port, ": ", std::strerror(errno));
  ::close(fd);
  return status;
}

StatusOr<int> ConnectLocally(const std::string& name) {
  const LocalAddress address(name);
  TFLEET_ASSIGN_OR_RETURN(const int fd, Open(AF_UNIX));
  if (::connect(fd, address.get(), address.size) == 0) return fd;
  const Status status = Unavailable("@", name, ": ", std::strerror(errno));
  ::close(fd);
  return status;
}

StatusOr<std::shared_ptr<Listener>> Listener::Start(EventLoop* loop, TimerQueue* timers,
                                                    const std::string& host, int port,
                                                    OnConnection on_connection) {
  AddressList list;
  TFLEET_RETURN_IF_ERROR(Resolve(host, port, AI_PASSIVE, &list));
  StatusOr<int> fd = Unavailable("no address");
  for (const addrinfo* it = list.first; it != nullptr && !fd.ok(); it = it->ai_next) {
    fd = Listen(it->ai_addr, it->ai_addrlen);
  }
  // A machine without IPv6 has all its interfaces under the other name.
  if (!fd.ok() && host == "::") return Start(loop, timers, "0.0.0.0", port, on_connection);
  TFLEET_RETURN_IF_ERROR(fd.status());
  return Started(std::shared_ptr<Listener>(
      new Listener(loop, timers, *fd, PortOf(*fd), "", std::move(on_connection))));
}

StatusOr<std::shared_ptr<Listener>> Listener::StartLocally(EventLoop* loop, TimerQueue* timers,
                                                           OnConnection on_connection) {
  const std::string name =
      absl::StrCat("tensorfleet-", absl::Hex(RandomNonZero64(), absl::kZeroPad16),
                   absl::Hex(RandomNonZero64(), absl::kZeroPad16));
  const LocalAddress address(name);
  TFLEET_ASSIGN_OR_RETURN(const int fd, Listen(address.get(), address.size));
  return Started(
      std::shared_ptr<Listener>(new Listener(loop, timers, fd, 0, name, std::move(on_connection))));
}

StatusOr<std::shared_ptr<Listener>> Listener::Started(std::shared_ptr<Listener> listener) {
  {
    MutexLock lock(&listener->mu_);
    TFLEET_ASSIGN_OR_RETURN(listener->registration_, listener->loop_->Add(listener->fd_, listener));
  }
  listener->Arm();
  return listener;
}

Listener::~Listener() { ::close(fd_); }

void Listener::Arm() {
  MutexLock lock(&mu_);
  if (!is_closed_) loop_->Arm(fd_, registration_, EPOLLIN);
}

void Listener::Close() {
  MutexLock lock(&mu_);
  if (is_closed_) return;
  is_closed_ = true;
  loop_->Remove(fd_, registration_);
  ::shutdown(fd_, SHUT_RDWR);
}

void Listener::OnReady(uint32_t) {
  while (true) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      if (name_.empty()) SetOptions(fd);
      on_connection_(fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      timers_->RunAfter(kAcceptPause, [self = shared_from_this()] { self->Arm(); });
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  Arm();
}

}  // namespace tensorfleet::net
