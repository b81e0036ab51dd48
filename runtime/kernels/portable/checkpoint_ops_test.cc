// SaveV2, RestoreV2 and their kin through their kernels; files as such are tested in runtime/io.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

using Names = std::vector<std::string>;

class CheckpointOpsTest : public OpTest {
 protected:
  Status Save(const std::string& prefix, const Names& names, const Names& specs,
              std::vector<Tensor> tensors) {
    std::vector<OpInput> inputs = {Tensor::Scalar(prefix), Tensor::Vector<std::string>(names),
                                   Tensor::Vector<std::string>(specs)};
    for (Tensor& t : tensors) inputs.push_back(std::move(t));
    return Run("SaveV2", std::move(inputs)).status();
  }
  StatusOr<std::vector<Tensor>> Restore(const std::string& prefix, const Names& names,
                                        const Names& specs, const std::vector<DType>& types) {
    return Run(OpNode("RestoreV2").Attr("dtypes", absl::Span<const DType>(types)),
               {Tensor::Scalar(prefix), Tensor::Vector<std::string>(names),
                Tensor::Vector<std::string>(specs)});
  }
  ScratchDir dir_;
  const std::string prefix_ = dir_.Path("a/model");
  const Tensor matrix_ = Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6});
};

TEST_F(CheckpointOpsTest, RestoresWhatWasSavedWholeAndInSlices) {
  ASSERT_EQ(Save(prefix_, {"m", "s"}, {"", ""}, {matrix_, Tensor::Scalar<int64_t>(7)}), OkStatus());
  const auto restored = Restore(prefix_, {"m", "s", "m"}, {"", "", "3 2 1,2:1,1"},
                                {DType::kFloat, DType::kInt64, DType::kFloat});
  ASSERT_EQ(restored.status(), OkStatus());
  ExpectSame((*restored)[0], matrix_);
  ExpectSame((*restored)[1], Tensor::Scalar<int64_t>(7));
  ExpectSame((*restored)[2], Tensor::Of<float>(Shape({2, 1}), {4, 6}));
}

TEST_F(CheckpointOpsTest, ErrorsAreTensorFlows) {
  ASSERT_EQ(Save(prefix_, {"m"}, {""}, {matrix_}), OkStatus());
  EXPECT_EQ(Restore(prefix_, {"zz"}, {""}, {DType::kFloat}).status(),
            NotFound("Key zz not found in checkpoint"));
  EXPECT_EQ(
      Restore(prefix_, {"m"}, {""}, {DType::kInt32}).status(),
      InvalidArgument("tensor_name = m; expected dtype int32 does not equal original dtype float"));
  EXPECT_EQ(
      Restore(prefix_, {"m"}, {"4 2 0,1:-"}, {DType::kFloat}).status(),
      InvalidArgument(
          "tensor_name = m; shape in shape_and_slice spec [4,2] does not match the shape stored "
          "in checkpoint: [3,2]"));
  EXPECT_EQ(
      Restore(dir_.Path("no"), {"m"}, {""}, {DType::kFloat}).status(),
      NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
               dir_.Path("no")));
  EXPECT_EQ(Save(prefix_, {"m"}, {"10 2 0,4:-"}, {matrix_}),
            InvalidArgument(
                "Slice in shape_and_slice specification does not match the shape of the tensor to  "
                "save: 10 2 0,4:-, tensor: [3,2]"));
  EXPECT_EQ(Save(prefix_, {"m"}, {"", ""}, {matrix_, matrix_}),
            InvalidArgument(
                "tensor_names and shape_and_slices have different number of elements: 1 vs. 2"));
  EXPECT_EQ(Save("s9://x/y", {"m"}, {""}, {matrix_}).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(CheckpointOpsTest, PartsAreBegunAndEnded) {
  const Tensor big = *Tensor::Zeros(DType::kFloat, Shape({1 << 20}));
  const Names stems = {dir_.Path("p-0"), dir_.Path("p-1")};
  ASSERT_EQ(
      Run("FleetBeginSave", {Tensor::Scalar(stems[0]), Tensor::Vector<std::string>({"m", "b"}),
                             Tensor::Vector<std::string>({"", ""}), matrix_, big})
          .status(),
      OkStatus());
  ASSERT_EQ(Run("FleetBeginSave", {Tensor::Scalar(stems[1]), Tensor::Vector<std::string>({"n"}),
                                   Tensor::Vector<std::string>({""}), matrix_})
                .status(),
            OkStatus());
  std::vector<CheckpointPart> parts(2);
  for (size_t i = 0; i < stems.size(); ++i) {
    const Tensor part = RunOne("FleetEndSave", {Tensor::Scalar(stems[i])});
    ASSERT_TRUE(parts[i].ParseFromString(part.scalar<std::string>()));
    EXPECT_THAT(parts[i].prefix(), ::testing::StartsWith(stems[i]));
  }
  ASSERT_EQ(MergeParts(*FileSystem::Local(), parts, prefix_), OkStatus());
  const auto restored = Restore(prefix_, {"m", "b", "n"}, {"", "", ""},
                                {DType::kFloat, DType::kFloat, DType::kFloat});
  ASSERT_EQ(restored.status(), OkStatus());
  ExpectSame((*restored)[0], matrix_);
  ExpectSame((*restored)[1], big);
  ExpectSame((*restored)[2], matrix_);
  EXPECT_FALSE(FileSystem::Local()->Exists(DataPath(parts[0].prefix(), 0, 1)));
}

TEST_F(CheckpointOpsTest, TheEndOfAPartTellsWhatBecameOfTheLastOne) {
  const Status none = FailedPrecondition("no save to ", prefix_, " has begun on this task");
  EXPECT_EQ(Run("FleetEndSave", {Tensor::Scalar(prefix_)}).status(), none);
  const auto begin = [&](const std::string& name) {
    return Run("FleetBeginSave", {Tensor::Scalar(prefix_), Tensor::Vector<std::string>({name}),
                                  Tensor::Vector<std::string>({""}), matrix_})
        .status();
  };
  ASSERT_EQ(begin("a"), OkStatus());
  ASSERT_EQ(begin("b"), OkStatus());
  CheckpointPart part;
  ASSERT_TRUE(part.ParseFromString(
      RunOne("FleetEndSave", {Tensor::Scalar(prefix_)}).scalar<std::string>()));
  EXPECT_TRUE(part.entries().contains("b"));
  EXPECT_EQ(Run("FleetEndSave", {Tensor::Scalar(prefix_)}).status(), none);
  ASSERT_EQ(begin(""), OkStatus());
  EXPECT_EQ(Run("FleetEndSave", {Tensor::Scalar(prefix_)}).status(),
            InvalidArgument("a tensor in a checkpoint needs a name"));
}

TEST_F(CheckpointOpsTest, ShardsAreNamedWrittenAndMerged) {
  Names shards;
  for (int32_t i = 0; i < 2; ++i) {
    shards.push_back(
        RunOne("ShardedFilename", {Tensor::Scalar(prefix_ + "_temp/part"),
                                   Tensor::Scalar<int32_t>(i), Tensor::Scalar<int32_t>(2)})
            .scalar<std::string>());
    ASSERT_EQ(Save(shards[i], {absl::StrCat("v", i)}, {""},
                   {Tensor::Scalar<float>(static_cast<float>(i))}),
              OkStatus());
  }
  EXPECT_EQ(shards[1], prefix_ + "_temp/part-00001-of-00002");
  ASSERT_EQ(
      Run("MergeV2Checkpoints", {Tensor::Vector<std::string>(shards), Tensor::Scalar(prefix_)})
          .status(),
      OkStatus());
  const auto restored = Restore(prefix_, {"v0", "v1"}, {"", ""}, {DType::kFloat, DType::kFloat});
  ASSERT_EQ(restored.status(), OkStatus());
  ExpectSame((*restored)[1], Tensor::Scalar<float>(1));
  EXPECT_FALSE(FileSystem::Local()->Exists(prefix_ + "_temp"));
  EXPECT_TRUE(FileSystem::Local()->Exists(DataPath(prefix_, 1, 2)));
  ExpectSame(RunOne("ShardedFilespec", {Tensor::Scalar("/a/b"), Tensor::Scalar<int32_t>(12)}),
             Tensor::Scalar("/a/b-\?\?\?\?\?-of-00012"));
}

TEST_F(CheckpointOpsTest, FilesAreWrittenReadAndFound) {
  const std::string path = dir_.Path("new/f.txt");
  ASSERT_EQ(Run("WriteFile", {Tensor::Scalar(path), Tensor::Scalar("abc")}).status(), OkStatus());
  ExpectSame(RunOne("ReadFile", {Tensor::Scalar(path)}), Tensor::Scalar("abc"));
  EXPECT_THAT(RunOne("MatchingFiles",
                     {Tensor::Vector<std::string>({dir_.Path("new/*"), dir_.Path("no/*")})})
                  .values<std::string>(),
              ElementsAre(path));
  EXPECT_EQ(Run("ReadFile", {Tensor::Scalar(dir_.Path("no"))}).status(),
            NotFound(dir_.Path("no"), "; No such file or directory"));
}

// A store may keep silent for a minute: the device's threads are not the ones that wait.
TEST_F(CheckpointOpsTest, FilesAreNotWaitedForOnTheDevicesThreads) {
  const Tensor path = Tensor::Scalar(dir_.Path("f"));
  const auto is_async = [&](const OpNode& node, const std::vector<OpInput>& inputs) {
    return (*Make(node, inputs))->kernel().AsAsync() != nullptr;
  };
  EXPECT_TRUE(is_async("ReadFile", {path}));
  EXPECT_TRUE(is_async("WriteFile", {path, path}));
  EXPECT_TRUE(is_async("MatchingFiles", {path}));
}

}  // namespace
}  // namespace tensorfleet
