#include "runtime/client/scope.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"
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

// x -> (x + x) in a function "twice", called by PartitionedCall and by its name.
constexpr char kCallsOfTwice[] = R"(
  versions { producer: 1645 }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "called" op: "PartitionedCall" input: "x"
         attr { key: "f" value { func { name: "twice" } } }
         attr { key: "Tin" value { list { type: DT_FLOAT } } }
         attr { key: "Tout" value { list { type: DT_FLOAT } } } }
  node { name: "by_name" op: "twice" input: "called" }
  library { function {
    signature { name: "twice" input_arg { name: "a" type: DT_FLOAT }
                output_arg { name: "sum" type: DT_FLOAT } }
    node_def { name: "add" op: "AddV2" input: "a" input: "a"
               attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "sum" value: "add:z:0" } } })";

tensorflow::GraphDef GraphOf(const std::string& text) {
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def));
  return def;
}

TEST(Scope, ImportsFunctionsWithTheNodesThatCallThem) {
  Scope root;
  ASSERT_TRUE(root.Import(GraphOf(kCallsOfTwice)).ok());
  const Output x = *root.FindOutput("x"), y = *root.FindOutput("by_name");
  const auto session = *Session::Open("");
  const auto values = session->Run(root, {{x, Tensor::Scalar(1.5f)}}, {y});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].scalar<float>(), 6.0f);
  EXPECT_EQ(root.ToGraphDef()->library().function_size(), 1);
}

TEST(Scope, CallsOfImportedFunctionsMayBeAdded) {
  Scope root;
  const Output c = Const(root, 3.0f);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {c}).ok());  // the library grows in an open session
  ASSERT_TRUE(root.Import(GraphOf(kCallsOfTwice)).ok());
  tensorflow::NameAttrList twice;
  twice.set_name("twice");
  const Output y = ops::PartitionedCall(root, {c}, {DType::kFloat}, twice).at(0);
  const auto values = session->Run(root, {}, {y});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].scalar<float>(), 6.0f);
}

TEST(Scope, AnImportThatFailsLeavesNoFunctions) {
  tensorflow::GraphDef def = GraphOf(kCallsOfTwice);
  def.add_node()->set_op("Nonsense");
  Scope root;
  EXPECT_FALSE(root.Import(def).ok());
  EXPECT_EQ(root.ToGraphDef()->library().function_size(), 0);
  EXPECT_TRUE(root.graph().nodes().empty());
}

TEST(Scope, TwoFunctionsOfOneNameDoNotFit) {
  tensorflow::GraphDef other = GraphOf(kCallsOfTwice);
  other.clear_node();
  other.mutable_library()->mutable_function(0)->mutable_node_def(0)->set_op("Subtraction");
  Scope root;
  ASSERT_TRUE(root.Import(GraphOf(kCallsOfTwice)).ok());
  EXPECT_THAT(std::string(root.Import(other).message()), HasSubstr("'twice'"));
}

}  // namespace
}  // namespace tensorfleet
