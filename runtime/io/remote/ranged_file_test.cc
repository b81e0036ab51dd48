#include "runtime/io/remote/ranged_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr size_t kMiB = 1 << 20;

// Byte i is i modulo 251.
class Counting : public RangedFile {
 public:
  explicit Counting(uint64_t size) : RangedFile("counting", size) {}
  mutable std::vector<std::pair<uint64_t, size_t>> fetched;

 protected:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    fetched.emplace_back(offset, n);
    std::string out(n, '\0');
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<char>((offset + i) % 251);
    return out;
  }
};

void ReadAndCheck(const RangedFile& file, uint64_t offset, size_t n) {
  std::string out(n, '\0');
  ASSERT_EQ(file.Read(offset, n, out.data()), OkStatus());
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], static_cast<char>((offset + i) % 251)) << i;
}

TEST(RangedFile, SmallReadsInSequenceCostFewRequests) {
  const Counting file(4 * kMiB);
  for (uint64_t at = 0; at < 4 * kMiB; at += kMiB / 4) ReadAndCheck(file, at, kMiB / 4);
  EXPECT_THAT(file.fetched, ElementsAre(Pair(0, kMiB), Pair(kMiB, 2 * kMiB), Pair(3 * kMiB, kMiB)));
}

TEST(RangedFile, AReadElsewhereBeginsASmallWindow) {
  const Counting file(64 * kMiB);
  ReadAndCheck(file, 0, 10);
  ReadAndCheck(file, 32 * kMiB, 10);
  EXPECT_THAT(file.fetched, ElementsAre(Pair(0, kMiB), Pair(32 * kMiB, kMiB)));
}

TEST(RangedFile, AReadAcrossTheWindowsEndIsWhole) {
  const Counting file(8 * kMiB);
  ReadAndCheck(file, 0, 10);
  ReadAndCheck(file, kMiB - 5, 10);
}

TEST(RangedFile, ALargeReadIsFetchedAsItIs) {
  const Counting file(32 * kMiB);
  ReadAndCheck(file, 3, 9 * kMiB);
  EXPECT_THAT(file.fetched, ElementsAre(Pair(3, 9 * kMiB)));
}

TEST(RangedFile, BeyondTheEndNothingIsFetched) {
  const Counting file(10);
  char out[16];
  EXPECT_EQ(file.Read(8, 3, out).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(file.Read(~uint64_t{0}, 3, out).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(file.Read(10, 0, out), OkStatus());
  EXPECT_THAT(file.fetched, IsEmpty());
}

TEST(WholeRange, OneThatIsCutIsAnError) {
  EXPECT_EQ(*WholeRange("abc", "path", 0, 3), "abc");
  EXPECT_EQ(WholeRange("ab", "path", 0, 3).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tensorfleet
