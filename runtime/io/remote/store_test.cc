// What every store of files does, against those that testing/with_stores.py starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/file_system.h"
#include "runtime/io/record_file.h"
#include "runtime/io/remote/hdfs_file_system.h"
#include "runtime/io/remote/store_counters.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Store : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("TEST_WEB") == nullptr) {
      GTEST_SKIP() << "TEST_WEB is not set; run by testing/with_stores.py";
    }
    // Each test has a folder of its own; its name ends with "/" and the parameter's index.
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    name = name.substr(0, name.find('/'));
    root_ = absl::StrCat(GetParam(), name);
    const StatusOr<ResolvedPath> resolved = ResolvePath(root_);
    ASSERT_EQ(resolved.status(), OkStatus());
    files_ = resolved->file_system;
  }
  Status Write(const std::string& name, absl::string_view contents) {
    TFLEET_RETURN_IF_ERROR(files_->CreateDirs(DirectoryOf(At(name))));
    TFLEET_ASSIGN_OR_RETURN(const auto file, files_->Create(At(name)));
    TFLEET_RETURN_IF_ERROR(file->Append(contents));
    return file->Close();
  }
  std::string Read(const std::string& name) {
    const StatusOr<std::string> contents = ReadWholeFile(*files_, At(name));
    return contents.ok() ? *contents : contents.status().ToString();
  }
  std::string At(const std::string& name) const { return absl::StrCat(root_, "/", name); }

  FileSystem* files_ = nullptr;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(Schemes, Store,
                         ::testing::Values("s3://bucket/", "gs://bucket/", "hdfs:///data/"));

TEST_P(Store, WhatIsWrittenIsRead) {
  ASSERT_EQ(Write("a b+c/ü", "contents"), OkStatus());
  EXPECT_EQ(Read("a b+c/ü"), "contents");
}

TEST_P(Store, AnEmptyFileIsAFile) {
  ASSERT_EQ(Write("empty", ""), OkStatus());
  EXPECT_TRUE(files_->Exists(At("empty")));
  EXPECT_EQ(Read("empty"), "");
}

TEST_P(Store, ALargeFileGoesInPieces) {
  for (const size_t size : {size_t{20} << 20, size_t{16} << 20}) {
    std::string large(size, 'x');
    for (size_t i = 0; i < size; i += 4096) large[i] = static_cast<char>('a' + i / 4096 % 26);
    ASSERT_EQ(Write("large", large), OkStatus());
    EXPECT_EQ(Read("large"), large);
  }
}

TEST_P(Store, WhatIsSyncedIsSeen) {
  ASSERT_EQ(files_->CreateDirs(root_), OkStatus());
  const auto file = *files_->Create(At("late"));
  ASSERT_EQ(file->Append("first"), OkStatus());
  ASSERT_EQ(file->Sync(), OkStatus());
  EXPECT_EQ(Read("late"), "first");
  ASSERT_EQ(file->Append(" second"), OkStatus());
  ASSERT_EQ(file->Close(), OkStatus());
  EXPECT_EQ(Read("late"), "first second");
}

TEST_P(Store, WritingAgainReplaces) {
  ASSERT_EQ(Write("file", "a long first text"), OkStatus());
  ASSERT_EQ(Write("file", "second"), OkStatus());
  EXPECT_EQ(Read("file"), "second");
}

TEST_P(Store, PiecesAreReadFromAnyPlace) {
  ASSERT_EQ(Write("digits", "0123456789"), OkStatus());
  const auto file = *files_->Open(At("digits"));
  char piece[4] = {};
  ASSERT_EQ(file->Read(7, 3, piece), OkStatus());
  EXPECT_STREQ(piece, "789");
  ASSERT_EQ(file->Read(2, 3, piece), OkStatus());
  EXPECT_STREQ(piece, "234");
  EXPECT_EQ(file->Read(8, 3, piece).code(), absl::StatusCode::kOutOfRange);
}

TEST_P(Store, FoldersHoldFilesAndFolders) {
  ASSERT_EQ(Write("one/a", "1"), OkStatus());
  ASSERT_EQ(Write("one/two/b", "2"), OkStatus());
  EXPECT_THAT(*files_->List(At("one")), UnorderedElementsAre("a", "two"));
  EXPECT_TRUE(*files_->IsDirectory(At("one/two")));
  EXPECT_FALSE(*files_->IsDirectory(At("one/a")));
  EXPECT_EQ(files_->IsDirectory(At("three")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(*Glob(*files_, At("one/[ab]")), ElementsAre(At("one/a")));
}

TEST_P(Store, RenamingMovesAndReplaces) {
  ASSERT_EQ(Write("from", "moved"), OkStatus());
  ASSERT_EQ(Write("to", "there before"), OkStatus());
  ASSERT_EQ(files_->Rename(At("from"), At("to")), OkStatus());
  EXPECT_EQ(Read("to"), "moved");
  EXPECT_FALSE(files_->Exists(At("from")));
}

TEST_P(Store, WhatIsMissingIsNamed) {
  const Status status = files_->Open(At("missing")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(At("missing")));
  EXPECT_EQ(files_->Delete(At("missing")).code(), absl::StatusCode::kNotFound);
}

TEST_P(Store, CheckpointsAndRecordsLieThere) {
  ASSERT_EQ(files_->CreateDirs(root_), OkStatus());
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  auto writer = *CheckpointWriter::Open(files_, At("model.ckpt-1"));
  ASSERT_EQ(writer->Add("w", value), OkStatus());
  ASSERT_EQ(writer->Finish(), OkStatus());
  const auto reader = CheckpointReader::Open(files_, At("model.ckpt-1"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Read("w")->ToString(), value.ToString());

  auto records = *RecordWriter::Open(files_, At("events"));
  ASSERT_EQ(records->Write("one"), OkStatus());
  ASSERT_EQ(records->Close(), OkStatus());
  std::string record;
  EXPECT_TRUE(*(*RecordReader::Open(files_, At("events")))->Read(&record));
  EXPECT_EQ(record, "one");
}

TEST_P(Store, RequestsAreCounted) {
  const std::string scheme = std::string(GetParam()).substr(0, std::string(GetParam()).find(':'));
  const StoreCounters before = CountedRequests()[scheme];
  ASSERT_EQ(Write("counted", "12345"), OkStatus());
  EXPECT_EQ(Read("counted"), "12345");
  const StoreCounters after = CountedRequests()[scheme];
  EXPECT_GE(after.requests, before.requests + 2);
  EXPECT_GE(after.sent_bytes, before.sent_bytes + 5);
  EXPECT_GE(after.received_bytes, before.received_bytes + 5);
}

class Hdfs : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const address = std::getenv("TEST_HDFS");
    if (address == nullptr) GTEST_SKIP() << "TEST_HDFS is not set; run by testing/with_stores.py";
    config_.addresses = {address};
    config_.user = "tester";
  }
  HdfsConfig config_;
};

TEST_F(Hdfs, APieceThatArrivedWithoutAnAnswerIsNotWrittenTwice) {
  const auto files = MakeHdfsFileSystem(config_);
  const std::string path = "hdfs:///append/taken-without-a-word";
  const auto file = *files->Create(path);
  ASSERT_EQ(file->Append("once"), OkStatus());
  ASSERT_EQ(file->Close(), OkStatus());
  EXPECT_EQ(*ReadWholeFile(*files, path), "once");
}

TEST_F(Hdfs, AFolderThatIsNotEmptyStays) {
  const auto files = MakeHdfsFileSystem(config_);
  ASSERT_EQ((*files->Create("hdfs:///kept/file"))->Close(), OkStatus());
  EXPECT_EQ(files->DeleteDir("hdfs:///kept").code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(files->Delete("hdfs:///kept/file"), OkStatus());
  EXPECT_EQ(files->DeleteDir("hdfs:///kept"), OkStatus());
  EXPECT_FALSE(files->Exists("hdfs:///kept"));
}

TEST_F(Hdfs, ADelegationTokenStandsForAUser) {
  config_.user = "stranger";
  EXPECT_EQ(MakeHdfsFileSystem(config_)->List("hdfs:///").status().code(),
            absl::StatusCode::kUnauthenticated);
  config_.token_file = absl::StrCat(std::getenv("TEST_CREDENTIALS"), "/hdfs_token");
  EXPECT_EQ(MakeHdfsFileSystem(config_)->List("hdfs:///").status(), OkStatus());
}

TEST_F(Hdfs, APathMayNameItsOwnHost) {
  HdfsConfig config;
  config.user = "tester";
  const auto files = MakeHdfsFileSystem(config);
  const std::string host = config_.addresses[0].substr(std::string("http://").size());
  const std::string path = absl::StrCat("webhdfs://", host, "/own/file");
  ASSERT_EQ((*files->Create(path))->Close(), OkStatus());
  EXPECT_TRUE(files->Exists(path));
  EXPECT_EQ(files->Open("hdfs:///a").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet
