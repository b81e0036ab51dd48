#include "runtime/tensor/buffer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tensorfleet {
namespace {

TEST(Buffer, IsAlignedForEverySize) {
  for (const size_t size : {0, 1, 64, 65, 1024, 1025, 1 << 20}) {
    const StatusOr<BufferRef> buffer = AllocateHostBuffer(size);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % kBufferAlignment, 0u) << size;
    EXPECT_EQ((*buffer)->size(), size);
  }
}

TEST(Buffer, RefusesMoreThanTheLimitAndNamesIt) {
  const size_t before = MaxHostBufferBytes();
  SetMaxHostBufferBytes(1000);
  const Status status = AllocateHostBuffer(1001).status();
  SetMaxHostBufferBytes(before);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("1000"), absl::string_view::npos);
}

TEST(Buffer, IsUniqueUntilCopied) {
  BufferRef a = *AllocateHostBuffer(8);
  EXPECT_TRUE(a->unique());
  {
    const BufferRef b = a;
    EXPECT_FALSE(a->unique());
  }
  EXPECT_TRUE(a->unique());
}

TEST(Buffer, AWrappedOneIsReleasedOnce) {
  int released = 0;
  char memory[8];
  {
    const BufferRef a = WrapHostBuffer(memory, sizeof memory, [&] { ++released; });
    const BufferRef b = a;
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, CountsLargeOnesWhileTheyLive) {
  const int64_t before = HostBytesInUse();
  {
    const BufferRef big = *AllocateHostBuffer(1 << 20);
    EXPECT_EQ(HostBytesInUse() - before, 1 << 20);
  }
  EXPECT_EQ(HostBytesInUse(), before);
}

TEST(Buffer, SmallOnesMayBeFreedOnAnotherThread) {
  std::vector<BufferRef> made;
  for (int i = 0; i < 2000; ++i) made.push_back(*AllocateHostBuffer(16));
  std::thread([buffers = std::move(made)]() mutable { buffers.clear(); }).join();
}

}  // namespace
}  // namespace tensorfleet
