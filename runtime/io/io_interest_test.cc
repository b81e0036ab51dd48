#include "runtime/io/io_interest.h"

#include <gtest/gtest.h>

#include <thread>

namespace tensorfleet {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(IoInterest, LastsWhereNobodyMayCancel) {
  EXPECT_EQ(IoInterest(), OkStatus());
  EXPECT_EQ(PauseIo(milliseconds(1)), OkStatus());
}

TEST(IoInterest, IsTheInnermostScopes) {
  CancellationManager outer, inner;
  const ScopedIoInterest outside(&outer);
  outer.StartCancel(Cancelled("outer"));
  {
    const ScopedIoInterest inside(&inner);
    EXPECT_EQ(IoInterest(), OkStatus());
  }
  EXPECT_EQ(IoInterest(), Cancelled("outer"));
}

TEST(IoInterest, APauseEndsWithIt) {
  CancellationManager cancellation;
  const ScopedIoInterest interest(&cancellation);
  std::thread canceller([&] { cancellation.StartCancel(Cancelled("enough")); });
  EXPECT_EQ(PauseIo(hours(1)), Cancelled("enough"));
  canceller.join();
  EXPECT_EQ(PauseIo(hours(1)), Cancelled("enough")) << "a pause that begins too late ends at once";
}

}  // namespace
}  // namespace tensorfleet
