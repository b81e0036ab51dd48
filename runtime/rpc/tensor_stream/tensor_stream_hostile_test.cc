// Each side of tensor_stream.h with a peer that does not keep to it.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/net/frame_socket.h"
#include "runtime/rpc/testing/tensor_stream_fixture.h"
#include "runtime/rpc/wire/wire_writer.h"
#include "runtime/rpc/wire/worker_codec.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::HasSubstr;

// One side of a connection, of which the test says what it does.
class Peer final : public net::FrameSocket::Receiver {
 public:
  struct Frame {
    StreamFrame kind;
    uint64_t id;
    std::string message;
  };
  using React = std::function<std::vector<Frame>(const Frame& frame)>;
  explicit Peer(React react) : react_(std::move(react)) {}

  static std::shared_ptr<Peer> On(net::EventLoop* loop, int fd, React react) {
    auto peer = std::make_shared<Peer>(std::move(react));
    const auto socket = *net::FrameSocket::Open(loop, fd, peer);
    {
      MutexLock lock(&peer->mu_);
      peer->socket_ = socket;
    }
    socket->StartReading();
    return peer;
  }
  void Send(const Frame& frame) {
    if (const auto socket = this->socket()) {
      socket->Send(static_cast<uint32_t>(frame.kind), frame.id, frame.message);
    }
  }
  void HangUp() {
    if (const auto socket = this->socket()) socket->Close(OkStatus());
  }

  StatusOr<net::FrameTarget> OnHeader(const net::FrameHeader&) override {
    return net::FrameTarget();
  }
  Status OnFrame(const net::FrameHeader& header, std::string message,
                 net::EventLoop::Work*) override {
    const Frame frame = {static_cast<StreamFrame>(header.kind), header.id, std::move(message)};
    for (const Frame& answer : react_(frame)) Send(answer);
    return OkStatus();
  }
  void OnClosed(const Status&) override {
    MutexLock lock(&mu_);
    socket_ = nullptr;
  }

 private:
  std::shared_ptr<net::FrameSocket> socket() {
    MutexLock lock(&mu_);
    return socket_;
  }
  const React react_;
  Mutex mu_;
  std::shared_ptr<net::FrameSocket> socket_ ABSL_GUARDED_BY(mu_);  // null once closed
};

using Frames = std::vector<Peer::Frame>;

std::string ReplyWithHead(int64_t elements) {
  RecvTensorResult result;
  result.tensor = Counting(elements);
  return EncodeStreamReply(result)->message;
}

// An offer of so many elements, at an address where nothing is.
std::string OfferOf(int64_t elements) {
  return std::string(kOfferAddressBytes, '\0') + ReplyWithHead(elements);
}

// What a call ends with whose answer are these frames. Its id is 1.
class HostileServer : public TensorStreamTest {
 protected:
  Status CallAnsweredBy(Frames frames) {
    return Call([&](auto serve) { return Impostor(std::move(serve)); },
                [frames](const Peer::Frame&) { return frames; });
  }
  Status LocalCallAnsweredBy(Peer::React react) {
    return Call([&](auto serve) { return LocalImpostor(std::move(serve)); }, std::move(react));
  }
  RecvTensorResult result_;

 private:
  template <typename Listen>
  Status Call(Listen listen, const Peer::React& react) {
    // A peer and its socket keep each other until that is closed.
    struct Peers {
      Mutex mu;
      std::vector<std::shared_ptr<Peer>> all ABSL_GUARDED_BY(mu);
    };
    const auto peers = std::make_shared<Peers>();
    const auto listener = listen([loop = loop_.get(), react, peers](int fd) {
      auto peer = Peer::On(loop, fd, [react](const Peer::Frame& frame) {
        return frame.kind == StreamFrame::kHello ? Frames{{StreamFrame::kHello, 0, ""}}
                                                 : react(frame);
      });
      MutexLock lock(&peers->mu);
      peers->all.push_back(std::move(peer));
    });
    const auto client = Client();
    const auto stream = StreamOf(client.get());
    if (stream == nullptr) return Internal("there is no stream");
    const Status status = Fetch(stream.get(), "k", &result_);
    client->Close();
    listener->Close();
    MutexLock lock(&peers->mu);
    for (const auto& peer : peers->all) peer->HangUp();
    return status;
  }
};

TEST_F(HostileServer, ContentWithoutAHeadEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{StreamFrame::kContent, 1, "abc"}}).message(),
              HasSubstr("content without a head"));
}

TEST_F(HostileServer, MoreContentThanTheTensorHasEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{StreamFrame::kReply, 1, ReplyWithHead(2000)},
                              {StreamFrame::kContent, 1, std::string(15'999, 'x')},
                              {StreamFrame::kContent, 1, "yz"}})
                  .message(),
              HasSubstr("more of a tensor than it has"));
}

TEST_F(HostileServer, ASecondReplyEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{StreamFrame::kReply, 1, ReplyWithHead(2000)},
                              {StreamFrame::kReply, 1, ReplyWithHead(4000)}})
                  .message(),
              HasSubstr("two replies"));
}

TEST_F(HostileServer, AnUnknownFrameEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{static_cast<StreamFrame>(99), 1, ""}}).message(),
              HasSubstr("unknown kind: 99"));
}

TEST_F(HostileServer, AnAnswerThatCannotBeParsedIsThatCallsError) {
  for (const StreamFrame kind : {StreamFrame::kReply, StreamFrame::kError}) {
    EXPECT_THAT(CallAnsweredBy({{kind, 1, "\xff\xff\xff"}}).message(),
                HasSubstr("cannot be parsed"));
  }
}

TEST_F(HostileServer, AReplyOfNothingIsThatCallsError) {
  EXPECT_THAT(CallAnsweredBy({{StreamFrame::kReply, 1, ""}}).message(),
              HasSubstr("neither a tensor nor a dead value"));
}

TEST_F(HostileServer, SilenceEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({}).message(), HasSubstr("no sign of life"));
}

TEST_F(HostileServer, FramesForNobodyAreSkipped) {
  const Status end = CallAnsweredBy({{StreamFrame::kReply, 77, ReplyWithHead(2000)},
                                     {StreamFrame::kContent, 77, "abc"},
                                     {StreamFrame::kError, 1, EncodeStreamError(Aborted("over"))}});
  EXPECT_EQ(end, Aborted("over"));
}

TEST_F(HostileServer, AnOfferThatWasNotAskedForEndsTheConnection) {
  EXPECT_THAT(CallAnsweredBy({{StreamFrame::kOffer, 1, OfferOf(2000)}}).message(),
              HasSubstr("not asked for"));
}

TEST_F(HostileServer, AnOfferOfNothingEndsTheConnection) {
  for (const std::string& offer : {std::string("short"), OfferOf(1)}) {
    EXPECT_THAT(LocalCallAnsweredBy([offer](const Peer::Frame&) -> Frames {
                  return {{StreamFrame::kOffer, 1, offer}};
                }).message(),
                HasSubstr("an offer of nothing"));
  }
}

TEST_F(HostileServer, WhatCannotBeReadIsAskedFor) {
  const Status status = LocalCallAnsweredBy([&](const Peer::Frame& frame) -> Frames {
    if (frame.kind == StreamFrame::kRecvOrRead) {
      return {{StreamFrame::kOffer, frame.id, OfferOf(2000)}};
    }
    if (frame.kind != StreamFrame::kSendIt) return {};
    return {{StreamFrame::kReply, frame.id, ReplyWithHead(2000)},
            {StreamFrame::kContent, frame.id, std::string(16'000, '\1')}};
  });
  ASSERT_EQ(status, OkStatus());
  EXPECT_EQ(result_.tensor.values<int64_t>()[1999], 0x0101010101010101);
}

TEST_F(HostileServer, AnOfferToNobodyIsGivenBack) {
  uint64_t taken = 0;
  const Status status = LocalCallAnsweredBy([&](const Peer::Frame& frame) -> Frames {
    if (frame.kind == StreamFrame::kRecvOrRead) {
      return {{StreamFrame::kOffer, 77, OfferOf(2000)}};
    }
    if (frame.kind != StreamFrame::kTaken) return {};
    taken = frame.id;
    return {{StreamFrame::kError, 1, EncodeStreamError(Aborted("over"))}};
  });
  EXPECT_EQ(status, Aborted("over"));
  EXPECT_EQ(taken, 77);
}

// What a client has been offered and does not take.
class Offered : public TensorStreamTest {
 protected:
  void SetUp() override {
    worker_.results["k"].tensor = Counting(10'000);
    peer_ = Peer::On(loop_.get(), *net::ConnectLocally(server_->local_name()),
                     [&](const Peer::Frame& frame) -> Frames {
                       if (frame.kind == StreamFrame::kOffer) offered_.Notify();
                       if (frame.kind == StreamFrame::kContent) sent_.Notify();
                       return {};
                     });
    peer_->Send({StreamFrame::kHello, 0, server_->token()});
    peer_->Send({StreamFrame::kRecvOrRead, 5, Flatten(EncodeRecvTensor({1, 2, "k"}))});
    ASSERT_TRUE(offered_.WaitFor(kTimeout));
    EXPECT_FALSE(server_->is_idle());
  }
  void TearDown() override {
    peer_->HangUp();
    server_->HangUp();
    loop_.reset();  // before what `peer_` tells is gone
  }
  std::shared_ptr<Peer> peer_;
  Notification offered_, sent_;
};

TEST_F(Offered, StaysUntilItIsTaken) {
  peer_->Send({StreamFrame::kTaken, 5, ""});
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(Offered, IsWithdrawnFromWhoCancels) {
  peer_->Send({StreamFrame::kCancel, 5, ""});
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(Offered, IsWithdrawnFromWhoHangsUp) {
  peer_->HangUp();
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(Offered, IsSentToWhoCannotReadIt) {
  peer_->Send({StreamFrame::kSendIt, 5, ""});
  EXPECT_TRUE(sent_.WaitFor(kTimeout));
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(Offered, IsNotTakenByAnotherName) {
  peer_->Send({StreamFrame::kTaken, 6, ""});
  peer_->Send({StreamFrame::kSendIt, 6, ""});
  peer_->Send({StreamFrame::kRecvOrRead, 5, Flatten(EncodeRecvTensor({1, 2, "k"}))});  // in use
  EXPECT_TRUE(BecomesIdle()) << "the connection should have ended";
  EXPECT_FALSE(sent_.WaitFor(std::chrono::milliseconds(0)));
}

// Whether the server hangs up on a client that sends these bytes.
class HostileClient : public TensorStreamTest {
 protected:
  static std::string Frame(StreamFrame kind, uint64_t id, const std::string& message) {
    const net::FrameHeader header{id, static_cast<uint32_t>(message.size()),
                                  static_cast<uint32_t>(kind)};
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + message;
  }
  bool HangsUpOn(const std::string& bytes) {
    const int fd = *net::StartConnect("127.0.0.1", server_->port());
    pollfd waiting{fd, POLLOUT, 0};
    EXPECT_EQ(::poll(&waiting, 1, 20'000), 1);
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ssize_t got = 1;
    while (got != 0 && std::chrono::steady_clock::now() < end) {
      waiting.events = POLLIN;
      ::poll(&waiting, 1, 1000);
      char buffer[256];
      got = ::recv(fd, buffer, sizeof(buffer), 0);
      if (got < 0 && errno == ECONNRESET) got = 0;
    }
    ::close(fd);
    return got == 0;
  }
};

TEST_F(HostileClient, WhoDoesNotKnowTheTokenIsNotServed) {
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kHello, 0, std::string(kStreamTokenBytes, 'x'))));
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kHello, 0, server_->token() + "x")));
  EXPECT_TRUE(HangsUpOn(Frame(StreamFrame::kRecvTensor, 1, "")));
  EXPECT_TRUE(HangsUpOn("GET / HTTP/1.1\r\n\r\n"));
}

TEST_F(HostileClient, WhoSaysNothingIsNotWaitedForForEver) { EXPECT_TRUE(HangsUpOn("")); }

TEST_F(HostileClient, FramesThatMakeNoSenseEndTheConnection) {
  const std::string hello = Frame(StreamFrame::kHello, 0, server_->token());
  EXPECT_TRUE(HangsUpOn(hello + hello));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kContent, 1, "abc")));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kRecvOrRead, 1, "")));  // by port
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kRecvTensor, 1, "\xff\xff\xff")));
  EXPECT_TRUE(HangsUpOn(hello + Frame(StreamFrame::kRecvTensor, 1, "") +
                        Frame(StreamFrame::kRecvTensor, 1, "")));
}

}  // namespace
}  // namespace tensorfleet::rpc
