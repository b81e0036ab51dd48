// Saving beside training steps: the checkpoint holds the values of its own step.
#include "runtime/train/background_save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/attr.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/add_saver.h"
#include "runtime/train/graph_nodes.h"
#include "runtime/train/testing/counting_model.h"
#include "runtime/train/train_graph.h"

namespace tensorfleet::train {
namespace {

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

// The counting model in a session of this process. Its saver's ops wait until the test opens a
// gate, as they would for a slow disk.
class BackgroundSaveTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    graph_ = *TrainGraphFrom(CountingModel(GetParam()), {});
    graph_.saver = *AddSaver(graph_.variables, &graph_.graph);
    const auto point = AddSnapshotPoint(graph_.saver, kTask, &graph_.graph);
    ASSERT_TRUE(point.ok()) << point.status();
    ASSERT_TRUE(point->has_value());
    AddGate();
    session_ = *Session::Open("");
    ASSERT_TRUE(session_->Extend(graph_.graph).ok());
    ASSERT_TRUE(Run(graph_.init_ops).ok());
    SaverOptions options;
    options.directory = scratch_.path();
    saver_.emplace(*Saver::Open(graph_.saver, options));
    save_.emplace(&*saver_, *point);
  }
  void TearDown() override {
    // A test that fails may have left the gate closed.
    if (session_ != nullptr) session_->Close().IgnoreError();
  }

  void AddGate() {
    for (auto& node : *graph_.graph.mutable_node()) {
      if (node.op() == "SaveV2") node.add_input("^gate/open");
    }
    NodeWriter build("gate/", &graph_.graph);
    const std::vector<DType> types = {DType::kInt64};
    tensorflow::NodeDef* queue = build.Add("queue", "FIFOQueueV2", "", {});
    SetAttr(queue, "component_types", absl::MakeConstSpan(types));
    tensorflow::NodeDef* open = build.Add("open", "QueueDequeueV2", "", {"gate/queue"});
    SetAttr(open, "component_types", absl::MakeConstSpan(types));
    const std::string key = build.Const("key", "", Tensor::Scalar<int64_t>(1));
    tensorflow::NodeDef* give = build.Add("give", "QueueEnqueueV2", "", {"gate/queue", key});
    SetAttr(give, "Tcomponents", absl::MakeConstSpan(types));
  }
  Status OpenGate() { return Run({"gate/give"}); }

  Status Run(const std::vector<std::string>& targets) {
    StepRequest request;
    request.targets = targets;
    request.options.set_timeout_in_ms(20000);
    return session_->Run(request).status();
  }
  std::string Saved(const std::string& prefix, const std::string& name) {
    const auto reader = CheckpointReader::Open(FileSystem::Local(), prefix);
    if (!reader.ok()) return std::string(reader.status().message());
    return (*reader)->Read(name)->ToString();
  }

  ScratchDir scratch_;
  TrainGraph graph_;
  std::unique_ptr<Session> session_;
  std::optional<Saver> saver_;
  std::optional<BackgroundSave> save_;
};

TEST_P(BackgroundSaveTest, StepsGoOnWhileTheBytesGoOut) {
  ASSERT_TRUE(Run(graph_.train_ops).ok());
  ASSERT_TRUE(save_->Begin(*session_, 1).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(graph_.train_ops).ok());
  EXPECT_TRUE(save_->is_under_way());
  EXPECT_FALSE(save_->Poll().has_value());
  ASSERT_TRUE(OpenGate().ok());
  const BackgroundSave::Result result = save_->Wait();
  ASSERT_TRUE(result.prefix.ok()) << result.prefix.status();
  EXPECT_EQ(result.step, 1);
  EXPECT_FALSE(save_->is_under_way());
  // As they were between the first step and the second.
  EXPECT_EQ(Saved(*result.prefix, "w"), "float [2]: 1 1");
  EXPECT_EQ(Saved(*result.prefix, "global_step"), "int64 []: 1");
}

TEST_P(BackgroundSaveTest, ASaveThatFailsHoldsNobodyUp) {
  // Where the directory should be made, a file is in the way.
  ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), scratch_.Path("model.ckpt-1_temp"), "x").ok());
  ASSERT_TRUE(OpenGate().ok());
  ASSERT_TRUE(save_->Begin(*session_, 1).ok());
  EXPECT_FALSE(save_->Wait().prefix.ok());
  // The number of that save may still be in the queue: the next one is not to take it for its own.
  ASSERT_TRUE(save_->Begin(*session_, 2).ok());
  ASSERT_TRUE(Run(graph_.train_ops).ok());
  ASSERT_TRUE(OpenGate().ok());
  const BackgroundSave::Result result = save_->Wait();
  ASSERT_TRUE(result.prefix.ok()) << result.prefix.status();
  EXPECT_EQ(Saved(*result.prefix, "w"), "float [2]: 0 0");
}

TEST_P(BackgroundSaveTest, ClosingTheSessionEndsIt) {
  ASSERT_TRUE(save_->Begin(*session_, 1).ok());
  ASSERT_TRUE(session_->Close().ok());
  EXPECT_FALSE(save_->Wait().prefix.ok());
  EXPECT_FALSE(saver_->latest().has_value());
}

TEST_P(BackgroundSaveTest, WithoutASnapshotPointBeginningIsSaving) {
  BackgroundSave plain(&*saver_, std::nullopt);
  ASSERT_TRUE(OpenGate().ok());
  ASSERT_TRUE(plain.Begin(*session_, 1).ok());
  const auto result = plain.Poll();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->prefix.ok()) << result->prefix.status();
}

INSTANTIATE_TEST_SUITE_P(Variables, BackgroundSaveTest, ::testing::Values(false, true));

TEST(SnapshotPoint, IsNotAddedToASaverOfAnotherMake) {
  tensorflow::GraphDef graph;
  NodeWriter build("", &graph);
  build.Add("save", "SaveSlices", "", {});
  tensorflow::SaverDef saver;
  saver.set_save_tensor_name("save:0");
  const auto point = AddSnapshotPoint(saver, kTask, &graph);
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_FALSE(point->has_value());
  EXPECT_EQ(graph.node_size(), 1);
}

TEST(SnapshotPoint, NamesANodeThatSavesMoreThanItIsGiven) {
  tensorflow::GraphDef graph;
  const std::vector<DType> two = {DType::kFloat, DType::kFloat};
  SetAttr(NodeWriter("", &graph).Add("save", "SaveV2", "", {"a", "b", "c", "d"}), "dtypes",
          absl::MakeConstSpan(two));
  NodeWriter("", &graph).Add("d", "Const", "", {});
  tensorflow::SaverDef saver;
  saver.set_save_tensor_name("save:0");
  EXPECT_THAT(std::string(AddSnapshotPoint(saver, kTask, &graph).status().message()),
              ::testing::HasSubstr("'save'"));
}

}  // namespace
}  // namespace tensorfleet::train
