#include "runtime/session/peer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/testing/silent_worker.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

constexpr char kPeer[] = "/job:ps/replica:0/task:0";
constexpr auto kPatience = std::chrono::seconds(30);

class PeerWatchTest : public ::testing::Test {
 protected:
  // Watches the peer, and this process, which need no watching.
  void Watch(std::function<bool(const std::string&)> is_needed) {
    SessionTask own, peer;
    own.name = "/job:worker/replica:0/task:0";
    own.worker = &own_worker_;
    own.is_local = true;
    peer.name = kPeer;
    peer.worker = &peer_worker_;
    PeerWatch::Options options;
    options.timers = &timers_;
    options.tasks = {own, peer};
    options.period = std::chrono::milliseconds(5);
    options.patience = std::chrono::milliseconds(77);
    options.is_needed = std::move(is_needed);
    options.lost = [this](const std::string& task, const Status& why) {
      if (lost_.HasBeenNotified()) return;
      lost_task_ = task;
      why_ = why;
      lost_.Notify();
    };
    watch_ = std::make_shared<PeerWatch>(std::move(options));
    watch_->Start();
  }
  ~PeerWatchTest() override {
    if (watch_ != nullptr) watch_->Stop();
  }

  SilentWorker own_worker_, peer_worker_;
  Notification lost_;
  std::string lost_task_;
  Status why_;
  std::shared_ptr<PeerWatch> watch_;
  TimerQueue timers_;
};

TEST_F(PeerWatchTest, APeerThatDoesNotAnswerIsLost) {
  Watch([](const std::string&) { return true; });
  peer_worker_.WaitForCalls(1);
  EXPECT_EQ(peer_worker_.last_timeout(), std::chrono::milliseconds(77));
  peer_worker_.AnswerAll(DeadlineExceeded("too late"));
  ASSERT_TRUE(lost_.WaitFor(kPatience));
  EXPECT_EQ(lost_task_, kPeer);
  EXPECT_EQ(why_.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(why_.message()), HasSubstr(kPeer));
  EXPECT_EQ(own_worker_.calls(), 0);
}

TEST_F(PeerWatchTest, APeerThatAnswersIsAskedAgain) {
  Watch([](const std::string&) { return true; });
  for (int i = 1; i <= 3; ++i) {
    peer_worker_.WaitForCalls(i);
    peer_worker_.AnswerAll(OkStatus());
  }
  EXPECT_FALSE(lost_.HasBeenNotified());
}

TEST_F(PeerWatchTest, APeerThatNobodyNeedsIsLeftInPeace) {
  std::atomic<int> looks{0};
  Notification looked;
  Watch([&](const std::string& task) {
    EXPECT_EQ(task, kPeer);
    if (++looks == 3) looked.Notify();
    return false;
  });
  ASSERT_TRUE(looked.WaitFor(kPatience));
  EXPECT_EQ(peer_worker_.calls(), 0);
}

TEST_F(PeerWatchTest, NothingIsReportedAfterTheEnd) {
  Watch([](const std::string&) { return true; });
  peer_worker_.WaitForCalls(1);
  watch_->Stop();
  peer_worker_.AnswerAll(Unavailable("gone"));
  EXPECT_FALSE(lost_.HasBeenNotified());
}

}  // namespace
}  // namespace tensorfleet
