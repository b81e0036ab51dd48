// The client and its transport against an API server over real sockets.

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "operator/testing/api_fixture.h"
#include "operator/testing/faulty_transport.h"
#include "operator/testing/self_signed.h"

namespace tensorfleet::k8s {
namespace {

using tensorfleet::testing::ApiFixture;
using tensorfleet::testing::FakeApiServer;
using tensorfleet::testing::Fault;
using tensorfleet::testing::Json;
using ::testing::HasSubstr;

class ClientTest : public ApiFixture {
 protected:
  std::string Path(const std::string& name) { return ConfigMaps() + "/" + name; }
};

TEST_F(ClientTest, CreatesReadsAndDeletes) {
  const Json made = MustCreate(ConfigMaps(), ConfigMap("a"));
  EXPECT_FALSE(made["metadata"]["uid"].get<std::string>().empty());
  const auto read = client().Get(Path("a"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Json::parse(*read)["metadata"]["uid"], made["metadata"]["uid"]);
  EXPECT_TRUE(client().Delete(Path("a")).ok());
  EXPECT_EQ(client().Get(Path("a")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, ANameTakenIsToldApartFromAConflict) {
  MustCreate(ConfigMaps(), ConfigMap("a"));
  const Status again = client().Create(ConfigMaps(), ConfigMap("a").dump()).status();
  EXPECT_TRUE(IsNameTaken(again)) << again;
  EXPECT_FALSE(IsConflict(again));
}

TEST_F(ClientTest, ReplacingAnOldVersionIsAConflict) {
  Json object = MustCreate(ConfigMaps(), ConfigMap("a"));
  Json changed = object;
  changed["data"]["k"] = "1";
  ASSERT_TRUE(client().Replace(Path("a"), changed.dump()).ok());
  changed["data"]["k"] = "2";
  const Status stale = client().Replace(Path("a"), changed.dump()).status();
  EXPECT_TRUE(IsConflict(stale)) << stale;
}

TEST_F(ClientTest, MergePatchChangesOnlyWhatItNames) {
  Json object = ConfigMap("a");
  object["data"] = {{"keep", "1"}, {"drop", "2"}};
  MustCreate(ConfigMaps(), object);
  const auto patched = client().MergePatch(Path("a"), R"({"data":{"drop":null,"add":"3"}})");
  ASSERT_TRUE(patched.ok()) << patched.status();
  EXPECT_EQ(Json::parse(*patched)["data"], (Json{{"keep", "1"}, {"add", "3"}}));
}

TEST_F(ClientTest, AMergePatchWithAnOldVersionIsAConflict) {
  const Json object = MustCreate(ConfigMaps(), ConfigMap("a"));
  ASSERT_TRUE(client().MergePatch(Path("a"), R"({"data":{"a":"1"}})").ok());
  const Json patch = {{"metadata", {{"resourceVersion", object["metadata"]["resourceVersion"]}}},
                      {"data", {{"a", "2"}}}};
  EXPECT_TRUE(IsConflict(client().MergePatch(Path("a"), patch.dump()).status()));
}

TEST_F(ClientTest, ApplyCreatesAndThenUpdates) {
  Json object = ConfigMap("a");
  object["data"]["k"] = "1";
  ASSERT_TRUE(client().Apply(Path("a"), "tests", true, object.dump()).ok());
  object["data"]["k"] = "2";
  const auto applied = client().Apply(Path("a"), "tests", true, object.dump());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(Json::parse(*applied)["data"]["k"], "2");
}

TEST_F(ClientTest, DeletesOnlyTheObjectItMeans) {
  MustCreate(ConfigMaps(), ConfigMap("a"));
  DeleteOptions another;
  another.uid = "11111111-2222-3333-4444-555555555555";
  EXPECT_TRUE(IsConflict(client().Delete(Path("a"), another).status()));
  EXPECT_TRUE(client().Get(Path("a")).ok());
}

TEST_F(ClientTest, ReusesItsConnectionAndRetriesWhenTheServerHadClosedIt) {
  FLEET_NEEDS_FAKE_SERVER();
  MustCreate(ConfigMaps(), ConfigMap("a"));
  for (int i = 0; i < 5; ++i) {
    fake()->DropConnections();
    const auto read = client().Get(Path("a"));
    EXPECT_TRUE(read.ok()) << read.status();
  }
}

// Behind one address there may be several API servers: connections kept for ever would leave one
// that was restarted without work.
TEST_F(ClientTest, AConnectionIsNotKeptBeyondItsAge) {
  auto server = *http::Server::Start({}, [](const auto&, http::ResponseWriter& writer) {
    (void)writer.Send(200, "application/json", "{}");
  });
  ClusterConfig config;
  config.server = absl::StrCat("http://127.0.0.1:", server->port());
  for (const auto& [age, connections] : {std::pair(300, 1), std::pair(0, 3)}) {
    const int64_t before = server->accepted();
    HttpTransportOptions options;
    options.max_age = std::chrono::seconds(age);
    auto transport = *MakeHttpTransport(config, options);
    Client one(transport.get(), nullptr);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(one.Get("/api").ok());
    EXPECT_EQ(server->accepted() - before, connections) << age;
  }
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsksWhenItIsTooBusy) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 429;
  fault.reason = "TooManyRequests";
  fault.retry_after = "1";
  fake()->Inject(fault);
  const auto begin = std::chrono::steady_clock::now();
  MustCreate(ConfigMaps(), ConfigMap("a"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(990));
  EXPECT_EQ(fake()->CountRequests("POST", "configmaps"), 2);
}

TEST_F(ClientTest, ComesBackWhenAskedToByAServerError) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 503;
  fault.retry_after = "0";
  fault.times = 3;
  fake()->Inject(fault);
  MustCreate(ConfigMaps(), ConfigMap("a"));
}

TEST_F(ClientTest, GivesUpOnAServerThatIsAlwaysBusy) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.code = 429;
  fault.retry_after = "0";
  fault.times = 100;
  fake()->Inject(fault);
  EXPECT_EQ(client().Get(Path("a")).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(fake()->CountRequests("GET", "configmaps"), 11);
}

TEST_F(ClientTest, ReportsAServerErrorAtOnce) {
  FLEET_NEEDS_FAKE_SERVER();
  fake()->Inject({});
  const Status status = client().Create(ConfigMaps(), ConfigMap("a").dump()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("injected"));
  EXPECT_EQ(fake()->CountRequests("POST", ""), 1);
}

TEST_F(ClientTest, ReportsAnAnswerThatBreaksOff) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault fault;
  fault.kind = Fault::Kind::kHalfAnswer;
  fake()->Inject(fault);
  EXPECT_EQ(client().Create(ConfigMaps(), ConfigMap("a").dump()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, EndsARequestWhenItIsCancelled) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = std::chrono::milliseconds(2000);
  fake()->Inject(slow);
  CancellationManager cancel;
  Request request;
  request.path = Path("a");
  request.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.StartCancel();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(transport().Send(request).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1000));
  other.join();
}

TEST_F(ClientTest, EndsARequestAtItsDeadline) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = std::chrono::milliseconds(500);
  fake()->Inject(slow);
  Request request;
  request.path = Path("a");
  request.deadline = http::After(std::chrono::milliseconds(50));
  EXPECT_EQ(transport().Send(request).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, SaysWhenNobodyListens) {
  ClusterConfig nowhere;
  nowhere.server = "http://127.0.0.1:1";
  auto transport = *MakeHttpTransport(nowhere);
  const Status status = transport->Send(Request{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("connect to 127.0.0.1:1"));
}

TEST_F(ClientTest, PicksUpARotatedTokenWhenTheOldOneIsRefused) {
  FLEET_NEEDS_FAKE_SERVER();
  class Rotating final : public Credentials {
   public:
    StatusOr<Credential> Get(http::Deadline) override {
      return Credential{"Bearer " + current, "", ""};
    }
    void Invalidate() override { current = "new"; }
    std::string current = "old";
  };
  ClusterConfig config = this->config();
  config.credentials = std::make_shared<Rotating>();
  auto transport = *MakeHttpTransport(config);
  Client client(transport.get(), nullptr);
  fake()->SetToken("new");
  EXPECT_TRUE(client.Create(ConfigMaps(), ConfigMap("a").dump()).ok());
}

TEST_F(ClientTest, AWrongTokenIsAnError) {
  FLEET_NEEDS_FAKE_SERVER();
  fake()->SetToken("right");
  EXPECT_EQ(client().Get(Path("a")).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(ClientTls, AcceptsOnlyAServerItsAuthorityVouchesFor) {
  const auto authority = tensorfleet::testing::MakeSelfSigned("127.0.0.1");
  const auto stranger = tensorfleet::testing::MakeSelfSigned("127.0.0.1");
  FakeApiServer::Options options;
  options.tls = *http::ServerContext(authority.certificate_pem, authority.key_pem);
  FakeApiServer server(options);
  const auto get = [&](const ClusterConfig& config) {
    auto transport = *MakeHttpTransport(config);
    Request request;
    request.path = "/api/v1/namespaces/default/pods";
    return transport->Send(request).status();
  };
  ClusterConfig config;
  config.server = server.url();
  config.tls.ca_pem = authority.certificate_pem;
  EXPECT_TRUE(get(config).ok()) << get(config);
  config.tls.ca_pem = stranger.certificate_pem;
  EXPECT_THAT(get(config).message(), HasSubstr("certificate is not accepted"));
  config.tls.ca_pem = authority.certificate_pem;
  config.tls_server_name = "another.name";
  EXPECT_THAT(get(config).message(), HasSubstr("certificate is not accepted"));
  config.tls.insecure_skip_verify = true;
  EXPECT_TRUE(get(config).ok());
}

// The authority that clusters give out is often an intermediate one, without the root above it.
TEST(ClientTls, TrustsAnIntermediateAuthorityWithoutItsRoot) {
  using tensorfleet::testing::MakeSelfSigned;
  const auto root = MakeSelfSigned("127.0.0.1");
  const auto intermediate = MakeSelfSigned("127.0.0.1", &root);
  const auto leaf = MakeSelfSigned("127.0.0.1", &intermediate);
  FakeApiServer::Options options;
  options.tls =
      *http::ServerContext(leaf.certificate_pem + intermediate.certificate_pem, leaf.key_pem);
  FakeApiServer server(options);
  for (const auto& trusted : {intermediate, root}) {
    ClusterConfig config;
    config.server = server.url();
    config.tls.ca_pem = trusted.certificate_pem;
    auto transport = *MakeHttpTransport(config);
    Request request;
    request.path = "/api/v1/namespaces/default/pods";
    const auto answer = transport->Send(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
}

// A proxy for one connection: says `answer` to what it is asked, and plays the server behind it.
class TunnelProxy {
 public:
  explicit TunnelProxy(const std::string& answer) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    socklen_t size = sizeof(where);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size);
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this, answer] {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const auto stream = http::Stream::Accepted(fd, nullptr);
      const auto deadline = http::After(std::chrono::seconds(20));
      head_ = HeadFrom(stream.get(), deadline);
      (void)stream->Write(answer, deadline);
      (void)HeadFrom(stream.get(), deadline);
      (void)stream->Write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", deadline);
    });
  }
  ~TunnelProxy() {
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  int port() const { return port_; }
  // What it was asked.
  std::string head() {
    thread_.join();
    return head_;
  }

 private:
  static std::string HeadFrom(http::Stream* stream, http::Deadline deadline) {
    std::string head;
    char byte;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const auto got = stream->Read(&byte, 1, deadline);
      if (!got.ok() || *got == 0) break;
      head += byte;
    }
    return head;
  }

  int listener_, port_;
  std::string head_;
  std::thread thread_;
};

TEST(ClientProxy, IsAskedForATunnel) {
  TunnelProxy proxy("HTTP/1.1 200 Connection established\r\n\r\n");
  ClusterConfig config;
  config.server = "http://api.example:6443";
  config.proxy_url = absl::StrCat("http://me:secret@127.0.0.1:", proxy.port());
  auto transport = *MakeHttpTransport(config);
  Request request;
  request.path = "/api";
  const auto answer = transport->Send(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "{}");
  EXPECT_EQ(proxy.head(),
            "CONNECT api.example:6443 HTTP/1.1\r\nhost: api.example:6443\r\n"
            "proxy-authorization: Basic bWU6c2VjcmV0\r\n\r\n");
}

TEST(ClientProxy, ThatRefusesIsNamed) {
  TunnelProxy proxy("HTTP/1.1 403 Forbidden\r\n\r\n");
  ClusterConfig config;
  config.server = "https://api.example:6443";
  config.proxy_url = absl::StrCat("http://127.0.0.1:", proxy.port());
  auto transport = *MakeHttpTransport(config);
  EXPECT_THAT(std::string(transport->Send(Request{}).status().message()),
              HasSubstr("does not connect to api.example:6443: HTTP/1.1 403"));
}

TEST_F(ClientTest, FaultyTransportStrikesAsTold) {
  FLEET_NEEDS_FAKE_SERVER();
  using tensorfleet::testing::FaultyTransport;
  FaultyTransport faulty(&transport(), [](const Request&, int64_t n) {
    return n == 0   ? FaultyTransport::When::kBefore
           : n == 1 ? FaultyTransport::When::kAfter
                    : FaultyTransport::When::kPass;
  });
  Client client(&faulty, nullptr);
  EXPECT_FALSE(client.Create(ConfigMaps(), ConfigMap("a").dump()).ok());
  EXPECT_FALSE(client.Create(ConfigMaps(), ConfigMap("a").dump()).ok());
  EXPECT_TRUE(IsNameTaken(client.Create(ConfigMaps(), ConfigMap("a").dump()).status()));
}

}  // namespace
}  // namespace tensorfleet::k8s
