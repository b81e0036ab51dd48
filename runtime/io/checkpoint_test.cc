// Checkpoints: round trips, pieces, merging, and what happens when files are damaged or the machine
// dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/testing/faulty_file_system.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Counting(const Shape& shape) {
  Tensor t = Tensor::Allocate(DType::kFloat, shape).value();
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.mutable_values<float>()[i] = static_cast<float>(i);
  return t;
}

class CheckpointTest : public ::testing::Test {
 protected:
  Status Save(FileSystem& files, const std::string& prefix,
              const std::vector<std::pair<std::string, Tensor>>& tensors) {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointWriter> writer,
                            CheckpointWriter::Open(&files, prefix));
    for (const auto& [name, tensor] : tensors) TFLEET_RETURN_IF_ERROR(writer->Add(name, tensor));
    return writer->Finish();
  }
  StatusOr<Tensor> Load(const std::string& prefix, const std::string& name) {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader,
                            CheckpointReader::Open(&files_, prefix));
    return reader->Read(name);
  }
  FileSystem& files_ = *FileSystem::Local();
  ScratchDir dir_;
  const std::string prefix_ = dir_.Path("sub/model");
};

Variant Encoded(std::string type, Tensor inner) {
  return Variant(std::make_shared<EncodedVariant>(
      VariantData{std::move(type), "about it", {std::move(inner)}}));
}

TEST_F(CheckpointTest, ReadsBackVariantsAndNoticesWhereTheyAreDamaged) {
  const Tensor variants = Tensor::Vector<Variant>(
      {Encoded("a", Counting(Shape({300}))), Variant(), Encoded("b", Tensor::Scalar("text"))});
  ASSERT_EQ(Save(files_, prefix_, {{"v", variants}}), OkStatus());
  const StatusOr<Tensor> read = Load(prefix_, "v");
  ASSERT_EQ(read.status(), OkStatus());
  ASSERT_EQ(read->shape(), Shape({3}));
  const auto* first = read->values<Variant>()[0].get<EncodedVariant>();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->data().type_name, "a");
  EXPECT_EQ(first->data().metadata, "about it");
  EXPECT_EQ(first->data().tensors[0].values<float>()[299], 299);
  EXPECT_TRUE(read->values<Variant>()[1].is_empty());

  const std::string data = DataPath(prefix_, 0, 1);
  const std::string bytes = ReadWholeFile(files_, data).value();
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    ASSERT_EQ(WriteWholeFile(files_, data, damaged), OkStatus());
    EXPECT_EQ(Load(prefix_, "v").status().code(), absl::StatusCode::kDataLoss) << "byte " << i;
  }
}

TEST_F(CheckpointTest, ReadsBackEveryKindOfTensor) {
  const Tensor strings =
      Tensor::Of<std::string>(Shape({2, 1}), {std::string(300, 's'), std::string("\0", 1)});
  ASSERT_EQ(Save(files_, prefix_,
                 {{"z", Counting(Shape({100, 7}))},
                  {"a/b", Tensor::Scalar<int64_t>(-5)},
                  {"s", strings},
                  {"empty", Counting(Shape({0, 3}))},
                  {"flag", Tensor::Scalar<bool>(true)}}),
            OkStatus());
  auto reader = CheckpointReader::Open(&files_, prefix_);
  ASSERT_EQ(reader.status(), OkStatus());
  EXPECT_THAT((*reader)->Names().value(), ElementsAre("a/b", "empty", "flag", "s", "z"));
  EXPECT_EQ((*reader)->Read("z")->values<float>()[699], 699);
  EXPECT_EQ((*reader)->Read("a/b")->scalar<int64_t>(), -5);
  EXPECT_EQ((*reader)->Read("s")->values<std::string>()[0], std::string(300, 's'));
  EXPECT_EQ((*reader)->Read("empty")->shape(), Shape({0, 3}));
  EXPECT_EQ((*reader)->Find("z")->shape, Shape({100, 7}));
  EXPECT_EQ((*reader)->Read("zz").status(), NotFound("Key zz not found in checkpoint"));
  EXPECT_EQ((*reader)->Read("").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointTest, ManyTensorsNeedManyBlocks) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (int i = 0; i < 8000; ++i) {
    tensors.emplace_back(absl::StrCat("variable_with_a_rather_long_name/", i),
                         Tensor::Scalar<int32_t>(i));
  }
  ASSERT_EQ(Save(files_, prefix_, tensors), OkStatus());
  auto reader = CheckpointReader::Open(&files_, prefix_);
  ASSERT_EQ(reader.status(), OkStatus());
  for (int i = 0; i < 8000; i += 37)
    ASSERT_EQ((*reader)->Read(tensors[i].first)->scalar<int32_t>(), i);
}

TEST_F(CheckpointTest, ANameIsWrittenOnce) {
  EXPECT_EQ(Save(files_, prefix_, {{"a", Counting(Shape({2}))}, {"a", Counting(Shape({2}))}}),
            InvalidArgument("Adding duplicate key: a"));
  EXPECT_TRUE(files_.List(dir_.Path("sub"))->empty())
      << "an abandoned writer leaves nothing behind";
}

TEST_F(CheckpointTest, PiecesArePutTogetherAndCutOut) {
  const Tensor whole = Counting(Shape({10, 2}));
  auto writer = CheckpointWriter::Open(&files_, prefix_);
  for (const char* text : {"10 2 0,4:-", "10 2 4,6:0,1", "10 2 4,6:1,1"}) {
    const ShapeAndSlice spec = ParseShapeAndSlice(text).value();
    Tensor piece = Tensor::Allocate(DType::kFloat, spec.piece_shape).value();
    CopyOverlap(*TensorSlice::Full(2).Resolved(spec.shape), whole, spec.slice, piece);
    ASSERT_EQ((*writer)->AddSlice("p", spec.shape, spec.slice, piece), OkStatus());
  }
  ASSERT_EQ((*writer)->Finish(), OkStatus());
  auto reader = CheckpointReader::Open(&files_, prefix_);
  ASSERT_EQ(reader.status(), OkStatus());
  EXPECT_EQ((*reader)->Read("p")->values<float>(), whole.values<float>());
  EXPECT_THAT((*reader)->ReadSlice("p", *TensorSlice::Parse("3,2:1,1"))->values<float>(),
              ElementsAre(7, 9));
  EXPECT_THAT((*reader)->Names().value(), ElementsAre("p"));
}

TEST_F(CheckpointTest, AMissingPieceIsSaid) {
  auto writer = CheckpointWriter::Open(&files_, prefix_);
  ASSERT_EQ((*writer)->AddSlice("p", Shape({10, 2}), *TensorSlice::Parse("0,4:0,2"),
                                Counting(Shape({4, 2}))),
            OkStatus());
  ASSERT_EQ((*writer)->Finish(), OkStatus());
  auto reader = CheckpointReader::Open(&files_, prefix_);
  EXPECT_EQ((*reader)->Read("p").status(),
            InvalidArgument("Does not have sufficient slices for partitioned tensor p to restore "
                            "in slice_spec: 0,10:0,2"));
}

TEST_F(CheckpointTest, APieceIsCutOutOfAWholeTensor) {
  ASSERT_EQ(Save(files_, prefix_, {{"a", Counting(Shape({4, 2}))}}), OkStatus());
  auto reader = CheckpointReader::Open(&files_, prefix_);
  EXPECT_THAT((*reader)->ReadSlice("a", *TensorSlice::Parse("1,2:-"))->values<float>(),
              ElementsAre(2, 3, 4, 5));
}

TEST_F(CheckpointTest, ShardsAreMerged) {
  const std::string part0 = dir_.Path("t/part-0"), part1 = dir_.Path("t/part-1");
  ASSERT_EQ(Save(files_, part0, {{"a", Tensor::Scalar<float>(1)}}), OkStatus());
  auto writer = CheckpointWriter::Open(&files_, part1);
  ASSERT_EQ((*writer)->Add("b", Tensor::Scalar<float>(2)), OkStatus());
  ASSERT_EQ((*writer)->Finish(), OkStatus());
  ASSERT_EQ(MergeCheckpoints(files_, {part0, part1, dir_.Path("t/none")}, prefix_,
                             /*allow_missing=*/true),
            OkStatus());
  EXPECT_EQ(Load(prefix_, "a")->scalar<float>(), 1);
  EXPECT_EQ(Load(prefix_, "b")->scalar<float>(), 2);
  EXPECT_TRUE(files_.List(dir_.Path("t"))->empty());
  EXPECT_EQ(MergeCheckpoints(files_, {part0}, prefix_, false).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CheckpointTest, DyingWhilePartsAreWrittenOrMergedLeavesTheWholeOrNothing) {
  for (int n = 0;; ++n) {
    const std::string prefix = absl::StrCat(prefix_, n);
    FaultyFileSystem faulty;
    faulty.DieAfter(n);
    const Status status = [&]() -> Status {
      std::vector<CheckpointPart> parts;
      for (const char* name : {"a", "b"}) {
        TFLEET_ASSIGN_OR_RETURN(const auto writer,
                                CheckpointWriter::Open(&faulty, absl::StrCat(prefix, name),
                                                       CheckpointWriter::Kind::kPart));
        TFLEET_RETURN_IF_ERROR(writer->Add(name, Tensor::Scalar<float>(1)));
        TFLEET_ASSIGN_OR_RETURN(parts.emplace_back(), writer->FinishPart());
      }
      return MergeParts(faulty, parts, prefix);
    }();
    const Status a = Load(prefix, "a").status(), b = Load(prefix, "b").status();
    EXPECT_EQ(a.code(), b.code());
    if (status.ok()) {
      EXPECT_EQ(a, OkStatus());
      EXPECT_GT(n, 10);
      break;
    }
    EXPECT_TRUE(a.ok() || absl::IsNotFound(a)) << a;
  }
}

TEST_F(CheckpointTest, MergingRefusesATensorThatIsThereTwice) {
  ASSERT_EQ(Save(files_, dir_.Path("x"), {{"a", Tensor::Scalar<float>(1)}}), OkStatus());
  ASSERT_EQ(Save(files_, dir_.Path("y"), {{"a", Tensor::Scalar<float>(1)}}), OkStatus());
  EXPECT_EQ(MergeCheckpoints(files_, {dir_.Path("x"), dir_.Path("y")}, prefix_, false),
            InvalidArgument("Duplicate tensor keyed by a encountered, when merging prefix: ",
                            dir_.Path("y")));
}

TEST_F(CheckpointTest, DamagedDataIsAnErrorThatNamesTheFile) {
  ASSERT_EQ(Save(files_, prefix_,
                 {{"a", Counting(Shape({50}))}, {"s", Tensor::Vector<std::string>({"x", "yy"})}}),
            OkStatus());
  const std::string data = DataPath(prefix_, 0, 1);
  const std::string bytes = ReadWholeFile(files_, data).value();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    ASSERT_EQ(WriteWholeFile(files_, data, damaged), OkStatus());
    const Status status = Load(prefix_, i < 200 ? "a" : "s").status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << i;
    ASSERT_THAT(std::string(status.message()), HasSubstr(data));
  }
  ASSERT_EQ(WriteWholeFile(files_, data, bytes.substr(0, 100)), OkStatus());
  EXPECT_EQ(Load(prefix_, "a").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Load(prefix_, "s").status().message()), HasSubstr(data));
  ASSERT_EQ(files_.Delete(data), OkStatus());
  EXPECT_EQ(Load(prefix_, "a").status(), NotFound(data, "; No such file or directory"));
}

TEST_F(CheckpointTest, ADamagedIndexNeverPassesAndNeverCrashes) {
  ASSERT_EQ(Save(files_, prefix_, {{"a", Counting(Shape({50}))}}), OkStatus());
  const std::string index = IndexPath(prefix_);
  const std::string bytes = ReadWholeFile(files_, index).value();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x41;
    ASSERT_EQ(WriteWholeFile(files_, index, damaged), OkStatus());
    const StatusOr<Tensor> loaded = Load(prefix_, "a");
    // The footer's padding and an empty block mean nothing to the data.
    if (loaded.ok()) ASSERT_EQ(loaded->values<float>(), Counting(Shape({50})).values<float>()) << i;
  }
  for (size_t n = 0; n < bytes.size(); ++n) {
    ASSERT_EQ(WriteWholeFile(files_, index, bytes.substr(0, n)), OkStatus());
    ASSERT_EQ(Load(prefix_, "a").status().code(), absl::StatusCode::kDataLoss) << n;
  }
}

TEST_F(CheckpointTest, DyingAtAnyMomentLeavesTheOldCheckpointOrTheNewOneOrNone) {
  for (int n = 0;; ++n) {
    ASSERT_EQ(Save(files_, prefix_, {{"a", Tensor::Scalar<float>(1)}}), OkStatus());
    FaultyFileSystem faulty;
    faulty.DieAfter(n);
    const Status status = Save(faulty, prefix_, {{"a", Tensor::Scalar<float>(2)}});
    const StatusOr<Tensor> loaded = Load(prefix_, "a");
    if (status.ok()) {
      EXPECT_EQ(loaded->scalar<float>(), 2);
      EXPECT_GT(n, 5);
      break;
    }
    if (loaded.ok()) {
      EXPECT_TRUE(loaded->scalar<float>() == 1 || loaded->scalar<float>() == 2);
    } else {
      EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
    }
  }
}

TEST_F(CheckpointTest, AFullDiskLeavesTheOldCheckpoint) {
  ASSERT_EQ(Save(files_, prefix_, {{"a", Tensor::Scalar<float>(1)}}), OkStatus());
  FaultyFileSystem faulty;
  faulty.set_fault([](absl::string_view operation, const std::string& path) {
    return operation == "append" ? ResourceExhausted(path, "; No space left on device")
                                 : OkStatus();
  });
  EXPECT_EQ(Save(faulty, prefix_, {{"a", Tensor::Scalar<float>(2)}}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Load(prefix_, "a")->scalar<float>(), 1);
  EXPECT_EQ(files_.List(dir_.Path("sub"))->size(), 2u);
}

}  // namespace
}  // namespace tensorfleet
