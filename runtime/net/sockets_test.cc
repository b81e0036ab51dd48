#include "runtime/net/sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <poll.h>

namespace tensorfleet::net {
namespace {

using ::testing::HasSubstr;

constexpr auto kTimeout = std::chrono::seconds(20);

struct Listening {
  explicit Listening(const std::string& host) {
    listener = *Listener::Start(loop.get(), &timers, host, 0, [this](int fd) {
      ::close(fd);
      accepted.Notify();
    });
  }
  ~Listening() { listener->Close(); }
  Notification accepted;
  TimerQueue timers;
  std::shared_ptr<Listener> listener;
  std::unique_ptr<EventLoop> loop = *EventLoop::Start(1, nullptr);
};

TEST(Sockets, AListenerIsReachedAtThePortThatItNames) {
  for (const char* host : {"127.0.0.1", "localhost", "::"}) {
    Listening listening(host);
    const StatusOr<int> fd = StartConnect("127.0.0.1", listening.listener->port());
    if (std::string(host) != "localhost") {  // which may be the other family's
      ASSERT_TRUE(fd.ok());
      EXPECT_TRUE(listening.accepted.WaitFor(kTimeout)) << host;
    }
    if (fd.ok()) ::close(*fd);
  }
}

TEST(Sockets, AListenerWithANameIsReachedByItOnThisMachine) {
  TimerQueue timers;
  const auto loop = *EventLoop::Start(1, nullptr);
  Notification accepted;
  const auto listener = *Listener::StartLocally(loop.get(), &timers, [&](int fd) {
    ::close(fd);
    accepted.Notify();
  });
  EXPECT_NE(listener->name(), "");
  const StatusOr<int> fd = ConnectLocally(listener->name());
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_TRUE(accepted.WaitFor(kTimeout));
  ::close(*fd);
  listener->Close();
  EXPECT_EQ(ConnectLocally(listener->name()).status().code(), absl::StatusCode::kUnavailable);
}

TEST(Sockets, NamesThatNobodyListensByAreUnavailable) {
  for (const std::string& name : {std::string("nobody"), std::string(500, 'x'), std::string()}) {
    EXPECT_EQ(ConnectLocally(name).status().code(), absl::StatusCode::kUnavailable) << name;
  }
}

TEST(Sockets, ATakenPortIsUnavailable) {
  Listening listening("127.0.0.1");
  const auto second = Listener::Start(listening.loop.get(), &listening.timers, "127.0.0.1",
                                      listening.listener->port(), [](int fd) { ::close(fd); });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

TEST(Sockets, OnlyNumericAddressesAreConnectedTo) {
  for (const char* address : {"", "localhost", "host:22", "[::1]"}) {
    EXPECT_EQ(StartConnect(address, 1).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST(Sockets, AClosedListenerAcceptsNothing) {
  Listening listening("127.0.0.1");
  const int port = listening.listener->port();
  listening.listener->Close();
  const StatusOr<int> fd = StartConnect("127.0.0.1", port);
  if (!fd.ok()) return;
  pollfd waiting{*fd, POLLIN | POLLOUT, 0};
  ASSERT_EQ(::poll(&waiting, 1, 20'000), 1);
  EXPECT_TRUE(waiting.revents & (POLLERR | POLLHUP));
  ::close(*fd);
}

}  // namespace
}  // namespace tensorfleet::net
