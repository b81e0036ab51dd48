#include "runtime/execute/local_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

RendezvousKey Key(int i) {
  RendezvousKey key;
  key.text = "a;0000000000000001;b;t" + std::to_string(i) + ";0:0";
  return key;
}

TEST(LocalRendezvous, AReceiverGetsWhatWasSentBefore) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send(Key(1), Tensor::Scalar<float>(3), false).ok());
  int calls = 0;
  rendezvous.RecvAsync(Key(1), [&](const Status& status, Tensor tensor, bool is_dead) {
    ++calls;
    EXPECT_TRUE(status.ok());
    EXPECT_FALSE(is_dead);
    EXPECT_EQ(tensor.scalar<float>(), 3);
  });
  EXPECT_EQ(calls, 1);
}

TEST(LocalRendezvous, AReceiverMayComeFirst) {
  LocalRendezvous rendezvous;
  int calls = 0;
  rendezvous.RecvAsync(Key(1), [&](const Status& status, Tensor, bool is_dead) {
    ++calls;
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(is_dead);
  });
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(rendezvous.Send(Key(1), Tensor(), true).ok());
  EXPECT_EQ(calls, 1);
}

TEST(LocalRendezvous, RefusesAKeyThatIsSentTwice) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send(Key(1), Tensor::Scalar<float>(3), false).ok());
  EXPECT_EQ(rendezvous.Send(Key(1), Tensor::Scalar<float>(3), false).code(),
            absl::StatusCode::kAborted);
}

TEST(LocalRendezvous, ASecondReceiverIsRefusedAndTheFirstStays) {
  LocalRendezvous rendezvous;
  Status first, second;
  rendezvous.RecvAsync(Key(1), [&](const Status& s, Tensor, bool) { first = s; });
  rendezvous.RecvAsync(Key(1), [&](const Status& s, Tensor, bool) { second = s; });
  EXPECT_EQ(second.code(), absl::StatusCode::kInternal);
  first = Unknown("not called");
  ASSERT_TRUE(rendezvous.Send(Key(1), Tensor::Scalar<float>(3), false).ok());
  EXPECT_TRUE(first.ok());
}

TEST(LocalRendezvous, AbortEndsWaitingAndFutureCallsWithTheFirstReason) {
  LocalRendezvous rendezvous;
  Status waiting;
  rendezvous.RecvAsync(Key(1), [&](const Status& s, Tensor, bool) { waiting = s; });
  rendezvous.StartAbort(Unavailable("gone"));
  rendezvous.StartAbort(Internal("later"));
  EXPECT_EQ(waiting.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(rendezvous.Send(Key(2), Tensor(), true).message(), "gone");
  Status late;
  rendezvous.RecvAsync(Key(3), [&](const Status& s, Tensor, bool) { late = s; });
  EXPECT_EQ(late.message(), "gone");
}

TEST(LocalRendezvous, TryRecvTakesWhatIsThereAndDoesNotWait) {
  LocalRendezvous rendezvous;
  Tensor tensor;
  bool is_dead = true;
  EXPECT_EQ(rendezvous.TryRecv(Key(1), &tensor, &is_dead).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(rendezvous.Send(Key(1), Tensor::Scalar<float>(3), false).ok());
  ASSERT_TRUE(rendezvous.TryRecv(Key(1), &tensor, &is_dead).ok());
  EXPECT_FALSE(is_dead);
  EXPECT_EQ(rendezvous.TryRecv(Key(1), &tensor, &is_dead).code(), absl::StatusCode::kNotFound);
}

TEST(LocalRendezvous, DeliversEachValueOnceWhateverTheOrderOfThreads) {
  LocalRendezvous rendezvous;
  constexpr int kKeys = 2000;
  std::vector<std::atomic<int>> got(kKeys);
  std::thread sender([&] {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(rendezvous.Send(Key(i), Tensor::Scalar<int32_t>(i), false).ok());
    }
  });
  for (int i = kKeys - 1; i >= 0; --i) {
    rendezvous.RecvAsync(Key(i), [&got, i](const Status& status, Tensor tensor, bool) {
      if (status.ok() && tensor.scalar<int32_t>() == i) ++got[i];
    });
  }
  sender.join();
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(got[i], 1) << i;
}

TEST(LocalRendezvous, AbortAndSendMayMeet) {
  for (int round = 0; round < 50; ++round) {
    LocalRendezvous rendezvous;
    std::atomic<int> calls{0};
    for (int i = 0; i < 50; ++i) {
      rendezvous.RecvAsync(Key(i), [&](const Status&, Tensor, bool) { ++calls; });
    }
    std::thread aborter([&] { rendezvous.StartAbort(Cancelled("stop")); });
    for (int i = 0; i < 50; ++i) rendezvous.Send(Key(i), Tensor(), true).IgnoreError();
    aborter.join();
    EXPECT_EQ(calls, 50);
  }
}

}  // namespace
}  // namespace tensorfleet
