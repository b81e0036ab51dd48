#include "runtime/execute/step_stats.h"

#include "runtime/execute/testing/step_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class StepStatsTest : public StepFixture {
 protected:
  tensorflow::DeviceStepStats Trace(const GraphText& g, int num_results = 1) {
    StepStatsCollector collector;
    stats_ = &collector;
    EXPECT_TRUE(Run(g, num_results).ok());
    stats_ = nullptr;
    tensorflow::StepStats stats;
    collector.Finish(&stats);
    EXPECT_EQ(stats.dev_stats_size(), 1);
    return stats.dev_stats(0);
  }
  static const tensorflow::NodeExecStats* Find(const tensorflow::DeviceStepStats& stats,
                                               const std::string& name) {
    for (const auto& node : stats.node_stats()) {
      if (node.node_name() == name) return &node;
    }
    return nullptr;
  }
};

TEST_F(StepStatsTest, EachNodeIsThereOnceWithItsTimesAndLabel) {
  GraphText g;
  g.Value("x", 3);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 3000);
  g.Add("later", "Later", {"x"}).Attr("micros", 2000);
  g.Add("sum", "Sum", {"slow", "later", "^x"});
  g.Return(0, "sum");
  const tensorflow::DeviceStepStats stats = Trace(g);
  EXPECT_EQ(stats.device(), device_->name());
  std::vector<std::string> names;
  for (const auto& node : stats.node_stats()) names.push_back(node.node_name());
  EXPECT_THAT(names, UnorderedElementsAre("_SOURCE", "x", "slow", "later", "sum"));
  const auto* slow = Find(stats, "slow");
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->timeline_label(), "slow = Slow(x)");
  EXPECT_GE(slow->op_end_rel_nanos() - slow->op_start_rel_nanos(), 3'000'000);
  EXPECT_LE(slow->op_end_rel_nanos(), slow->all_end_rel_nanos());
  EXPECT_EQ(slow->all_start_micros(), slow->all_start_nanos() / 1000);
  EXPECT_GT(slow->thread_id(), 0u);
  const auto* later = Find(stats, "later");
  ASSERT_NE(later, nullptr);
  EXPECT_GE(later->op_end_rel_nanos() - later->op_start_rel_nanos(), 2'000'000);
  EXPECT_EQ(Find(stats, "sum")->timeline_label(), "sum = Sum(slow, later, ^x)");
  EXPECT_EQ(Find(stats, "_SOURCE")->timeline_label(), "_SOURCE = NoOp()");
}

TEST_F(StepStatsTest, DescribesOutputs) {
  GraphText g;
  g.Add("m", "Matrix").Attr("n", 8);
  g.Add("v", "Var");
  g.Value("x", 3);
  g.Add("set", "Assign", {"v", "x"});
  g.Return(0, "m", DType::kFloat);
  StepStatsCollector collector;
  stats_ = &collector;
  auto executor = *Compile(g);
  ASSERT_TRUE(RunTensors(*executor, {}, 1).ok());
  tensorflow::StepStats all;
  collector.Finish(&all);
  const auto* node = Find(all.dev_stats(0), "m");
  ASSERT_EQ(node->output_size(), 1);
  const tensorflow::TensorDescription& tensor = node->output(0).tensor_description();
  EXPECT_EQ(tensor.dtype(), tensorflow::DT_FLOAT);
  EXPECT_EQ(tensor.shape().dim_size(), 2);
  EXPECT_EQ(tensor.allocation_description().requested_bytes(), 256);
  EXPECT_EQ(tensor.allocation_description().allocator_name(), "cpu");
  // A reference shows the variable's value.
  const auto* set = Find(all.dev_stats(0), "set");
  ASSERT_EQ(set->output_size(), 1);
  EXPECT_EQ(set->output(0).tensor_description().shape().dim_size(), 0);
  EXPECT_GT(set->output(0).tensor_description().allocation_description().requested_bytes(), 0);
}

TEST_F(StepStatsTest, LeavesOutTransfersArgumentsResultsAndDeadNodes) {
  GraphText g;
  g.Value("x", 3);
  g.Add("p", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "p"});
  g.Add("dead", "Neg", {"s:0"});
  g.Add("send", "_Send", {"x"})
      .Attr("tensor_name", "t")
      .Attr("send_device", "a")
      .Attr("recv_device", "b")
      .Attr("send_device_incarnation", 7);
  g.Return(0, "x");
  const tensorflow::DeviceStepStats stats = Trace(g, 1);
  EXPECT_EQ(Find(stats, "ret0"), nullptr);
  EXPECT_EQ(Find(stats, "dead"), nullptr);
  EXPECT_EQ(Find(stats, "send"), nullptr);
  EXPECT_NE(Find(stats, "s"), nullptr);
}

TEST_F(StepStatsTest, TakesTransfersFromOthersAndForgetsWhatWasFetched) {
  StepStatsCollector collector;
  collector.AddRpc("/job:ps/replica:0/task:0/device:CPU:0", "RecvTensor",
                   "[24B] [0.2Mb/s] edge_6_v", {1'000'000, 1'000'000, 3'000'000, 3'000'000}, 24);
  tensorflow::StepStats stats;
  collector.Finish(&stats);
  ASSERT_EQ(stats.dev_stats_size(), 1);
  const auto& rpc = stats.dev_stats(0).node_stats(0);
  EXPECT_EQ(rpc.node_name(), "RecvTensor");
  EXPECT_EQ(rpc.timeline_label(), "[24B] [0.2Mb/s] edge_6_v");
  EXPECT_EQ(rpc.all_end_rel_micros(), 2000);
  tensorflow::StepStats none;
  collector.Finish(&none);
  EXPECT_THAT(none.dev_stats(), IsEmpty());
}

}  // namespace
}  // namespace tensorfleet
