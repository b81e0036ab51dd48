#include "operator/http/stream.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "operator/http/dial.h"
#include "operator/http/server.h"

namespace tensorfleet::http {
namespace {

using ::testing::HasSubstr;

std::atomic<int> test_number{0};

// A name server that is silent until the test is over.
int Silent(const char*, const char*, const addrinfo*, addrinfo**) {
  const int mine = test_number;
  while (test_number == mine) std::this_thread::yield();
  return EAI_AGAIN;
}

class LookUps : public ::testing::Test {
 protected:
  ~LookUps() override {
    ++test_number;
    SetResolverForTesting(&getaddrinfo);
  }
};

TEST_F(LookUps, KeepToTheDeadline) {
  SetResolverForTesting(&Silent);
  const Status status = Stream::Connect({"api.example", 443, false}, nullptr, "",
                                        After(std::chrono::milliseconds(100)), nullptr)
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(status.message(), HasSubstr("cannot resolve api.example"));
}

TEST_F(LookUps, EndWhenTheyAreCancelled) {
  SetResolverForTesting(&Silent);
  CancellationManager cancel;
  std::thread stop([&] { cancel.StartCancel(); });
  const Status status =
      Stream::Connect({"api.example", 443, false}, nullptr, "", kNoDeadline, &cancel).status();
  stop.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
}

// Two addresses of one name: the first takes connections and lets them wait for ever, since its
// queue is full.
int full_port = 0, good_port = 0;
int TwoAddresses(const char*, const char*, const addrinfo*, addrinfo** found) {
  addrinfo *first = nullptr, *second = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  getaddrinfo("127.0.0.1", std::to_string(full_port).c_str(), &hints, &first);
  getaddrinfo("127.0.0.1", std::to_string(good_port).c_str(), &hints, &second);
  first->ai_next = second;
  *found = first;
  return 0;
}

TEST_F(LookUps, OfSeveralAddressesEachGetsItsShareOfTheTime) {
  auto server = *Server::Start({}, [](const ServerRequest&, ResponseWriter& writer) {
    (void)writer.Send(200, "text/plain", "ok");
  });
  const int full = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(full, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  ASSERT_EQ(listen(full, 0), 0);
  socklen_t size = sizeof(where);
  getsockname(full, reinterpret_cast<sockaddr*>(&where), &size);
  std::vector<int> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    (void)connect(waiting.back(), reinterpret_cast<sockaddr*>(&where), sizeof(where));
  }
  full_port = ntohs(where.sin_port);
  good_port = server->port();
  SetResolverForTesting(&TwoAddresses);
  const auto stream = Stream::Connect({"api.example", 1, false}, nullptr, "",
                                      After(std::chrono::seconds(4)), nullptr);
  EXPECT_TRUE(stream.ok()) << stream.status();
  for (const int fd : waiting) close(fd);
  close(full);
}

}  // namespace
}  // namespace tensorfleet::http
