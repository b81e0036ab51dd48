#include "runtime/train/checkpoint/checkpoint_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/testing/scratch_dir.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

Status Write(const ScratchDir& dir, const std::string& text) {
  return WriteWholeFile(*FileSystem::Local(), JoinPath(dir.path(), "checkpoint"), text);
}

TEST(CheckpointState, AnEmptyDirectoryHasNone) {
  ScratchDir dir;
  EXPECT_EQ(*LatestCheckpoint(dir.path()), std::nullopt);
}

TEST(CheckpointState, NamesAreRelativeToTheDirectory) {
  ScratchDir dir;
  CheckpointList list;
  list.kept.push_back({JoinPath(dir.path(), "model.ckpt-5"), 12.5});
  ASSERT_TRUE(WriteCheckpointList(dir.path(), list).ok());
  EXPECT_THAT(*ReadWholeFile(*FileSystem::Local(), JoinPath(dir.path(), "checkpoint")),
              HasSubstr("model_checkpoint_path: \"model.ckpt-5\""));
  const auto read = ReadCheckpointList(dir.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kept[0].prefix, JoinPath(dir.path(), "model.ckpt-5"));
  EXPECT_EQ(read->kept[0].saved_at, 12.5);
}

TEST(CheckpointState, TheLatestIsTheLastThatIsThere) {
  ScratchDir dir;
  ASSERT_TRUE(Write(dir,
                    "model_checkpoint_path: \"m-2\"\n"
                    "all_model_checkpoint_paths: \"m-1\"\nall_model_checkpoint_paths: \"m-2\"\n")
                  .ok());
  ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), JoinPath(dir.path(), "m-1.index"), "x").ok());
  EXPECT_EQ(**LatestCheckpoint(dir.path()), JoinPath(dir.path(), "m-1"));
}

TEST(CheckpointState, SaysWhereAFileIsMalformed) {
  ScratchDir dir;
  ASSERT_TRUE(Write(dir, "model_checkpoint_path: \"a\"\nnonsense").ok());
  const Status status = ReadCheckpointList(dir.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("line 2"));
}

TEST(CheckpointState, TheStepIsInTheName) {
  EXPECT_EQ(StepOfCheckpoint("/a/model.ckpt-120"), 120);
  EXPECT_EQ(StepOfCheckpoint("/a-1/model.ckpt"), -1);
}

}  // namespace
}  // namespace tensorfleet::train
