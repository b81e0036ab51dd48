#include "runtime/place/rewrite.h"

#include <gtest/gtest.h>

#include "proto/config.pb.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

TEST(RewriteOptionsTest, FollowTheClientsConfiguration) {
  tensorflow::GraphOptions options;
  EXPECT_TRUE(RewriteOptionsFrom(options).fold_constants);
  options.mutable_rewrite_options()->set_constant_folding(tensorflow::RewriterConfig::OFF);
  EXPECT_FALSE(RewriteOptionsFrom(options).fold_constants);
  EXPECT_TRUE(RewriteOptionsFrom(options).merge_equal_nodes);
  EXPECT_TRUE(RewriteOptionsFrom(options).leave_out_unused_values);
  options.mutable_rewrite_options()->set_dependency_optimization(tensorflow::RewriterConfig::OFF);
  EXPECT_FALSE(RewriteOptionsFrom(options).leave_out_unused_values);
  options.mutable_rewrite_options()->set_disable_meta_optimizer(true);
  EXPECT_FALSE(RewriteOptionsFrom(options).inline_functions);
  EXPECT_FALSE(RewriteOptionsFrom(options).merge_equal_nodes);
  EXPECT_TRUE(RewriteOptionsFrom(options).lower_control_flow);
  options.Clear();
  options.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
  options.mutable_optimizer_options()->set_max_folded_constant_in_bytes(7);
  EXPECT_FALSE(RewriteOptionsFrom(options).remove_identities);
  EXPECT_EQ(RewriteOptionsFrom(options).max_folded_bytes, 7);
}

TEST(RewriteGraphTest, BeginsNoPassAfterItWasCancelled) {
  const OpRegistry ops;
  Graph graph(&ops, nullptr);
  CancellationManager cancellation;
  cancellation.StartCancel(Cancelled("nobody waits"));
  RewriteContext context;
  context.cancellation = &cancellation;
  EXPECT_EQ(RewriteGraph(&graph, context), Cancelled("nobody waits"));
}

using ::testing::AllOf;
using ::testing::HasSubstr;

class PassesTest : public testing_place::PlaceTest {
 protected:
  static Status AddNode(Graph* graph, const RewriteContext& context) {
    tensorflow::NodeDef def;
    def.set_name("added");
    def.set_op("NoOp");
    return graph->AddNode(std::move(def)).status();
  }
  static Status Fail(Graph* graph, const RewriteContext& context) { return Aborted("no luck"); }
  static Status LoseAnInput(Graph* graph, const RewriteContext& context) {
    graph->RemoveNode(graph->FindNode("x"));
    return OkStatus();
  }
  static Status CloseACycle(Graph* graph, const RewriteContext& context) {
    graph->AddControlEdge(graph->FindNode("y"), graph->FindNode("x"));
    return OkStatus();
  }
  Status Run(const GraphPass& pass) {
    AddConst("x", 1);
    Add("y", "Neg", {"x"});
    return RunPasses({&pass, 1}, graph_.get(), context_);
  }
  RewriteContext context_;
};

TEST_F(PassesTest, APassThatIsOffDoesNotRun) {
  context_.options.merge_equal_nodes = false;
  EXPECT_TRUE(Run({"add", AddNode, &RewriteOptions::merge_equal_nodes}).ok());
  EXPECT_EQ(graph_->FindNode("added"), nullptr);
}

TEST_F(PassesTest, APassRunsWhereItsSwitchIsOnOrThereIsNone) {
  EXPECT_TRUE(Run({"add", AddNode, &RewriteOptions::merge_equal_nodes}).ok());
  EXPECT_NE(graph_->FindNode("added"), nullptr);
  graph_->RemoveNode(graph_->FindNode("added"));
  const GraphPass always = {"add", AddNode};
  EXPECT_TRUE(RunPasses({&always, 1}, graph_.get(), context_).ok());
  EXPECT_NE(graph_->FindNode("added"), nullptr);
}

TEST_F(PassesTest, AnErrorNamesItsPass) {
  EXPECT_THAT(std::string(Run({"fail", Fail}).message()),
              AllOf(HasSubstr("no luck"), HasSubstr("graph rewrite fail")));
}

TEST_F(PassesTest, WhatIsLeftMustBeAGraph) {
  EXPECT_THAT(std::string(Run({"lose", LoseAnInput}).message()),
              AllOf(HasSubstr("y"), HasSubstr("input 0 is not connected"),
                    HasSubstr("graph rewrite lose")));
}

TEST_F(PassesTest, WhatIsLeftHasNoCycle) {
  EXPECT_THAT(std::string(Run({"close", CloseACycle}).message()),
              AllOf(HasSubstr("cycle"), HasSubstr("graph rewrite close")));
}

}  // namespace
}  // namespace tensorfleet
