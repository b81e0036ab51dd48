#include "runtime/train/checkpoint/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/checkpoint/add_saver.h"
#include "runtime/train/job/train_graph.h"
#include "runtime/train/session/readiness.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::train {
namespace {

using ::testing::ElementsAre;

// A session of this process with the counting model, initialised.
class SaverTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    graph_ = *TrainGraphFrom(CountingModel(GetParam()), {});
    graph_.saver = *AddSaver(graph_.variables, &graph_.graph);
    session_ = *Session::Open("");
    ASSERT_TRUE(session_->Extend(graph_.graph).ok());
    ASSERT_TRUE(RunTargets(graph_.init_ops).ok());
    options_.directory = scratch_.path();
    options_.clock = &clock_;
  }
  Status RunTargets(const std::vector<std::string>& targets) {
    StepRequest request;
    request.targets = targets;
    return session_->Run(request).status();
  }
  std::vector<std::string> Kept() {
    std::vector<std::string> names;
    const CheckpointList list = *ReadCheckpointList(scratch_.path());
    for (const KeptCheckpoint& kept : list.kept) {
      names.push_back(kept.prefix.substr(kept.prefix.rfind('/') + 1));
    }
    return names;
  }
  bool Exists(const std::string& name) {
    return FileSystem::Local()->Exists(JoinPath(scratch_.path(), name));
  }

  ScratchDir scratch_;
  ManualClock clock_;
  SaverOptions options_;
  TrainGraph graph_;
  std::unique_ptr<Session> session_;
};

TEST_P(SaverTest, WhatIsSavedIsRestored) {
  Saver saver = *Saver::Open(graph_.saver, options_);
  ASSERT_TRUE(RunTargets(graph_.train_ops).ok());
  const auto prefix = saver.Save(*session_, 1);
  ASSERT_TRUE(prefix.ok()) << prefix.status();
  const auto reader = CheckpointReader::Open(FileSystem::Local(), *prefix);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Read("w")->ToString(), "float [2]: 1 1");

  ASSERT_TRUE(RunTargets(graph_.train_ops).ok());
  ASSERT_TRUE(Restore(graph_.saver, *prefix, {}, *session_).ok());
  StepRequest read;
  read.fetches = {"w/read:0"};
  EXPECT_EQ((*session_->Run(read))[0].ToString(), "float [2]: 1 1");
}

INSTANTIATE_TEST_SUITE_P(Variables, SaverTest, ::testing::Values(false, true));

class Keeping : public SaverTest {};

TEST_P(Keeping, TheOldestGoWhenThereAreTooMany) {
  options_.max_to_keep = 2;
  Saver saver = *Saver::Open(graph_.saver, options_);
  for (int step = 1; step <= 3; ++step) ASSERT_TRUE(saver.Save(*session_, step).ok());
  EXPECT_THAT(Kept(), ElementsAre("model.ckpt-2", "model.ckpt-3"));
  EXPECT_FALSE(Exists("model.ckpt-1.index"));
  EXPECT_FALSE(Exists("model.ckpt-1.data-00000-of-00001"));
  EXPECT_TRUE(Exists("model.ckpt-2.index"));
}

TEST_P(Keeping, ARestartedSaverKnowsWhatIsThere) {
  options_.max_to_keep = 2;
  ASSERT_TRUE(Saver::Open(graph_.saver, options_)->Save(*session_, 1).ok());
  Saver saver = *Saver::Open(graph_.saver, options_);
  EXPECT_EQ(saver.latest(), JoinPath(scratch_.path(), "model.ckpt-1"));
  for (int step = 2; step <= 3; ++step) ASSERT_TRUE(saver.Save(*session_, step).ok());
  EXPECT_FALSE(Exists("model.ckpt-1.index"));
}

TEST_P(Keeping, WhatADeadProcessHasLeftGoes) {
  const std::vector<std::string> left = {".saving-model.ckpt-1f-0-2e.data-00000-of-00001",
                                         "model.ckpt-1.index.tempstate5", "checkpoint.tempstate6",
                                         "model.ckpt-1_temp/part-00000-of-00001.index"};
  ASSERT_TRUE(FileSystem::Local()->CreateDirs(scratch_.Path("model.ckpt-1_temp")).ok());
  const std::vector<std::string> others = {".saving-other-1f", "notes.tempstate", "model.ckpt-1.x"};
  for (const auto* names : {&left, &others}) {
    for (const std::string& name : *names) {
      ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), scratch_.Path(name), "x").ok());
    }
  }
  ASSERT_TRUE(Saver::Open(graph_.saver, options_).ok());
  EXPECT_THAT(*FileSystem::Local()->List(scratch_.path()),
              ::testing::UnorderedElementsAreArray(others));
}

TEST_P(Keeping, AMetaGraphIsWrittenOnce) {
  options_.meta_graph = "bytes";
  options_.max_to_keep = 2;
  Saver saver = *Saver::Open(graph_.saver, options_);
  for (int step = 1; step <= 3; ++step) ASSERT_TRUE(saver.Save(*session_, step).ok());
  const std::string last = scratch_.Path("model.ckpt-3.meta");
  EXPECT_EQ(*ReadWholeFile(*FileSystem::Local(), last), "bytes");
  EXPECT_EQ(std::filesystem::hard_link_count(last), 2u);  // the file of the second one, too
  EXPECT_FALSE(Exists("model.ckpt-1.meta"));
}

TEST_P(Keeping, OneOfSoManyHoursStaysOnTheDisk) {
  options_.max_to_keep = 1;
  options_.keep_every_n_hours = 2;
  Saver saver = *Saver::Open(graph_.saver, options_);
  for (int hour = 1; hour <= 4; ++hour) {
    clock_.Advance(std::chrono::hours(1));
    ASSERT_TRUE(saver.Save(*session_, hour).ok());
  }
  EXPECT_FALSE(Exists("model.ckpt-1.index"));
  EXPECT_TRUE(Exists("model.ckpt-2.index"));
  EXPECT_FALSE(Exists("model.ckpt-3.index"));
  EXPECT_THAT(Kept(), ElementsAre("model.ckpt-4"));
}

TEST_P(Keeping, AMetaGraphLiesBesideEach) {
  options_.meta_graph = "bytes";
  ASSERT_TRUE(Saver::Open(graph_.saver, options_)->Save(*session_, 7).ok());
  EXPECT_EQ(*ReadWholeFile(*FileSystem::Local(), JoinPath(scratch_.path(), "model.ckpt-7.meta")),
            "bytes");
}

INSTANTIATE_TEST_SUITE_P(Files, Keeping, ::testing::Values(false));

class Restoring : public SaverTest {};

TEST_P(Restoring, OnlyTheLostVariablesAreAssigned) {
  const auto nodes = RestoreOnly(graph_.graph, graph_.saver.restore_op_name(), {"w", "unsaved"});
  ASSERT_TRUE(nodes.has_value());
  EXPECT_THAT(*nodes, ElementsAre("fleet_save/shard_0/assign/w"));
}

TEST_P(Restoring, ARestoreThatDoesMoreThanAssignIsRunWhole) {
  EXPECT_FALSE(RestoreOnly(graph_.graph, "loss", {"w"}).has_value());
}

INSTANTIATE_TEST_SUITE_P(Parts, Restoring, ::testing::Values(false));

}  // namespace
}  // namespace tensorfleet::train
