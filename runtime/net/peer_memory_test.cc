#include "runtime/net/peer_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "runtime/base/timer_queue.h"
#include "runtime/net/sockets.h"

namespace tensorfleet::net {
namespace {

constexpr size_t kSize = (1 << 20) + 17;

// A process like this one in which `data` is full of 'b', and a connection to it.
class PeerMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> names;
    ASSERT_EQ(::pipe(names.data()), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) Live(names[1]);
    ::close(names[1]);
    std::string name(128, '\0');
    const ssize_t length = ::read(names[0], name.data(), name.size());
    ::close(names[0]);
    ASSERT_GT(length, 0);
    name.resize(length);
    const StatusOr<int> fd = ConnectLocally(name);
    ASSERT_TRUE(fd.ok()) << fd.status();
    fd_ = *fd;
  }
  void TearDown() override {
    Kill();
    if (fd_ >= 0) ::close(fd_);
  }
  void Kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_.data()); }

  std::vector<char> data_ = std::vector<char>(kSize, 'a');
  int fd_ = -1;

 private:
  [[noreturn]] void Live(int names) {
    std::fill(data_.begin(), data_.end(), 'b');
    TimerQueue timers;
    const auto loop = *EventLoop::Start(1, nullptr);
    const auto listener = *Listener::StartLocally(loop.get(), &timers, [](int) {});
    if (::write(names, listener->name().data(), listener->name().size()) < 0) ::_exit(1);
    while (true) ::pause();
  }
  pid_t child_ = 0;
};

TEST_F(PeerMemoryTest, IsReadAsItIsThere) {
  const auto memory = PeerMemory::Of(fd_);
  ASSERT_NE(memory, nullptr);
  std::vector<char> copy(kSize);
  if (!memory->Read(address(), kSize, copy.data())) {
    GTEST_SKIP() << "this kernel lets no process read another's memory";
  }
  EXPECT_EQ(copy, std::vector<char>(kSize, 'b'));
}

TEST_F(PeerMemoryTest, WhereNothingIsNothingIsRead) {
  const auto memory = PeerMemory::Of(fd_);
  ASSERT_NE(memory, nullptr);
  char byte = 0;
  EXPECT_FALSE(memory->Read(0, 1, &byte));
  EXPECT_FALSE(memory->Read(UINT64_MAX - 1, 1, &byte));
}

TEST_F(PeerMemoryTest, OfAProcessThatHasEndedIsNotRead) {
  const auto memory = PeerMemory::Of(fd_);
  ASSERT_NE(memory, nullptr);
  Kill();
  std::vector<char> copy(kSize);
  EXPECT_FALSE(memory->Read(address(), kSize, copy.data()));
}

TEST(PeerMemory, OfAnotherMachineCannotBeHad) {
  TimerQueue timers;
  const auto loop = *EventLoop::Start(1, nullptr);
  const auto listener =
      *Listener::Start(loop.get(), &timers, "127.0.0.1", 0, [](int fd) { ::close(fd); });
  const StatusOr<int> fd = StartConnect("127.0.0.1", listener->port());
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(PeerMemory::Of(*fd), nullptr);
  ::close(*fd);
  listener->Close();
}

}  // namespace
}  // namespace tensorfleet::net
