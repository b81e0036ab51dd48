#include "runtime/rpc/testing/swallowing_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "runtime/base/check.h"

namespace tensorfleet::rpc {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool SendAll(int socket, const char* data, ssize_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, static_cast<size_t>(size), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= sent;
  }
  return true;
}

}  // namespace

SwallowingProxy::SwallowingProxy(int target_port) : target_port_(target_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  TFLEET_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  TFLEET_CHECK(::listen(listener_, 16) == 0);
  TFLEET_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  TFLEET_CHECK(::pipe(stop_) == 0);
  thread_ = std::thread([this] { Loop(); });
}

SwallowingProxy::~SwallowingProxy() {
  ::close(stop_[1]);
  thread_.join();
  ::close(stop_[0]);
  ::close(listener_);
  MutexLock lock(&mu_);
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
}

void SwallowingProxy::SwallowOpenConnections() {
  MutexLock lock(&mu_);
  for (Pair& pair : pairs_) pair.is_swallowed = true;
}

void SwallowingProxy::SwallowNextConnection() {
  MutexLock lock(&mu_);
  swallow_next_ = true;
}

int SwallowingProxy::connections() const {
  MutexLock lock(&mu_);
  return connections_;
}

bool SwallowingProxy::AwaitAnswers(int64_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  MutexLock lock(&mu_);
  const int64_t awaited = answers_ + count;
  while (answers_ < awaited) {
    if (!answered_.WaitUntil(&mu_, deadline)) return answers_ >= awaited;
  }
  return true;
}

void SwallowingProxy::Accept() {
  const int client = ::accept(listener_, nullptr, nullptr);
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(target_port_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  pairs_.push_back({client, server, swallow_next_});
  swallow_next_ = false;
  ++connections_;
}

bool SwallowingProxy::Forward(const Pair& pair, int from, int to) {
  char data[1 << 16];
  const ssize_t size = ::recv(from, data, sizeof(data), 0);
  if (size <= 0) return false;
  if (pair.is_swallowed) return true;
  if (to == pair.client) {
    ++answers_;
    answered_.NotifyAll();
  }
  return SendAll(to, data, size);
}

void SwallowingProxy::Loop() {
  while (true) {
    std::vector<pollfd> ready = {{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    {
      MutexLock lock(&mu_);
      for (const Pair& pair : pairs_) {
        ready.push_back({pair.client, POLLIN, 0});
        ready.push_back({pair.server, POLLIN, 0});
      }
    }
    ::poll(ready.data(), ready.size(), -1);
    if (ready[0].revents != 0) return;
    MutexLock lock(&mu_);
    size_t next = 2;
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      const bool from_client = ready[next++].revents != 0;
      const bool from_server = ready[next++].revents != 0;
      if ((!from_client || Forward(*pair, pair->client, pair->server)) &&
          (!from_server || Forward(*pair, pair->server, pair->client))) {
        ++pair;
        continue;
      }
      ::close(pair->client);
      ::close(pair->server);
      pair = pairs_.erase(pair);
    }
    if (ready[1].revents != 0) Accept();
  }
}

}  // namespace tensorfleet::rpc
