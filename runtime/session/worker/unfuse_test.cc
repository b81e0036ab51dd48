#include "runtime/session/worker/unfuse.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::GraphDef GraphOf(const std::string& text) {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
  return graph;
}

std::string FusedOps(const std::vector<std::string>& ops) {
  return absl::StrCat("attr { key: 'fused_ops' value { list { s: '", absl::StrJoin(ops, "' s: '"),
                      "' } } }");
}

// Each node as "name = Op(inputs)".
std::vector<std::string> Lines(
    const google::protobuf::RepeatedPtrField<tensorflow::NodeDef>& nodes) {
  std::vector<std::string> lines;
  for (const tensorflow::NodeDef& node : nodes) {
    lines.push_back(
        absl::StrCat(node.name(), " = ", node.op(), "(", absl::StrJoin(node.input(), ", "), ")"));
  }
  return lines;
}

Status UnfuseIt(tensorflow::GraphDef* graph) { return Unfuse(BuiltinOps(), graph); }

TEST(Unfuse, TakesAConvolutionWithBiasAndActivationApart) {
  tensorflow::GraphDef graph = GraphOf(absl::StrCat(
      R"(node { name: "c" op: "_FusedConv2D" input: "x:0" input: "f" input: "b" input: "^k"
                device: "/cpu:0"
                attr { key: "T" value { type: DT_FLOAT } }
                attr { key: "data_format" value { s: "NCHW" } }
                attr { key: "num_args" value { i: 1 } }
                attr { key: "leakyrelu_alpha" value { f: 0.5 } } )",
      FusedOps({"BiasAdd", "LeakyRelu"}),
      R"( } node { name: "use" op: "Neg" input: "c:0" input: "^c" })"));
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("c = Conv2D(x:0, f, ^k)", "use = Neg(c/unfused_2, ^c)",
                          "c/unfused_1 = BiasAdd(c, b)", "c/unfused_2 = LeakyRelu(c/unfused_1)"));
  EXPECT_FALSE(graph.node(0).attr().contains("fused_ops"));
  EXPECT_EQ(graph.node(2).attr().at("data_format").s(), "NCHW");
  EXPECT_EQ(graph.node(3).attr().at("alpha").f(), 0.5f);
  EXPECT_EQ(graph.node(3).device(), "/cpu:0");
}

TEST(Unfuse, TakesBatchNormalizationBehindAConvolutionApart) {
  tensorflow::GraphDef graph = GraphOf(absl::StrCat(
      R"(node { name: "c" op: "_FusedConv2D" input: "x" input: "f"
                input: "scale" input: "offset" input: "mean" input: "variance"
                attr { key: "epsilon" value { f: 0.25 } } )",
      FusedOps({"FusedBatchNorm"}), "}"));
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("c = Conv2D(x, f)",
                          "c/unfused_1 = FusedBatchNormV3(c, scale, offset, mean, variance)"));
  EXPECT_EQ(graph.node(1).attr().at("epsilon").f(), 0.25f);
  EXPECT_FALSE(graph.node(1).attr().at("is_training").b());
}

TEST(Unfuse, LeavesTheOtherOutputsOfANormalizationWithIt) {
  tensorflow::GraphDef graph =
      GraphOf(R"(node { name: "n" op: "_FusedBatchNormEx" input: "x" input: "scale" input: "offset"
                        input: "mean" input: "variance" input: "side"
                        attr { key: "activation_mode" value { s: "Relu" } } }
                 node { name: "use" op: "Add" input: "n" input: "n:1" })");
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("n = FusedBatchNormV3(x, scale, offset, mean, variance)",
                          "use = Add(n/unfused_2, n:1)", "n/unfused_1 = AddV2(n, side)",
                          "n/unfused_2 = Relu(n/unfused_1)"));
}

TEST(Unfuse, FollowsFromOneFusedNodeToTheNext) {
  tensorflow::GraphDef graph = GraphOf(
      R"(node { name: "b" op: "_MklSwish" input: "a" }
         node { name: "a" op: "_UnaryOpsComposition" input: "x"
                attr { key: "op_names" value { list { s: "Abs" s: "Sqrt" } } } })");
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("b = Sigmoid(a/unfused_1)", "a = Abs(x)",
                          "b/unfused_1 = Mul(b, a/unfused_1)", "a/unfused_1 = Sqrt(a)"));
}

TEST(Unfuse, KnowsTheTypeThatAMasterLeavesOut) {
  tensorflow::GraphDef graph = GraphOf(R"(node { name: "s" op: "_MklSwish" input: "x" })");
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_EQ(graph.node(0).attr().at("T").type(), tensorflow::DT_FLOAT);
  EXPECT_EQ(graph.node(1).attr().at("T").type(), tensorflow::DT_FLOAT);
}

TEST(Unfuse, LetsTheUpdatesOfAParallelConcatFollowEachOther) {
  tensorflow::GraphDef graph = GraphOf(
      R"(node { name: "i" op: "Identity" input: "s" input: "^u" input: "^v" }
         node { name: "u" op: "_ParallelConcatUpdate" input: "s" input: "x" }
         node { name: "s" op: "_ParallelConcatStart" }
         node { name: "v" op: "_ParallelConcatUpdate" input: "s:0" input: "y" })");
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("i = Identity(v, ^u, ^v)", "u = _ParallelConcatUpdate(s, x)",
                          "s = _ParallelConcatStart()", "v = _ParallelConcatUpdate(u, y)"));
}

TEST(Unfuse, LeavesAMatMulThatHasAKernelAndTakesOthersApart) {
  tensorflow::GraphDef graph = GraphOf(
      absl::StrCat(R"(node { name: "m" op: "_FusedMatMul" input: "x" input: "w" input: "b" )",
                   FusedOps({"BiasAdd", "Relu"}),
                   R"( } node { name: "s" op: "_FusedMatMul" input: "x" input: "w" input: "b"
                                        input: "more" )",
                   FusedOps({"BiasAdd", "Add"}), "}"));
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  EXPECT_THAT(Lines(graph.node()),
              ElementsAre("m = _FusedMatMul(x, w, b)", "s = MatMul(x, w)",
                          "s/unfused_1 = BiasAdd(s, b)", "s/unfused_2 = AddV2(s/unfused_1, more)"));
}

TEST(Unfuse, KnowsTheNamesOfOutputsInFunctions) {
  tensorflow::GraphDef graph = GraphOf(absl::StrCat(
      R"(library { function {
           node_def { name: "c" op: "_FusedConv2D" input: "x" input: "f" input: "b" )",
      FusedOps({"BiasAdd", "Relu"}),
      R"( } node_def { name: "use" op: "Neg" input: "c:output:0" }
           ret { key: "out" value: "c:output:0" } ret { key: "neg" value: "use:y:0" } } })"));
  ASSERT_EQ(UnfuseIt(&graph), OkStatus());
  const tensorflow::FunctionDef& function = graph.library().function(0);
  EXPECT_THAT(Lines(function.node_def()),
              ElementsAre("c = Conv2D(x, f)", "use = Neg(c/unfused_2:activations:0)",
                          "c/unfused_1 = BiasAdd(c:output:0, b)",
                          "c/unfused_2 = Relu(c/unfused_1:output:0)"));
  EXPECT_EQ(function.ret().at("out"), "c/unfused_2:activations:0");
  EXPECT_EQ(function.ret().at("neg"), "use:y:0");
}

TEST(Unfuse, RefusesWhatItDoesNotKnowWithTheWayAround) {
  tensorflow::GraphDef graph = GraphOf(
      absl::StrCat(R"(node { name: "c" op: "_FusedConv2D" input: "x" input: "f" input: "b" )",
                   FusedOps({"BiasAdd", "Swirl"}), "}"));
  const Status status = UnfuseIt(&graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("_FusedConv2D of [BiasAdd,Swirl]"));
  EXPECT_THAT(status.message(), HasSubstr("remapping = OFF"));
}

TEST(Unfuse, RefusesNodesWithTooFewOrTooManyInputs) {
  for (const char* inputs :
       {"", "input: 'x'", "input: 'x' input: 'f'", "input: 'x' input: 'f' input: 'b' input: 'z'"}) {
    tensorflow::GraphDef graph = GraphOf(
        absl::StrCat("node { name: 'c' op: '_FusedConv2D' ", inputs, FusedOps({"BiasAdd"}), "}"));
    EXPECT_FALSE(UnfuseIt(&graph).ok()) << inputs;
  }
  tensorflow::GraphDef chain = GraphOf(
      R"(node { name: "a" op: "_UnaryOpsComposition" input: "x"
                attr { key: "op_names" value { list { s: "Abs" s: "MatMul" } } } })");
  EXPECT_EQ(UnfuseIt(&chain).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tensorfleet
