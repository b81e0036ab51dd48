#include "runtime/base/status.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(Status, FactoriesConcatenateTheirArguments) {
  EXPECT_EQ(InvalidArgument("axis ", 3, " of ", 2), absl::InvalidArgumentError("axis 3 of 2"));
}

TEST(Status, TheDerivedMarkSurvivesAPrefix) {
  const Status marked = MarkDerived(Aborted("x"));
  EXPECT_TRUE(IsDerived(Prefixed("From /job:ps: ", marked)));
  EXPECT_FALSE(IsDerived(Aborted("x")));
  EXPECT_TRUE(MarkDerived(OkStatus()).ok());
}

TEST(Status, ANodeIsNamedOnceTheInnermostOne) {
  const Status inner = WithNode(Internal("boom"), "a/b");
  EXPECT_EQ(inner.message(), "boom\n\t [[{{node a/b}}]]");
  EXPECT_EQ(WithNode(inner, "outer"), inner);
}

TEST(Status, MacrosReturnTheErrorUnchanged) {
  const auto half = [](int n) -> StatusOr<int> {
    if (n % 2 != 0) return InvalidArgument(n, " is odd");
    return n / 2;
  };
  const auto quarter = [&](int n) -> StatusOr<int> {
    TFLEET_ASSIGN_OR_RETURN(const int h, half(n));
    TFLEET_ASSIGN_OR_RETURN(const int q, half(h));
    return q;
  };
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status(), InvalidArgument("3 is odd"));
}

}  // namespace
}  // namespace tensorfleet
