#include "runtime/cli/attachment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace tensorfleet::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr absl::Duration kLongEnough = absl::Seconds(20);

// Both ends of a line; the test is the owner.
class AttachmentTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  void TearDown() override {
    attachment_.reset();
    HangUp();
    ::close(ends_[1]);
  }
  void Watch(pid_t owner) {
    StatusOr<std::unique_ptr<Attachment>> opened = Attachment::Open(ends_[1], owner);
    ASSERT_TRUE(opened.ok()) << opened.status();
    attachment_ = *std::move(opened);
    attachment_->Watch([this] { ended_.Notify(); });
  }
  void Tell(const std::string& message) {
    ASSERT_EQ(::send(ends_[0], message.c_str(), message.size() + 1, 0),
              static_cast<ssize_t>(message.size() + 1));
  }
  std::string Hear() {
    std::string message;
    for (char c; ::recv(ends_[0], &c, 1, 0) == 1 && c != '\0';) message += c;
    return message;
  }
  void HangUp() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  bool Ends() { return ended_.WaitForNotificationWithTimeout(kLongEnough); }

  int ends_[2];
  std::unique_ptr<Attachment> attachment_;
  absl::Notification ended_;
};

TEST_F(AttachmentTest, SaysWhereItServesAndWhyItDoesNot) {
  Watch(::getpid());
  attachment_->SayServing("grpc://localhost:2222");
  EXPECT_EQ(Hear(), "serving grpc://localhost:2222");
  attachment_->SayFailed(InvalidArgument("no such job"));
  EXPECT_EQ(Hear(), "failed 3 no such job");
}

TEST_F(AttachmentTest, FollowsItsOwnersFolder) {
  char before[PATH_MAX];
  ASSERT_NE(::getcwd(before, sizeof(before)), nullptr);
  Watch(::getpid());
  Tell("chdir /");
  EXPECT_EQ(Hear(), "done");
  char now[PATH_MAX];
  EXPECT_STREQ(::getcwd(now, sizeof(now)), "/");
  Tell("chdir /there/is/no/such/folder");
  EXPECT_THAT(Hear(), StartsWith("failed 5 /there/is/no/such/folder"));
  ASSERT_EQ(::chdir(before), 0);
}

TEST_F(AttachmentTest, RefusesWhatItDoesNotKnowByName) {
  Watch(::getpid());
  Tell("dance");
  EXPECT_THAT(Hear(), HasSubstr("'dance' is no message"));
}

TEST_F(AttachmentTest, EndsWhenItsOwnerHangsUp) {
  Watch(::getpid());
  HangUp();
  EXPECT_TRUE(Ends());
}

TEST_F(AttachmentTest, EndsWhenAMessageHasNoEnd) {
  Watch(::getpid());
  const std::string endless(100 << 10, 'x');
  ::send(ends_[0], endless.data(), endless.size(), 0);
  EXPECT_TRUE(Ends());
}

// As when the owner has forked a process that outlives it.
TEST_F(AttachmentTest, EndsWithItsOwnerAlthoughTheLineIsHeldOpen) {
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    ::pause();
    ::_exit(0);
  }
  Watch(owner);
  ::kill(owner, SIGKILL);
  EXPECT_TRUE(Ends());
  ::waitpid(owner, nullptr, 0);
}

TEST_F(AttachmentTest, IsRefusedOnAnythingButASocket) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_THAT(Attachment::Open(ends[0], ::getpid()).status().message(), HasSubstr("--attached"));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tensorfleet::cli
