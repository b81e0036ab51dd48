// What only S3 has, against the store that testing/with_stores.py starts; store_test.cc has what
// every store does.
#include "runtime/io/remote/s3_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "runtime/io/io_interest.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class S3 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("AWS_ENDPOINT_URL") == nullptr) {
      GTEST_SKIP() << "AWS_ENDPOINT_URL is not set; run by testing/with_stores.py";
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
    const StatusOr<HttpResponse> listed = client.Call(list, "bucket", "");
    EXPECT_EQ(listed.status(), OkStatus());
    return listed.ok() ? listed->body : "";
  }
  Status Write(const std::string& name, absl::string_view contents) {
    TFLEET_ASSIGN_OR_RETURN(const auto file, files_->Create(At(name)));
    TFLEET_RETURN_IF_ERROR(file->Append(contents));
    return file->Close();
  }
  std::string At(const std::string& name) const { return absl::StrCat(root_, "/", name); }

  FileSystem* files_ = nullptr;
  std::string root_;
};

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

TEST_F(S3, ManyNamesComeInPages) {
  for (int i = 0; i < 1003; ++i) ASSERT_EQ(Write(absl::StrCat("f", i), ""), OkStatus());
  EXPECT_EQ(files_->List(root_)->size(), 1003u);
}

TEST_F(S3, AWrongKeyIsRefused) {
  S3Config config =
      S3ConfigFromEnv([](const char* name) -> const char* { return std::getenv(name); });
  config.identity.keys.secret_key = "wrong";
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
