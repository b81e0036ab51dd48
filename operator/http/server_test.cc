#include "operator/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tensorfleet::http {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Server> StartEcho() {
  auto server = Server::Start({}, [](const ServerRequest& request, ResponseWriter& writer) {
    (void)writer.Send(200, "text/plain", request.head.method + " " + request.body);
  });
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

std::unique_ptr<Stream> ConnectTo(const Server& server) {
  auto stream = Stream::Connect({"127.0.0.1", server.port(), false}, nullptr, "",
                                After(std::chrono::seconds(5)), nullptr);
  EXPECT_TRUE(stream.ok()) << stream.status();
  return *std::move(stream);
}

// Sends `text` and reads one answer with its body.
StatusOr<std::pair<int, std::string>> Exchange(Stream* stream, MessageReader* reader,
                                               absl::string_view text) {
  const Deadline deadline = After(std::chrono::seconds(5));
  TFLEET_RETURN_IF_ERROR(stream->Write(text, deadline));
  TFLEET_ASSIGN_OR_RETURN(const Head head, reader->ReadHead(deadline));
  std::string body;
  TFLEET_RETURN_IF_ERROR(reader->ReadWholeBody(&body, 1 << 20, deadline));
  return std::make_pair(head.status, body);
}

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  auto server = StartEcho();
  auto stream = ConnectTo(*server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  for (int i = 0; i < 3; ++i) {
    const auto answer =
        Exchange(stream.get(), &reader, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->first, 200);
    EXPECT_EQ(answer->second, "POST hi");
  }
}

// A port scanner, or a proxy that keeps connections for later, must not shut out the API server or
// the kubelet.
TEST(HttpServer, IdleConnectionsGiveWayToNewOnes) {
  Server::Options options;
  options.max_connections = 3;
  auto server = *Server::Start(options, [](const ServerRequest&, ResponseWriter& writer) {
    (void)writer.Send(200, "text/plain", "ok");
  });
  std::vector<std::unique_ptr<Stream>> idle;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(ConnectTo(*server));
    // One says a part of a request and no more.
    if (i % 2 == 0)
      ASSERT_TRUE(idle.back()->Write("GET / HT", After(std::chrono::seconds(5))).ok());
  }
  for (int i = 0; i < 5; ++i) {
    auto stream = ConnectTo(*server);
    MessageReader reader(stream.get(), MessageKind::kResponse);
    const auto answer = Exchange(stream.get(), &reader, "GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->first, 200);
  }
}

TEST(HttpServer, ConnectionsThatAreBeingAnsweredAreNotCutOff) {
  Server::Options options;
  options.max_connections = 1;
  std::atomic<bool> asked{false}, go_on{false};
  auto server = *Server::Start(options, [&](const ServerRequest&, ResponseWriter& writer) {
    asked = true;
    while (!go_on) std::this_thread::yield();
    (void)writer.Send(200, "text/plain", "ok");
  });
  auto first = ConnectTo(*server);
  MessageReader reader(first.get(), MessageKind::kResponse);
  const Deadline deadline = After(std::chrono::seconds(20));
  ASSERT_TRUE(first->Write("GET / HTTP/1.1\r\n\r\n", deadline).ok());
  while (!asked) std::this_thread::yield();
  auto second = ConnectTo(*server);
  MessageReader other(second.get(), MessageKind::kResponse);
  EXPECT_FALSE(Exchange(second.get(), &other, "GET / HTTP/1.1\r\n\r\n").ok());
  go_on = true;
  EXPECT_EQ(reader.ReadHead(deadline)->status, 200);
}

TEST(HttpServer, TakesChunkedRequestBodies) {
  auto server = StartEcho();
  auto stream = ConnectTo(*server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  const auto answer = Exchange(stream.get(), &reader,
                               "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->second, "POST abcde");
}

TEST(HttpServer, RefusesWhatIsNotHttp) {
  auto server = StartEcho();
  auto stream = ConnectTo(*server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  const auto answer = Exchange(stream.get(), &reader, "hello there\r\n\r\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->first, 400);
  EXPECT_THAT(answer->second, HasSubstr("malformed request line"));
}

// Whoever stands between a client and this server may read such a message another way, and take
// what follows for a request of somebody else.
TEST(HttpServer, RefusesMessagesWhoseEndIsUnclear) {
  const char* const kHeads[] = {
      "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nContent-Length:\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nContent-Length : 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nX: a\n\nContent-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nX: a\rContent-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\nContent-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nX: a\r\n Content-Length: 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;\na\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n +1\r\na\r\n0\r\n\r\n",
  };
  for (const char* head : kHeads) {
    auto server = StartEcho();
    auto stream = ConnectTo(*server);
    MessageReader reader(stream.get(), MessageKind::kResponse);
    const auto answer = Exchange(stream.get(), &reader, head);
    ASSERT_TRUE(answer.ok()) << head << answer.status();
    EXPECT_EQ(answer->first, 400) << head;
    // Nothing that comes after is looked at.
    const auto more = reader.ReadHead(After(std::chrono::seconds(5)));
    EXPECT_FALSE(more.ok()) << head;
  }
}

TEST(HttpServer, RefusesBodiesOverItsLimit) {
  Server::Options options;
  options.max_body_bytes = 10;
  auto server = *Server::Start(options, [](const ServerRequest&, ResponseWriter& writer) {
    (void)writer.Send(200, "text/plain", "");
  });
  auto stream = ConnectTo(*server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  const auto answer =
      Exchange(stream.get(), &reader, "POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n01234567890");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->first, 413);
}

TEST(HttpServer, StopsWhileConnectionsAreOpen) {
  auto server = StartEcho();
  auto idle = ConnectTo(*server);
  auto busy = ConnectTo(*server);
  ASSERT_TRUE(
      busy->Write("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n", After(std::chrono::seconds(1)))
          .ok());
  server->Stop();  // the test's time limit is the assertion
  char byte;
  const auto got = idle->Read(&byte, 1, After(std::chrono::seconds(5)));
  EXPECT_TRUE(!got.ok() || *got == 0);
}

TEST(HttpMessage, ReadsAHeadThatComesByteByByte) {
  auto server = Server::Start({}, [](const ServerRequest&, ResponseWriter& writer) {
    for (const char c :
         std::string("HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 1\r\n\r\nz")) {
      (void)writer.WriteRaw(absl::string_view(&c, 1));
    }
  });
  auto stream = ConnectTo(**server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  const Deadline deadline = After(std::chrono::seconds(5));
  ASSERT_TRUE(stream->Write("GET / HTTP/1.1\r\n\r\n", deadline).ok());
  const auto head = reader.ReadHead(deadline);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->status, 201);
  EXPECT_EQ(FindHeader(head->headers, "X-a"), "b");
  std::string body;
  ASSERT_TRUE(reader.ReadWholeBody(&body, 10, deadline).ok());
  EXPECT_EQ(body, "z");
}

TEST(HttpMessage, SaysWhenABodyBreaksOff) {
  auto server = Server::Start({}, [](const ServerRequest&, ResponseWriter& writer) {
    (void)writer.WriteRaw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
  });
  auto stream = ConnectTo(**server);
  MessageReader reader(stream.get(), MessageKind::kResponse);
  const auto answer = Exchange(stream.get(), &reader, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(answer.status().message(), HasSubstr("middle of a body"));
}

TEST(HttpMessage, RefusesAHeadWithoutEnd) {
  EXPECT_FALSE(ParseHead("HTTP/1.1 20", MessageKind::kResponse).ok());
  EXPECT_FALSE(ParseHead("HTTP/2 200 OK", MessageKind::kResponse).ok());
  EXPECT_FALSE(ParseHead("GET / HTTP/1.1\r\nno colon here", MessageKind::kRequest).ok());
  EXPECT_FALSE(ParseHead("GET / HTTP/1.1\r\n : empty name", MessageKind::kRequest).ok());
}

TEST(HttpStream, ReadKeepsToItsDeadline) {
  auto server = StartEcho();
  auto stream = ConnectTo(*server);
  char byte;
  EXPECT_EQ(stream->Read(&byte, 1, After(std::chrono::milliseconds(30))).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(HttpStream, ShutdownWakesAReader) {
  auto server = StartEcho();
  auto stream = ConnectTo(*server);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stream->Shutdown();
  });
  char byte;
  const auto got = stream->Read(&byte, 1, After(std::chrono::seconds(20)));
  EXPECT_TRUE(!got.ok() || *got == 0);
  other.join();
}

TEST(HttpUrl, TakesApart) {
  std::string prefix;
  const auto url = ParseUrl("https://[::1]:6443/k8s/clusters/c-1/", &prefix);
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 6443);
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(prefix, "/k8s/clusters/c-1");
  EXPECT_EQ(ParseUrl("https://h", nullptr)->port, 443);
  EXPECT_FALSE(ParseUrl("ftp://h", nullptr).ok());
  EXPECT_FALSE(ParseUrl("http://h:99999", nullptr).ok());
  EXPECT_FALSE(ParseUrl("http://", nullptr).ok());
}

}  // namespace
}  // namespace tensorfleet::http
