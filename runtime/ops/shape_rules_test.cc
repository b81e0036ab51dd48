#include "runtime/ops/shape_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

using shapes::BroadcastPartial;
using ::testing::HasSubstr;

TEST(BroadcastPartial, OnesGiveWayFromTheRight) {
  EXPECT_EQ(*BroadcastPartial({2, 1, 3}, {4, 1}), PartialShape({2, 4, 3}));
  EXPECT_EQ(*BroadcastPartial(PartialShape(Shape()), {5}), PartialShape({5}));
}

TEST(BroadcastPartial, AnOpenDimensionYieldsToOneThatIsKnownAndNotOne) {
  EXPECT_EQ(*BroadcastPartial({-1, 3}, {2, -1}), PartialShape({2, 3}));
  EXPECT_EQ(*BroadcastPartial({-1}, {1}), PartialShape({-1}));
  EXPECT_EQ(*BroadcastPartial(PartialShape::Unknown(), {2}), PartialShape::Unknown());
}

TEST(BroadcastPartial, RefusesDimensionsThatDiffer) {
  EXPECT_THAT(BroadcastPartial({2, 3}, {2, 4}).status().message(),
              HasSubstr("Dimensions must be equal, but are 3 and 4"));
}

// Runs the rule of `op` on a node whose attributes are those of `edit`.
StatusOr<PartialShape> Infer(const char* op, std::vector<PartialShape> inputs,
                             std::vector<const Tensor*> constants,
                             void (*edit)(tensorflow::NodeDef*) = nullptr) {
  Graph graph(&BuiltinOps(), nullptr);
  tensorflow::NodeDef def;
  def.set_name("node");
  def.set_op(op);
  SetAttr(&def, "T", DType::kFloat);
  if (edit != nullptr) edit(&def);
  TFLEET_ASSIGN_OR_RETURN(Node * node, graph.AddNode(def));
  ShapeContext ctx(*node, std::move(inputs), std::move(constants));
  TFLEET_RETURN_IF_ERROR(node->schema().shape_fn(ctx));
  return ctx.output(0);
}

TEST(Reduction, DropsTheAxesItIsGiven) {
  const Tensor axes = Tensor::Vector<int32_t>({0, -1});
  EXPECT_EQ(*Infer("Sum", {{2, 3, -1}, {2}}, {nullptr, &axes}), PartialShape({3}));
  EXPECT_EQ(*Infer("Sum", {{2, 3, -1}, {2}}, {nullptr, &axes},
                   [](tensorflow::NodeDef* def) { SetAttr(def, "keep_dims", true); }),
            PartialShape({1, 3, 1}));
}

TEST(Reduction, KnowsOnlyTheRankWhenAxesAreComputedAndDimensionsKept) {
  EXPECT_EQ(*Infer("Sum", {{2, 3}, {1}}, {nullptr, nullptr}), PartialShape::Unknown());
  EXPECT_EQ(*Infer("Sum", {{2, 3}, {1}}, {nullptr, nullptr},
                   [](tensorflow::NodeDef* def) { SetAttr(def, "keep_dims", true); }),
            PartialShape({-1, -1}));
}

TEST(Reduction, RefusesAnAxisBeyondTheRank) {
  const Tensor axes = Tensor::Vector<int32_t>({2});
  EXPECT_THAT(Infer("Sum", {{2, 3}, {1}}, {nullptr, &axes}).status().message(),
              HasSubstr("Invalid reduction dimension 2 for input with 2 dimensions."));
}

TEST(MatMulShape, MultipliesTransposedMatrices) {
  EXPECT_EQ(*Infer("MatMul", {{3, 2}, {3, -1}}, {nullptr, nullptr},
                   [](tensorflow::NodeDef* def) { SetAttr(def, "transpose_a", true); }),
            PartialShape({2, -1}));
  EXPECT_THAT(Infer("MatMul", {{3, 2}, {3, 4}}, {nullptr, nullptr}).status().message(),
              HasSubstr("Dimensions must be equal, but are 2 and 3"));
}

}  // namespace
}  // namespace tensorfleet
