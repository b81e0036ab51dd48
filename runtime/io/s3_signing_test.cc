#include "runtime/io/s3_signing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/s3_client.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

// Amazon's own examples ("Authenticating Requests: Using the Authorization Header").
class Signature : public ::testing::Test {
 protected:
  std::string Sign(absl::string_view payload) {
    SignS3Request(
        {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", "us-east-1"},
        Sha256Hex(payload), "20130524T000000Z", &request_);
    const std::string& header = request_.headers["authorization"];
    return header.substr(header.rfind('=') + 1);
  }
  S3Request request_ = {"GET", "examplebucket.s3.amazonaws.com", "/", {}, {}};
};

TEST_F(Signature, OfAnObjectsRange) {
  request_.path = "/test.txt";
  request_.headers["range"] = "bytes=0-9";
  EXPECT_EQ(Sign(""), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(Signature, OfAnUploadWithAStrangeName) {
  request_.method = "PUT";
  request_.path = "/test$file.text";
  request_.headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_EQ(Sign("Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(Signature, OfAQueryWithoutAValue) {
  request_.query["lifecycle"] = "";
  EXPECT_EQ(Sign(""), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(Signature, OfAList) {
  request_.query = {{"max-keys", "2"}, {"prefix", "J"}};
  EXPECT_EQ(Sign(""), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
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
