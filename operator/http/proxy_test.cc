#include "operator/http/proxy.h"

#include <gmock/gmock.h>

#include <map>

namespace tensorfleet::http {
namespace {

using ::testing::HasSubstr;

TEST(ProxyUrl, MayHaveAUserAndAPassword) {
  const auto proxy = ParseProxy("http://me:p%40ss@proxy.example:3128/");
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  EXPECT_EQ(proxy->at.host, "proxy.example");
  EXPECT_EQ(proxy->at.port, 3128);
  EXPECT_EQ(proxy->authorization, "Basic bWU6cEBzcw==");  // me:p@ss
  EXPECT_EQ(ParseProxy("proxy:8080")->at.port, 8080);
}

TEST(ProxyUrl, OfAnotherKindIsRefusedByName) {
  EXPECT_THAT(ParseProxy("socks5://p:1").status().message(), HasSubstr("socks5"));
  const Status bad = ParseProxy("http://me:secret@p:99999").status();
  EXPECT_FALSE(bad.ok());
  EXPECT_THAT(bad.message(), ::testing::Not(HasSubstr("secret")));
}

TEST(NoProxy, ExemptsNamesDomainsAddressesNetworksAndPorts) {
  const auto exempt = [](const std::string& host, const char* list, int port = 443) {
    return IsExempt({host, port, true}, list);
  };
  EXPECT_TRUE(exempt("api.example.com", "other,example.com"));
  EXPECT_TRUE(exempt("API.example.com", ".example.com"));
  EXPECT_TRUE(exempt("api.example.com", "*.example.com"));
  EXPECT_FALSE(exempt("badexample.com", "example.com"));
  EXPECT_FALSE(exempt("example.com", ".example.com"));
  EXPECT_TRUE(exempt("anything", " * "));
  EXPECT_TRUE(exempt("10.96.0.1", "10.0.0.0/8"));
  EXPECT_FALSE(exempt("11.96.0.1", "10.0.0.0/8"));
  EXPECT_TRUE(exempt("10.1.2.3", "10.1.2.3"));
  EXPECT_TRUE(exempt("fd00::5", "fd00::/16"));
  EXPECT_FALSE(exempt("10.1.2.3", "fd00::/16"));
  EXPECT_TRUE(exempt("a", "a:443"));
  EXPECT_FALSE(exempt("a", "a:6443"));
  EXPECT_TRUE(exempt("127.0.0.5", ""));
  EXPECT_TRUE(exempt("localhost", ""));
  EXPECT_FALSE(exempt("a", ",,10.0.0.0/99,/,[,::"));
}

TEST(ProxyFor, GoesByConfigurationThenByEnvironment) {
  std::map<std::string, std::string> env = {
      {"HTTPS_PROXY", "http://env:1"}, {"http_proxy", "http://plain:2"}, {"NO_PROXY", "inside"}};
  const auto get = [&](const char* name) { return env[name]; };
  const auto host = [&](const Endpoint& to, const std::string& configured = "") {
    const auto proxy = ProxyFor(to, configured, get);
    return proxy.ok() && *proxy ? (*proxy)->at.host : "";
  };
  EXPECT_EQ(host({"api", 443, true}), "env");
  EXPECT_EQ(host({"api", 80, false}), "plain");
  EXPECT_EQ(host({"inside", 443, true}), "");
  EXPECT_EQ(host({"inside", 443, true}, "http://said:3"), "said");
}

}  // namespace
}  // namespace tensorfleet::http
