#include "operator/http/dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::http {
namespace {

std::atomic<Resolver> resolver{&getaddrinfo};

// One look-up of a name. Whoever asked may have gone by the time that there is an answer.
struct LookUp {
  ~LookUp() {
    if (found != nullptr) freeaddrinfo(found);
  }
  Mutex mu;
  CondVar changed;
  bool done ABSL_GUARDED_BY(mu) = false;
  bool cancelled ABSL_GUARDED_BY(mu) = false;
  int rc ABSL_GUARDED_BY(mu) = 0;
  addrinfo* found = nullptr;  // written before `done`
};

// A resolver knows no deadlines, and takes half a minute for a name server that is silent: it is
// asked in a thread of its own, which may outlive the question.
StatusOr<std::shared_ptr<LookUp>> Resolve(const Endpoint& to, Deadline deadline,
                                          CancellationManager* cancel) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  auto look_up = std::make_shared<LookUp>();
  const std::string port = std::to_string(to.port);
  if (getaddrinfo(to.host.c_str(), port.c_str(), &hints, &look_up->found) == 0) return look_up;
  static std::atomic<int> under_way{0};
  constexpr int kMaxUnderWay = 16;
  if (under_way >= kMaxUnderWay) {
    return Unavailable("cannot resolve ", to.host, ": name servers do not answer");
  }
  ++under_way;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  std::thread([look_up, hints, port, host = to.host] {
    addrinfo* found = nullptr;
    const int rc = resolver.load()(host.c_str(), port.c_str(), &hints, &found);
    MutexLock lock(&look_up->mu);
    look_up->found = rc == 0 ? found : nullptr;
    look_up->rc = rc;
    look_up->done = true;
    look_up->changed.NotifyAll();
    --under_way;
  }).detach();
  CancellationManager::Token token = -1;
  if (cancel != nullptr) {
    token = cancel->Register([look_up] {
      MutexLock lock(&look_up->mu);
      look_up->cancelled = true;
      look_up->changed.NotifyAll();
    });
    if (token < 0) return cancel->status();
  }
  bool done;
  int rc;
  {
    MutexLock lock(&look_up->mu);
    while (!look_up->done && !look_up->cancelled) {
      const Deadline end = std::min(deadline, After(std::chrono::minutes(1)));
      if (!look_up->changed.WaitUntil(&look_up->mu, end) &&
          std::chrono::steady_clock::now() >= end) {
        break;
      }
    }
    done = look_up->done;
    rc = look_up->rc;
  }
  if (token >= 0) cancel->Deregister(token);
  if (cancel != nullptr && cancel->is_cancelled()) return cancel->status();
  if (!done) return DeadlineExceeded("cannot resolve ", to.host, ": name servers do not answer");
  if (rc != 0) return Unavailable("cannot resolve ", to.host, ": ", gai_strerror(rc));
  return look_up;
}

// The end of an attempt at one of `left` addresses: one that swallows everything must leave time
// for the others.
Deadline ShareOf(Deadline deadline, int left) {
  const auto now = std::chrono::steady_clock::now();
  if (left <= 1 || deadline <= now) return deadline;
  constexpr auto kLongest = std::chrono::seconds(30);
  if (deadline == kNoDeadline) return now + kLongest;
  return now + (deadline - now) / left;
}

}  // namespace

void SetResolverForTesting(Resolver other) { resolver = other; }

Status PollFor(int fd, short events, absl::string_view what, Deadline deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline != kNoDeadline) {
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
                            deadline - std::chrono::steady_clock::now())
                            .count();
      if (left <= 0) return DeadlineExceeded(what, ": time is up");
      timeout_ms = static_cast<int>(std::min<int64_t>((left + 999) / 1000, 1 << 30));
    }
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return Unavailable(what, ": poll: ", strerror(errno));
  }
}

StatusOr<int> Dial(const Endpoint& to, Deadline whole, CancellationManager* cancel) {
  TFLEET_ASSIGN_OR_RETURN(const auto look_up, Resolve(to, whole, cancel));
  int left = 0;
  for (const addrinfo* a = look_up->found; a != nullptr; a = a->ai_next) ++left;
  Status last = Unavailable(to.host, " has no address");
  for (const addrinfo* address = look_up->found; address != nullptr; address = address->ai_next) {
    const Deadline deadline = ShareOf(whole, left--);
    if (cancel != nullptr && cancel->is_cancelled()) {
      last = cancel->status();
      break;
    }
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      last = Unavailable("socket: ", strerror(errno));
      continue;
    }
    const std::string what = absl::StrCat("connect to ", to.host, ":", to.port);
    Status status;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
      if (errno != EINPROGRESS) {
        status = Unavailable(what, ": ", strerror(errno));
      } else {
        CancellationManager::Token token = -1;
        if (cancel != nullptr) token = cancel->Register([fd] { shutdown(fd, SHUT_RDWR); });
        status = PollFor(fd, POLLOUT, what, deadline);
        if (token >= 0) cancel->Deregister(token);
        int error = 0;
        socklen_t size = sizeof(error);
        if (status.ok() && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0) {
          status = Unavailable(what, ": ", strerror(error));
        }
      }
    }
    if (status.ok()) {
      return fd;
    }
    close(fd);
    last = status;
  }
  return last;
}

}  // namespace tensorfleet::http
