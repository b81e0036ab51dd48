// Identities that clouds lend to pods and machines, against what testing/with_stores.py starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/io/remote/gs_file_system.h"
#include "runtime/io/remote/s3_file_system.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

class Identity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TEST_LENDERS") == nullptr) {
      GTEST_SKIP() << "TEST_LENDERS is not set; run by testing/with_stores.py";
    }
    s3_.endpoint = std::getenv("AWS_ENDPOINT_URL");
    s3_.region = "us-east-1";
    gs_.endpoint = std::getenv("TEST_GOOGLE_STORE");
  }
  static std::string File(const char* name) {
    return absl::StrCat(std::getenv("TEST_CREDENTIALS"), "/", name);
  }
  static std::string Lenders(const char* path) {
    return absl::StrCat(std::getenv("TEST_LENDERS"), path);
  }
  Status ReadFromS3() const { return MakeS3FileSystem(s3_)->List("s3://bucket").status(); }
  Status ReadFromGs() const { return MakeGsFileSystem(gs_)->IsDirectory("gs://bucket").status(); }

  S3Config s3_;
  GsConfig gs_;
};

// What a store says of a bucket that may be empty to somebody whom it lets in.
::testing::AssertionResult IsLetIn(const Status& status) {
  if (status.ok() || absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << status;
}

TEST_F(Identity, NobodysRequestsToS3AreRefused) {
  EXPECT_EQ(ReadFromS3().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(Identity, AWebTokenIsExchangedForKeys) {
  s3_.identity.token_file = File("web_token");
  s3_.identity.role = "arn:aws:iam::123456789012:role/the-role";
  s3_.identity.role_session = "test";
  s3_.identity.sts_endpoint = Lenders("/sts");
  EXPECT_TRUE(IsLetIn(ReadFromS3()));
}

TEST_F(Identity, AWebTokenThatIsNotTakenIsAnErrorWithTheServicesWords) {
  s3_.identity.token_file = File("subject");
  s3_.identity.role = "arn:aws:iam::123456789012:role/the-role";
  s3_.identity.role_session = "test";
  s3_.identity.sts_endpoint = Lenders("/sts");
  const Status status = ReadFromS3();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("the token is not ours"));
  s3_.identity.role.clear();
  EXPECT_EQ(ReadFromS3().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Identity, TheNodesAgentLendsKeysToPods) {
  s3_.identity.agent_url = Lenders("/agent");
  s3_.identity.agent_token_file = File("agent_token");
  EXPECT_TRUE(IsLetIn(ReadFromS3()));
  s3_.identity.agent_token_file.clear();
  EXPECT_EQ(ReadFromS3().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(Identity, TheMachinesMetadataServiceLendsKeys) {
  s3_.identity.metadata_url = std::getenv("TEST_LENDERS");
  EXPECT_TRUE(IsLetIn(ReadFromS3()));
}

TEST_F(Identity, AMachineWithoutTheServiceAsksWithoutKeys) {
  s3_.identity.metadata_url = "http://127.0.0.1:1";
  EXPECT_EQ(ReadFromS3().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(Identity, NobodysRequestsToGoogleAreRefused) {
  EXPECT_EQ(ReadFromGs().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(Identity, TheClusterLendsATokenByTheMetadataService) {
  gs_.identity.metadata_url = std::getenv("TEST_GOOGLE_METADATA");
  EXPECT_TRUE(IsLetIn(ReadFromGs()));
}

TEST_F(Identity, AServiceAccountsKeySignsForAToken) {
  gs_.identity.file = File("service_account.json");
  EXPECT_TRUE(IsLetIn(ReadFromGs()));
}

TEST_F(Identity, AnotherProvidersTokenIsExchanged) {
  gs_.identity.file = File("external_account.json");
  EXPECT_TRUE(IsLetIn(ReadFromGs()));
}

TEST_F(Identity, CredentialsOfAnotherKindAreRefusedByName) {
  gs_.identity.file = File("unknown.json");
  const Status status = ReadFromGs();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("gdch_service_account"));
  gs_.identity.file = File("missing.json");
  EXPECT_EQ(ReadFromGs().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensorfleet
