#include "runtime/tensor/tensor.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(Tensor, ACopySharesTheBufferUntilItGoes) {
  Tensor a = Tensor::Vector<float>({1, 2, 3});
  {
    const Tensor b = a;
    EXPECT_TRUE(b.SharesBufferWith(a));
    EXPECT_FALSE(a.buffer_is_unique());
  }
  EXPECT_TRUE(a.buffer_is_unique());
}

TEST(Tensor, RowsAreAViewAtTheRightPlace) {
  const Tensor t = Tensor::Of<int32_t>(Shape({3, 2}), {0, 1, 2, 3, 4, 5});
  const Tensor rows = t.Rows(1, 3);
  EXPECT_EQ(rows.shape(), Shape({2, 2}));
  EXPECT_EQ(rows.values<int32_t>()[0], 2);
  EXPECT_TRUE(rows.SharesBufferWith(t));
}

TEST(Tensor, ACloneOfStringsIsIndependent) {
  const Tensor a = Tensor::Vector<std::string>({"x", std::string(100, 'y')});
  Tensor b = *a.Clone();
  b.mutable_values<std::string>()[0] = "changed";
  EXPECT_EQ(a.values<std::string>()[0], "x");
}

TEST(Tensor, RefusesWhatCannotBeAllocated) {
  EXPECT_EQ(Tensor::Allocate(DType::kDouble, Shape({int64_t{1} << 61})).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(RefTo(DType::kFloat), Shape()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Tensor, ATensorWithoutElementsCountsAsIfItsZerosWereOnes) {
  // A loop over 2^40 rows takes as long when they are empty.
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {int64_t{1} << 40, 0}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Tensor::Allocate(DType::kFloat, {0, 1000, 1000}).ok());
}

TEST(Tensor, DimensionsThatAreNoShapeAreAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(Tensor::Allocate(DType::kFloat, {-1, 2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Tensor::Zeros(DType::kFloat, {int64_t{1} << 40, int64_t{1} << 40}).status()));
  EXPECT_EQ(Tensor::Zeros(DType::kFloat, {2, 3})->shape(), Shape({2, 3}));
}

TEST(Tensor, PrintsTheFirstElements) {
  EXPECT_EQ(Tensor::Vector<int64_t>({1, 2, 3}).ToString(2), "int64 [3]: 1 2 ...");
  EXPECT_EQ(Tensor::Of<int32_t>(Shape({2, 2}), {1, 2, 3, 4}).SummarizeValues(3), "[1 2][3...]...");
  EXPECT_EQ(Tensor::Vector<int64_t>({1, 2, 3}).SummarizeValues(2), "1 2...");
  EXPECT_EQ(Tensor::Vector<int64_t>({1, 2}).SummarizeValues(-1), "1 2");
  EXPECT_EQ(Tensor::Vector<float>({1.5f, 1.0f / 3, 1e-10f}).SummarizeValues(-1),
            "1.5 0.333333343 1e-10");
  EXPECT_EQ(Tensor::Scalar(1.0 / 3).SummarizeValues(-1), "0.33333333333333331");
  EXPECT_EQ(Tensor::Scalar<bool>(true).SummarizeValues(3), "1");
}

}  // namespace
}  // namespace tensorfleet
