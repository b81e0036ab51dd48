#include "runtime/tensor/dtype.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(DType, EveryNameReadsBack) {
  for (int number = 0; number < 256; ++number) {
    if (!IsValidDType(number)) continue;
    const DType type = static_cast<DType>(number);
    EXPECT_EQ(*DTypeFromName(DTypeName(type)), type) << number;
  }
}

TEST(DType, KnowsAllTypesOfTheProtocol) {
  int count = 0;
  for (int number = 0; number <= 100; ++number) count += IsValidDType(number);
  EXPECT_EQ(count, 27);
}

TEST(DType, ReferencesAreTheBasePlusAHundred) {
  EXPECT_EQ(static_cast<int>(RefTo(DType::kFloat)), 101);
  EXPECT_EQ(BaseType(RefTo(DType::kString)), DType::kString);
  EXPECT_TRUE(IsRef(RefTo(DType::kInt4)));
  EXPECT_FALSE(IsRef(DType::kUInt4));
}

TEST(DType, AnUnknownNameIsShown) {
  EXPECT_EQ(DTypeFromName("int7").status(), InvalidArgument("\"int7\" is not a dtype"));
}

}  // namespace
}  // namespace tensorfleet
