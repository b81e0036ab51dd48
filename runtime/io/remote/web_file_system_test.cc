// Against the web server of testing/with_stores.py.
#include "runtime/io/remote/web_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBytes = 3 << 20;

class Web : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const address = std::getenv("TEST_WEB");
    if (address == nullptr) GTEST_SKIP() << "TEST_WEB is not set; run by testing/with_stores.py";
    address_ = address;
  }
  StatusOr<std::string> Read(const std::string& path) {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(address_ + path));
    return ReadWholeFile(*at.file_system, at.path);
  }
  static std::string Expected() {
    std::string bytes(kBytes, '\0');
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<char>(i * 7 % 251);
    return bytes;
  }
  std::string address_;
};

TEST_F(Web, AFileIsReadInRanges) {
  const auto file = *WebFileSystem()->Open(address_ + "/ranges");
  EXPECT_EQ(file->size(), kBytes);
  std::string tail(1000, '\0');
  ASSERT_EQ(file->Read(kBytes - 1000, 1000, tail.data()), OkStatus());
  EXPECT_EQ(tail, Expected().substr(kBytes - 1000));
  EXPECT_EQ(*Read("/ranges"), Expected());
}

TEST_F(Web, AServerWithoutRangesGivesTheWholeFile) { EXPECT_EQ(*Read("/plain"), "no ranges here"); }

TEST_F(Web, AnEmptyFileIsRead) { EXPECT_EQ(*Read("/empty"), ""); }

TEST_F(Web, RedirectionsAreFollowed) { EXPECT_EQ(*Read("/moved"), Expected()); }

TEST_F(Web, SpacesAreEncoded) { EXPECT_EQ(*Read("/a b"), Expected()); }

TEST_F(Web, AServerThatFailsForAWhileIsAskedAgain) { EXPECT_EQ(*Read("/sick"), "well"); }

TEST_F(Web, AFileThatChangesMeanwhileIsAnError) {
  const StatusOr<std::string> read = Read("/changing");
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(read.status().message(), HasSubstr("changed while it was read"));
}

TEST_F(Web, WhatIsMissingIsNamed) {
  const Status status = Read("/missing").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/missing"));
}

TEST_F(Web, TheMachinesOwnLinkIsRefusedAlsoBehindARedirection) {
  EXPECT_EQ(Read("/link").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(WebFileSystem()->Open("http://169.254.169.254/latest/").status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(WebFileSystem()->Open("http://[fe80::1]/").status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(Web, NothingIsWritten) {
  EXPECT_EQ(WebFileSystem()->Create(address_ + "/new").status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(WebFileSystem()->Delete(address_ + "/ranges").code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(Web, APatternIsTheNameOfOneFile) {
  const std::string path = address_ + "/ranges?version=[1]";
  EXPECT_THAT(*Glob(*WebFileSystem(), path), ElementsAre(path));
  EXPECT_THAT(*Glob(*WebFileSystem(), address_ + "/missing*"), IsEmpty());
}

}  // namespace
}  // namespace tensorfleet
