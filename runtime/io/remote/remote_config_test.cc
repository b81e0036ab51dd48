// How stores are found: what the environment says, and how requests are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/remote/gs_file_system.h"
#include "runtime/io/remote/hdfs_file_system.h"
#include "runtime/io/remote/s3_client.h"
#include "runtime/io/remote/s3_file_system.h"
#include "runtime/io/remote/xml.h"
#include "runtime/io/sha256.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

TEST(HttpRequest, HasItsQuerySortedAndEncoded) {
  EXPECT_EQ(EncodedQuery({{"prefix", "a b/~"}, {"list-type", "2"}, {"uploads", ""}}),
            "list-type=2&prefix=a%20b%2F~&uploads=");
}

TEST(HttpRequest, KeepsTheSlashesOfAKeyOnly) {
  EXPECT_EQ(UriEncoded("/b/\xc3\xbc+$", true), "/b/%C3%BC%2B%24");
  EXPECT_EQ(UriEncoded("/b", false), "%2Fb");
}

// FIPS 180-2's own example.
TEST(S3Request, NamesItsPayloadByItsHash) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(S3PartBytes, LetTheMostPartsHoldTheLargestObject) {
  EXPECT_EQ(S3PartBytes(1), size_t{8} << 20);
  uint64_t whole = 0;
  for (int number = 1; number <= 10'000; ++number) {
    whole += S3PartBytes(number);
    ASSERT_LE(S3PartBytes(number), size_t{5} << 30) << "the store takes no larger part";
  }
  EXPECT_GE(whole, uint64_t{5} << 40);
}

TEST(S3Config, PrefersAmazonsVariablesToTensorFlows) {
  const auto config = S3ConfigFromEnv([](const char* name) -> const char* {
    if (absl::string_view(name) == "AWS_ENDPOINT_URL") return "http://a:1/";
    if (absl::string_view(name) == "S3_ENDPOINT") return "b:2";
    return nullptr;
  });
  EXPECT_EQ(config.endpoint, "http://a:1");
  EXPECT_EQ(config.region, "us-east-1");
}

TEST(S3Config, TakesTensorFlowsHostWithoutAScheme) {
  const auto config = S3ConfigFromEnv([](const char* name) -> const char* {
    if (absl::string_view(name) == "S3_ENDPOINT") return "b:2";
    if (absl::string_view(name) == "S3_USE_HTTPS") return "0";
    return nullptr;
  });
  EXPECT_EQ(config.endpoint, "http://b:2");
}

TEST(S3Config, AsksTheMachineForAmazonsStoreOnly) {
  const auto amazon = S3ConfigFromEnv([](const char*) -> const char* { return nullptr; });
  EXPECT_EQ(amazon.identity.metadata_url, "http://169.254.169.254");
  const auto other = S3ConfigFromEnv([](const char* name) -> const char* {
    return absl::string_view(name) == "AWS_ENDPOINT_URL" ? "http://a:1" : nullptr;
  });
  EXPECT_EQ(other.identity.metadata_url, "");
  const auto disabled = S3ConfigFromEnv([](const char* name) -> const char* {
    return absl::string_view(name) == "AWS_EC2_METADATA_DISABLED" ? "true" : nullptr;
  });
  EXPECT_EQ(disabled.identity.metadata_url, "");
}

TEST(GsConfig, AnEmulatorIsAskedWithoutCredentials) {
  const auto config = GsConfigFromEnv([](const char* name) -> const char* {
    return absl::string_view(name) == "STORAGE_EMULATOR_HOST" ? "a:1" : "other";
  });
  EXPECT_EQ(config.endpoint, "http://a:1");
  EXPECT_EQ(config.identity.file, "");
  EXPECT_EQ(config.identity.metadata_url, "");
}

TEST(GsConfig, ElseGooglesOwnWithWhatItsToolsRead) {
  const auto config = GsConfigFromEnv([](const char* name) -> const char* {
    return absl::string_view(name) == "GOOGLE_APPLICATION_CREDENTIALS" ? "/a.json" : nullptr;
  });
  EXPECT_EQ(config.endpoint, "https://storage.googleapis.com");
  EXPECT_EQ(config.identity.file, "/a.json");
  EXPECT_EQ(config.identity.metadata_url, "http://metadata.google.internal");
}

TEST(HdfsConfig, HasAddressesWithAndWithoutAScheme) {
  const auto config = HdfsConfigFromEnv([](const char* name) -> const char* {
    if (absl::string_view(name) == "TENSORFLEET_WEBHDFS") return "https://a:1/, b:2";
    return absl::string_view(name) == "USER" ? "me" : nullptr;
  });
  EXPECT_THAT(config.addresses, ElementsAre("https://a:1", "http://b:2"));
  EXPECT_EQ(config.user, "me");
}

TEST(Xml, GivesTheTextOfElements) {
  const std::string xml = "<L><K>a&amp;b</K><K>c</K><K>never closed";
  EXPECT_EQ(XmlText(xml, "K"), "a&b");
  EXPECT_THAT(XmlElements(xml, "K"), ElementsAre("a&amp;b", "c"));
  EXPECT_EQ(XmlText(xml, "Missing"), "");
}

}  // namespace
}  // namespace tensorfleet
