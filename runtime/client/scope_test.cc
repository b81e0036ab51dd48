#include "runtime/client/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Scope, NamesBecomeUniqueAsTensorFlowMakesThem) {
  Scope root;
  const Output a = Const(root, 1.0f);
  EXPECT_EQ(a.name(), "Const:0");
  EXPECT_EQ(Const(root, 1.0f).name(), "Const_1:0");
  EXPECT_EQ(ops::Neg(root.Named("Const_1"), a).name(), "Const_1_1:0");
  EXPECT_EQ(ops::Neg(root.Named("const"), a).name(), "const_2:0");
  const Scope layer = root.SubScope("layer"), again = root.SubScope("layer");
  EXPECT_EQ(ops::Neg(layer, a).name(), "layer/Neg:0");
  EXPECT_EQ(ops::Neg(again, a).name(), "layer_1/Neg:0");
}

TEST(Scope, InnerDevicesOverrideOnlyWhatTheyName) {
  Scope root;
  const Scope ps = root.OnDevice("/job:ps/task:0");
  EXPECT_EQ(Const(ps.OnDevice("/cpu:0"), 1.0f).node()->requested_device(),
            "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(Const(ps.OnDevice("/task:1"), 1.0f).node()->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(Const(ps.OnDevice(""), 1.0f).node()->requested_device(), "");
}

TEST(Scope, ControlInputsAndColocationReachTheNode) {
  Scope root;
  const Output a = Const(root.Named("a"), 1.0f);
  const Output b = ops::Neg(root.After({a.op()}).ColocatedWith(a.op()), a);
  const StatusOr<tensorflow::GraphDef> def = root.ToGraphDef();
  ASSERT_TRUE(def.ok());
  EXPECT_THAT(def->node(1).input(), ElementsAre("a", "^a"));
  EXPECT_THAT(*GetAttr<std::vector<std::string>>(b.node()->def(), "_class"), ElementsAre("loc:@a"));
}

TEST(Scope, TheFirstErrorStaysAndWhatFollowsIsInvalid) {
  Scope root;
  const Output bad = ops::Add(root.Named("sum"), Const(root, 1.0f), Const(root, int32_t{1}));
  EXPECT_FALSE(bad.is_valid());
  EXPECT_FALSE(ops::Neg(root, bad).is_valid());
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("sum"));
  EXPECT_FALSE(root.ToGraphDef().ok());
}

TEST(Scope, ShapesAreKnownWhileTheGraphIsBuilt) {
  Scope root;
  const Output a = Const(root, Tensor::Of<float>(Shape({2, 1}), {1, 2}));
  const Output b = Const(root, Tensor::Vector<float>({1, 2, 3}));
  EXPECT_EQ(root.ShapeOf(ops::Add(root, a, b)), PartialShape({2, 3}));
}

TEST(Scope, ImportsAGraphAndFindsItsTensors) {
  Scope first;
  ops::Neg(first.Named("n"), Const(first.Named("c"), 2.0f));
  Scope second;
  ASSERT_TRUE(second.Import(*first.ToGraphDef()).ok());
  EXPECT_EQ(second.FindOutput("n")->name(), "n:0");
  EXPECT_EQ(second.FindOutput("gone:0").status().code(), absl::StatusCode::kNotFound);
  // A name that came with the import is taken.
  EXPECT_EQ(Const(second.Named("c"), 1.0f).name(), "c_1:0");
}

}  // namespace
}  // namespace tensorfleet
