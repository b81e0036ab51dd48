#include "runtime/train/optimizer/clipping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/session.h"

namespace tensorfleet::train {
namespace {

std::string Value(const Scope& root, const Output& fetch) {
  const auto values = (*Session::Open(""))->Run(root, {}, {fetch});
  return values.ok() ? (*values)[0].ToString() : std::string(values.status().message());
}

TEST(Clipping, ByValue) {
  Scope root;
  const Gradient g = Const(root, Tensor::Vector<float>({-5, 0.5, 5}));
  EXPECT_EQ(Value(root, ClipByValue(root, g, -1, 2).dense()), "float [3]: -1 0.5 2");
}

TEST(Clipping, ByNormKeepsTheDirection) {
  Scope root;
  const Gradient g = Const(root, Tensor::Vector<float>({3, 4}));
  EXPECT_EQ(Value(root, ClipByNorm(root, g, 2.5).dense()), "float [2]: 1.5 2");
  EXPECT_EQ(Value(root, ClipByNorm(root, g, 10).dense()), "float [2]: 3 4");
}

TEST(Clipping, ByGlobalNormScalesAllAlikeAndLeavesRowsRows) {
  Scope root;
  const Gradient dense = Const(root, Tensor::Vector<float>({3}));
  const Gradient rows = IndexedSlices{Const(root, Tensor::Vector<float>({4})),
                                      Const(root, Tensor::Vector<int64_t>({7})),
                                      Const(root, Tensor::Vector<int64_t>({100}))};
  const auto clipped = ClipByGlobalNorm(root, {dense, Gradient(), rows}, 2.5);
  EXPECT_EQ(Value(root, clipped[0].dense()), "float [1]: 1.5");
  EXPECT_TRUE(clipped[1].is_absent());
  ASSERT_TRUE(clipped[2].is_sparse());
  EXPECT_EQ(Value(root, clipped[2].slices().values), "float [1]: 2");
  EXPECT_EQ(Value(root, GlobalNorm(root, {dense, rows})), "float []: 5");
}

}  // namespace
}  // namespace tensorfleet::train
