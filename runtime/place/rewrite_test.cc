#include "runtime/place/rewrite.h"

#include <gtest/gtest.h>

#include "proto/config.pb.h"

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

}  // namespace
}  // namespace tensorfleet
