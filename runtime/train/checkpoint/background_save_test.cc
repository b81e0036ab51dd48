// Saving beside training steps: the checkpoint holds the values of its own step.
#include "runtime/train/checkpoint/background_save.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/attr.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/testing/await_files.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/checkpoint/add_saver.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/job/train_graph.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::train {
namespace {

// The counting model in a session of this process. The second half of a save waits until the test
// opens a gate, as it would for a slow disk.
class BackgroundSaveTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    graph_ = *TrainGraphFrom(CountingModel(GetParam()), {});
    graph_.saver = *AddSaver(graph_.variables, &graph_.graph);
    const auto save = AddSaveGraph(graph_.saver, graph_.train_ops, graph_.global_step_node,
                                   NewStemForParts(scratch_.path()), &graph_.graph);
    ASSERT_TRUE(save.ok()) << save.status();
    ASSERT_TRUE(save->has_value());
    graph_.save = *save;
    AddGate();
    session_ = *Session::Open("");
    ASSERT_TRUE(session_->Extend(graph_.graph).ok());
    ASSERT_TRUE(Run(graph_.init_ops).ok());
    OpenSaver();
    save_.emplace(&*saver_, *graph_.save);
  }
  void TearDown() override {
    // A test that fails may have left the gate closed.
    if (session_ != nullptr) session_->Close().IgnoreError();
  }

  void OpenSaver() {
    SaverOptions options;
    options.directory = scratch_.path();
    saver_.emplace(*Saver::Open(graph_.saver, options));
  }
  void AddGate() {
    for (auto& node : *graph_.graph.mutable_node()) {
      if (node.op() == "FleetEndSave") node.add_input("^gate/open");
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

  StatusOr<std::vector<Tensor>> Run(StepRequest request) {
    request.options.set_timeout_in_ms(20000);
    return session_->Run(request);
  }
  Status Run(const std::vector<std::string>& targets) {
    StepRequest request;
    request.targets = targets;
    return Run(request).status();
  }
  // A training step, at whose end the values are fixed; the global step after it.
  StatusOr<int64_t> StepThatBegins() {
    StepRequest request;
    request.targets = graph_.train_ops;
    request.fetches = {graph_.save->global_step};
    save_->Begin(&request);
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> values, Run(request));
    return values[0].scalar<int64_t>();
  }
  std::string Saved(const std::string& prefix, const std::string& name) {
    const auto reader = CheckpointReader::Open(FileSystem::Local(), prefix);
    if (!reader.ok()) return std::string(reader.status().message());
    return (*reader)->Read(name)->ToString();
  }
  std::vector<std::string> Files() { return *FileSystem::Local()->List(scratch_.path()); }

  ScratchDir scratch_;
  TrainGraph graph_;
  std::unique_ptr<Session> session_;
  std::optional<Saver> saver_;
  std::optional<BackgroundSave> save_;
};

TEST_P(BackgroundSaveTest, StepsGoOnWhileTheBytesGoOut) {
  ASSERT_TRUE(Run(graph_.train_ops).ok());
  const StatusOr<int64_t> step = StepThatBegins();
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step, 2);
  save_->End(*session_, *step);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(graph_.train_ops).ok());
  EXPECT_TRUE(save_->is_under_way());
  EXPECT_FALSE(save_->Poll().has_value());
  ASSERT_TRUE(OpenGate().ok());
  const BackgroundSave::Result result = save_->Wait();
  ASSERT_TRUE(result.prefix.ok()) << result.prefix.status();
  EXPECT_EQ(result.step, 2);
  EXPECT_FALSE(save_->is_under_way());
  // As the second step left them.
  EXPECT_EQ(*result.prefix, scratch_.Path("model.ckpt-2"));
  EXPECT_EQ(Saved(*result.prefix, "w"), "float [2]: 2 2");
  EXPECT_EQ(Saved(*result.prefix, "global_step"), "int64 []: 2");
  EXPECT_THAT(Files(), ::testing::UnorderedElementsAre("checkpoint", "model.ckpt-2.index",
                                                       "model.ckpt-2.data-00000-of-00001"));
}

TEST_P(BackgroundSaveTest, ASaveThatFailsHoldsNobodyUp) {
  // Where the checkpoint's data should be, a directory is in the way.
  const std::string in_the_way = scratch_.Path("model.ckpt-1.data-00000-of-00001");
  ASSERT_TRUE(FileSystem::Local()->CreateDirs(in_the_way).ok());
  ASSERT_TRUE(OpenGate().ok());
  save_->End(*session_, *StepThatBegins());
  EXPECT_FALSE(save_->Wait().prefix.ok());
  EXPECT_THAT(Files(), ::testing::ElementsAre("model.ckpt-1.data-00000-of-00001"));
  ASSERT_TRUE(OpenGate().ok());
  save_->End(*session_, *StepThatBegins());
  const BackgroundSave::Result result = save_->Wait();
  ASSERT_TRUE(result.prefix.ok()) << result.prefix.status();
  EXPECT_EQ(Saved(*result.prefix, "w"), "float [2]: 2 2");
}

TEST_P(BackgroundSaveTest, WhatWasBegunInAStepThatFailedIsDeleted) {
  ASSERT_TRUE(StepThatBegins().ok());
  ASSERT_TRUE(save_->has_begun());
  // The bytes go out, whoever is to wait for them.
  ASSERT_TRUE(AwaitFiles(scratch_.path(), [&] { return !Files().empty(); }));
  save_->Abandon();
  EXPECT_FALSE(save_->has_begun());
  save_.reset();
  OpenSaver();  // which deletes what came late
  EXPECT_THAT(Files(), ::testing::IsEmpty());
}

TEST_P(BackgroundSaveTest, ClosingTheSessionEndsIt) {
  save_->End(*session_, *StepThatBegins());
  ASSERT_TRUE(session_->Close().ok());
  EXPECT_FALSE(save_->Wait().prefix.ok());
  EXPECT_FALSE(saver_->latest().has_value());
}

INSTANTIATE_TEST_SUITE_P(Variables, BackgroundSaveTest, ::testing::Values(false, true));

TEST(AddSaveGraph, LeavesSaversOfAnotherMakeAlone) {
  tensorflow::GraphDef graph;
  NodeWriter build("", &graph);
  build.Add("save", "SaveSlices", "", {});
  tensorflow::SaverDef saver;
  saver.set_save_tensor_name("save:0");
  const auto save = AddSaveGraph(saver, {}, "global_step", "stem", &graph);
  ASSERT_TRUE(save.ok()) << save.status();
  EXPECT_FALSE(save->has_value());
  EXPECT_EQ(graph.node_size(), 1);
}

TEST(AddSaveGraph, NamesANodeThatSavesMoreThanItIsGiven) {
  tensorflow::GraphDef graph;
  const std::vector<DType> two = {DType::kFloat, DType::kFloat};
  SetAttr(NodeWriter("", &graph).Add("save", "SaveV2", "", {"a", "b", "c", "d"}), "dtypes",
          absl::MakeConstSpan(two));
  NodeWriter("", &graph).Add("d", "Const", "", {});
  tensorflow::SaverDef saver;
  saver.set_save_tensor_name("save:0");
  EXPECT_THAT(std::string(AddSaveGraph(saver, {}, "d", "stem", &graph).status().message()),
              ::testing::HasSubstr("'save'"));
}

}  // namespace
}  // namespace tensorfleet::train
