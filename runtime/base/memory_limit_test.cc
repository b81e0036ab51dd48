#include "runtime/base/memory_limit.h"

#include <gtest/gtest.h>

#include <new>

namespace tensorfleet {
namespace {

// The limits belong to the process: each test puts them back.
class MemoryLimitTest : public ::testing::Test {
 protected:
  ~MemoryLimitTest() override { SetMemoryLimit(before_); }
  const size_t before_ = MemoryLimit();
};

TEST_F(MemoryLimitTest, WhatFitsIsAllowed) {
  SetMemoryLimit(size_t{1} << 45);
  EXPECT_TRUE(MemoryAllows(size_t{1} << 20));
  EXPECT_FALSE(MemoryAllows(size_t{1} << 46));
}

TEST_F(MemoryLimitTest, WhatIsKnownToBeInUseCounts) {
  SetMemoryLimit(size_t{1} << 45);
  EXPECT_FALSE(MemoryAllows(size_t{1} << 44, /*counted=*/(size_t{1} << 44) + 1));
}

TEST_F(MemoryLimitTest, ALimitIsFoundWithoutAFlag) { EXPECT_GT(MemoryLimit(), size_t{1} << 20); }

#if !defined(__has_feature) || \
    !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
TEST_F(MemoryLimitTest, LargeObjectsAreRefusedAndSmallOnesAreNot) {
  SetMemoryLimit(1);
  // Calls, not expressions: those the compiler may leave out.
  EXPECT_THROW(::operator delete(::operator new(kMemoryWorthLooking)), std::bad_alloc);
  EXPECT_NO_THROW(::operator delete(::operator new(1000)));
  SetMemoryLimit(0);
  EXPECT_NO_THROW(::operator delete(::operator new(kMemoryWorthLooking)));
}
#endif

}  // namespace
}  // namespace tensorfleet
