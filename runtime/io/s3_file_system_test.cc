// Against the store that with_s3_server.py starts; the variables that it sets say where it is.
#include "runtime/io/s3_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/io_interest.h"
#include "runtime/io/record_file.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class S3 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("AWS_ENDPOINT_URL") == nullptr) {
      GTEST_SKIP() << "AWS_ENDPOINT_URL is not set; run by with_s3_server.py";
    }
    files_ = DefaultS3FileSystem();
    // Each test has a folder of its own.
    root_ = absl::StrCat("s3://bucket/", Name());
  }
  static std::string Name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  // The store's list of uploads that are neither completed nor aborted.
  static std::string Uploads() {
    const S3Client client(
        S3ConfigFromEnv([](const char* name) -> const char* { return std::getenv(name); }));
    S3Request list;
    list.method = "GET";
    list.query["uploads"] = "";
    const StatusOr<S3Response> listed = client.Call(list, "bucket", "");
    EXPECT_EQ(listed.status(), OkStatus());
    return listed.ok() ? listed->body : "";
  }
  Status Write(const std::string& name, absl::string_view contents) {
    TFLEET_ASSIGN_OR_RETURN(const auto file, files_->Create(At(name)));
    TFLEET_RETURN_IF_ERROR(file->Append(contents));
    return file->Close();
  }
  std::string Read(const std::string& name) {
    return ReadWholeFile(*files_, At(name)).value_or("cannot be read");
  }
  std::string At(const std::string& name) const { return absl::StrCat(root_, "/", name); }

  FileSystem* files_ = nullptr;
  std::string root_;
};

TEST_F(S3, WhatIsWrittenIsRead) {
  ASSERT_EQ(Write("a b+c/ü", "contents"), OkStatus());
  EXPECT_EQ(Read("a b+c/ü"), "contents");
}

TEST_F(S3, AnEmptyFileIsAFile) {
  ASSERT_EQ(Write("empty", ""), OkStatus());
  EXPECT_TRUE(files_->Exists(At("empty")));
  EXPECT_EQ(Read("empty"), "");
}

TEST_F(S3, ALargeFileGoesInParts) {
  std::string large(20 << 20, 'x');
  for (size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>('a' + i / 4096 % 26);
  ASSERT_EQ(Write("large", large), OkStatus());
  EXPECT_EQ(Read("large"), large);
}

TEST_F(S3, AnUploadThatIsNotClosedIsAborted) {
  {
    const auto file = *files_->Create(At("broken"));
    ASSERT_EQ(file->Append(std::string(9 << 20, 'x')), OkStatus());
    EXPECT_THAT(Uploads(), HasSubstr(absl::StrCat(Name(), "/broken")));
  }
  EXPECT_THAT(Uploads(), Not(HasSubstr(Name())));
}

TEST_F(S3, AnUploadOfACancelledStepIsAbortedToo) {
  CancellationManager cancellation;
  const ScopedIoInterest interest(&cancellation);
  {
    const auto file = *files_->Create(At("broken"));
    ASSERT_EQ(file->Append(std::string(9 << 20, 'x')), OkStatus());
    cancellation.StartCancel(Cancelled("the step"));
    EXPECT_EQ(file->Close(), Cancelled("the step"));
  }
  const ScopedIoInterest again(nullptr);
  EXPECT_THAT(Uploads(), Not(HasSubstr(Name())));
}

TEST_F(S3, AFileIsNotSeenBeforeItIsClosedOrSynced) {
  const auto file = *files_->Create(At("late"));
  ASSERT_EQ(file->Append("first"), OkStatus());
  EXPECT_FALSE(files_->Exists(At("late")));
  ASSERT_EQ(file->Sync(), OkStatus());
  EXPECT_EQ(Read("late"), "first");
  ASSERT_EQ(file->Append(" second"), OkStatus());
  ASSERT_EQ(file->Close(), OkStatus());
  EXPECT_EQ(Read("late"), "first second");
}

TEST_F(S3, PiecesAreReadFromAnyPlace) {
  ASSERT_EQ(Write("digits", "0123456789"), OkStatus());
  const auto file = *files_->Open(At("digits"));
  char piece[4] = {};
  ASSERT_EQ(file->Read(7, 3, piece), OkStatus());
  EXPECT_STREQ(piece, "789");
  ASSERT_EQ(file->Read(2, 3, piece), OkStatus());
  EXPECT_STREQ(piece, "234");
  EXPECT_EQ(file->Read(8, 3, piece).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(S3, FoldersAreParts) {
  ASSERT_EQ(Write("one/a", "1"), OkStatus());
  ASSERT_EQ(Write("one/two/b", "2"), OkStatus());
  EXPECT_THAT(*files_->List(At("one")), UnorderedElementsAre("a", "two"));
  EXPECT_TRUE(*files_->IsDirectory(At("one/two")));
  EXPECT_FALSE(*files_->IsDirectory(At("one/a")));
  EXPECT_THAT(*Glob(*files_, At("one/[ab]")), ElementsAre(At("one/a")));
}

TEST_F(S3, RenamingMoves) {
  ASSERT_EQ(Write("from", "moved"), OkStatus());
  ASSERT_EQ(files_->Rename(At("from"), At("to")), OkStatus());
  EXPECT_EQ(Read("to"), "moved");
  EXPECT_FALSE(files_->Exists(At("from")));
}

TEST_F(S3, WhatIsMissingIsNamed) {
  const Status status = files_->Open(At("missing")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(At("missing")));
  EXPECT_EQ(files_->Delete(At("missing")).code(), absl::StatusCode::kNotFound);
}

TEST_F(S3, ManyNamesComeInPages) {
  for (int i = 0; i < 1003; ++i) ASSERT_EQ(Write(absl::StrCat("f", i), ""), OkStatus());
  EXPECT_EQ(files_->List(root_)->size(), 1003u);
}

TEST_F(S3, CheckpointsAndRecordsLieThere) {
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

TEST_F(S3, AWrongKeyIsRefused) {
  S3Config config =
      S3ConfigFromEnv([](const char* name) -> const char* { return std::getenv(name); });
  config.credentials.secret_key = "wrong";
  const auto files = MakeS3FileSystem(config);
  EXPECT_EQ(files->Open(At("any")).status().code(), absl::StatusCode::kPermissionDenied);
}

// A store that takes connections and never answers.
TEST(S3Client, AStepThatIsCancelledDoesNotWaitForASilentStore) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  S3Config config;
  config.endpoint = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
  CancellationManager cancellation;
  std::thread canceller([&] {
    EXPECT_GE(accept(listener, nullptr, nullptr), 0);  // the request is under way
    cancellation.StartCancel(Cancelled("the step"));
  });
  const ScopedIoInterest interest(&cancellation);
  EXPECT_EQ(MakeS3FileSystem(config)->Open("s3://bucket/a").status(), Cancelled("the step"));
  canceller.join();
  close(listener);
}

TEST(S3Client, AStoreThatIsNotThereIsUnavailable) {
  S3Config config;
  config.endpoint = "http://localhost:1";
  const auto files = MakeS3FileSystem(config);
  EXPECT_EQ(files->Open("s3://bucket/a").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tensorfleet
