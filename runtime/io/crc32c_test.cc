#include "runtime/io/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorfleet {
namespace {

TEST(Crc32c, AgreesWithTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32c, ExtendingIsTheSameAsTakingAllAtOnce) {
  const std::string text = "the quick brown fox";
  EXPECT_EQ(ExtendCrc32c(Crc32c(text.substr(0, 7)), text.substr(7)), Crc32c(text));
}

TEST(Crc32c, UnmaskingUndoesMasking) {
  for (const uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
    EXPECT_NE(MaskCrc(crc), crc);
    EXPECT_EQ(UnmaskCrc(MaskCrc(crc)), crc);
  }
}

}  // namespace
}  // namespace tensorfleet
