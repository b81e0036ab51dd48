#include "runtime/io/s3_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/s3_client.h"
#include "runtime/io/s3_file_system.h"
#include "runtime/io/sha256.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

TEST(S3Request, HasItsQuerySortedAndEncoded) {
  S3Request request;
  request.query = {{"prefix", "a b/~"}, {"list-type", "2"}, {"uploads", ""}};
  EXPECT_EQ(EncodedQuery(request), "list-type=2&prefix=a%20b%2F~&uploads=");
}

TEST(S3Request, KeepsTheSlashesOfAKeyOnly) {
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
  EXPECT_EQ(config.credentials.region, "us-east-1");
}

TEST(S3Config, TakesTensorFlowsHostWithoutAScheme) {
  const auto config = S3ConfigFromEnv([](const char* name) -> const char* {
    if (absl::string_view(name) == "S3_ENDPOINT") return "b:2";
    if (absl::string_view(name) == "S3_USE_HTTPS") return "0";
    return nullptr;
  });
  EXPECT_EQ(config.endpoint, "http://b:2");
}

TEST(Xml, GivesTheTextOfElements) {
  const std::string xml = "<L><K>a&amp;b</K><K>c</K><K>never closed";
  EXPECT_EQ(XmlText(xml, "K"), "a&b");
  EXPECT_THAT(XmlElements(xml, "K"), ElementsAre("a&amp;b", "c"));
  EXPECT_EQ(XmlText(xml, "Missing"), "");
}

}  // namespace
}  // namespace tensorfleet
