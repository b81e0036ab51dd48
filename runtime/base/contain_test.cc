#include "runtime/base/contain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "runtime/base/cancellation.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(Contained, PassesOnWhatIsReturned) {
  EXPECT_TRUE(Contained([] {}).ok());
  EXPECT_EQ(Contained([] { return NotFound("x"); }), NotFound("x"));
  EXPECT_EQ(*Contained([]() -> StatusOr<int> { return 3; }), 3);
}

TEST(Contained, MemoryThatCannotBeHadIsResourceExhausted) {
  const Status refused = Contained([] { throw std::bad_alloc(); });
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  const Status absurd = Contained([] {
    std::vector<char> all;
    all.resize(std::numeric_limits<size_t>::max());
  });
  EXPECT_TRUE(absl::IsResourceExhausted(absurd)) << absurd;
}

TEST(Contained, WhatElseIsThrownIsInternalWithItsText) {
  const StatusOr<int> got =
      Contained([]() -> StatusOr<int> { throw std::runtime_error("the disk is round"); });
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(got.status().message(), HasSubstr("the disk is round"));
  EXPECT_EQ(Contained([] { throw 3; }).code(), absl::StatusCode::kInternal);
}

TEST(Contained, ALoopThatWasLeftGivesTheReason) {
  CancellationManager cancellation;
  cancellation.LeaveIfCancelled();
  cancellation.StartCancel(DeadlineExceeded("too late"));
  EXPECT_EQ(Contained([&] { cancellation.LeaveIfCancelled(); }), DeadlineExceeded("too late"));
}

}  // namespace
}  // namespace tensorfleet
