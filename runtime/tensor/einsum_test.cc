#include "runtime/tensor/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Dims = std::vector<int64_t>;

StatusOr<EinsumLabels> Label(const std::string& equation, const std::vector<Dims>& shapes) {
  TFLEET_ASSIGN_OR_RETURN(const EinsumEquation parsed, ParseEinsum(equation));
  return LabelDimensions(parsed,
                         std::vector<absl::Span<const int64_t>>(shapes.begin(), shapes.end()));
}

TEST(Einsum, NumbersLettersInTheOrderOfTheirFirstAppearance) {
  const StatusOr<EinsumLabels> labels = Label("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->inputs, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 3)));
  EXPECT_THAT(labels->output, ElementsAre(0, 1, 3));
  EXPECT_THAT(labels->sizes, ElementsAre(2, 3, 4, 5));
}

TEST(Einsum, EllipsesBroadcastFromTheirLastDimension) {
  const StatusOr<EinsumLabels> labels = Label("...i,...i->...", {{7, 1, 3}, {5, 3}});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->inputs, ElementsAre(ElementsAre(2, 1, 0), ElementsAre(1, 0)));
  EXPECT_THAT(labels->output, ElementsAre(2, 1));
  EXPECT_THAT(labels->sizes, ElementsAre(3, 5, 7));
}

TEST(Einsum, OpenDimensionsStayOpenUnlessAnotherInputKnowsThem) {
  const StatusOr<EinsumLabels> labels = Label("ij,jk->ik", {{-1, -1}, {4, -1}});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->sizes, ElementsAre(-1, 4, -1));
}

TEST(Einsum, RefusesWhatIsNoEquation) {
  for (const char* equation :
       {"ij", "ij->ik", "i,j,k->ijk", "i$->i", "...i...->i", "i->...", "ij->i->j"}) {
    EXPECT_EQ(ParseEinsum(equation).status().code(), absl::StatusCode::kInvalidArgument)
        << equation;
  }
}

TEST(Einsum, RefusesShapesThatDoNotFit) {
  EXPECT_THAT(Label("ij,jk->ik", {{2, 3}, {4, 5}}).status().message(), HasSubstr("dimension 3"));
  EXPECT_THAT(Label("ij->i", {{2}}).status().message(), HasSubstr("rank 2"));
  EXPECT_THAT(Label("...ij->i", {{2}}).status().message(), HasSubstr("at least 2"));
  EXPECT_FALSE(Label("ii->i", {{2, 3}}).ok());
  EXPECT_FALSE(Label("...,...->...", {{2}, {3}}).ok());
}

}  // namespace
}  // namespace tensorfleet
