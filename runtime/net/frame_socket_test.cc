#include "runtime/net/frame_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

namespace tensorfleet::net {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr auto kTimeout = std::chrono::seconds(20);
constexpr uint32_t kText = 1, kBytes = 2, kDropped = 3, kRefused = 4;

Tensor Counting(int64_t elements) {
  Tensor tensor = *Tensor::Allocate(DType::kInt32, Shape({elements}));
  auto values = tensor.mutable_values<int32_t>();
  for (int64_t i = 0; i < elements; ++i) values[i] = static_cast<int32_t>(i);
  return tensor;
}

// Remembers what comes.
class Recorder final : public FrameSocket::Receiver {
 public:
  StatusOr<FrameTarget> OnHeader(const FrameHeader& header) override {
    FrameTarget target;
    if (header.kind == kRefused) return InvalidArgument("not this kind");
    if (header.kind == kDropped) target.where = FrameTarget::kNowhere;
    if (header.kind == kBytes) {
      MutexLock lock(&mu_);
      target.where = FrameTarget::kTensor;
      target.tensor = contents_[header.id];
      target.offset = received_[header.id];
    }
    return target;
  }
  Status OnFrame(const FrameHeader& header, std::string message, EventLoop::Work*) override {
    MutexLock lock(&mu_);
    if (header.kind == kText) texts_.emplace_back(header.id, std::move(message));
    if (header.kind == kBytes) received_[header.id] += header.size;
    order_.push_back(header.id);
    changed_.NotifyAll();
    return OkStatus();
  }
  void OnClosed(const Status& why) override {
    MutexLock lock(&mu_);
    ++closed_;
    why_ = why;
    changed_.NotifyAll();
  }

  // Bytes of this id go there.
  void Expect(uint64_t id, Tensor tensor) {
    MutexLock lock(&mu_);
    contents_[id] = std::move(tensor);
  }
  bool WaitForFrames(size_t count) {
    return WaitUntil([&] { return order_.size() >= count; });
  }
  bool WaitForBytes(uint64_t id) {
    return WaitUntil([&] { return received_[id] == contents_[id].bytes(); });
  }
  bool WaitForEnd() {
    return WaitUntil([&] { return closed_ > 0; });
  }
  std::vector<std::pair<uint64_t, std::string>> texts() {
    MutexLock lock(&mu_);
    return texts_;
  }
  std::vector<uint64_t> order() {
    MutexLock lock(&mu_);
    return order_;
  }
  Status why() {
    MutexLock lock(&mu_);
    return why_;
  }

 private:
  template <typename Condition>
  bool WaitUntil(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    MutexLock lock(&mu_);
    while (!condition()) {
      if (!changed_.WaitUntil(&mu_, end)) return condition();
    }
    return true;
  }
  Mutex mu_;
  CondVar changed_;
  std::vector<std::pair<uint64_t, std::string>> texts_;
  std::vector<uint64_t> order_;
  std::map<uint64_t, Tensor> contents_;
  std::map<uint64_t, size_t> received_;
  int closed_ = 0;
  Status why_;
};

class FrameSocketTest : public ::testing::Test {
 protected:
  FrameSocketTest() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    raw_ = fds[0];
    socket_ = *FrameSocket::Open(loop_.get(), fds[1], receiver_);
    socket_->StartReading();
  }
  ~FrameSocketTest() override {
    socket_->Close(Cancelled("the test is over"));
    if (peer_ != nullptr) peer_->Close(Cancelled("the test is over"));
    if (raw_ >= 0) ::close(raw_);
  }
  // A socket at the other end in place of the bare descriptor.
  FrameSocket* Peer() {
    peer_ = *FrameSocket::Open(loop_.get(), std::exchange(raw_, -1), peer_receiver_);
    peer_->StartReading();
    return peer_.get();
  }
  void Write(absl::string_view bytes) {
    ASSERT_EQ(::send(raw_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static std::string Header(uint64_t id, uint32_t size, uint32_t kind) {
    const FrameHeader header{id, size, kind};
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
  }

  const std::unique_ptr<EventLoop> loop_ = *EventLoop::Start(2, nullptr);
  const std::shared_ptr<Recorder> receiver_ = std::make_shared<Recorder>();
  const std::shared_ptr<Recorder> peer_receiver_ = std::make_shared<Recorder>();
  std::shared_ptr<FrameSocket> socket_, peer_;
  int raw_ = -1;
};

TEST_F(FrameSocketTest, MessagesComeWholeAndInOrder) {
  const std::string large(3'000'000, 'x');
  FrameSocket* const peer = Peer();
  peer->Send(kText, 1, "one");
  peer->Send(kText, 2, "");
  peer->Send(kText, 3, large);
  ASSERT_TRUE(receiver_->WaitForFrames(3));
  EXPECT_THAT(receiver_->texts(), ElementsAre(Pair(1, "one"), Pair(2, ""), Pair(3, large)));
}

TEST_F(FrameSocketTest, AHeaderMayComeInParts) {
  const std::string frame = Header(7, 2, kText) + "ab";
  for (const char byte : frame) Write(std::string(1, byte));
  ASSERT_TRUE(receiver_->WaitForFrames(1));
  EXPECT_THAT(receiver_->texts(), ElementsAre(Pair(7, "ab")));
}

TEST_F(FrameSocketTest, ATensorGoesFromBufferToBuffer) {
  const Tensor sent = Counting(5'000'003);
  const Tensor got = *Tensor::Zeros(DType::kInt32, sent.shape());
  receiver_->Expect(1, got);
  Peer()->SendWithContent(kText, 1, "head", kBytes, sent);
  ASSERT_TRUE(receiver_->WaitForBytes(1));
  EXPECT_THAT(receiver_->texts(), ElementsAre(Pair(1, "head")));
  EXPECT_EQ(got.values<int32_t>(), sent.values<int32_t>());
}

TEST_F(FrameSocketTest, WhatIsSmallDoesNotWaitForWhatIsLarge) {
  const Tensor large = Counting(16 << 20);
  receiver_->Expect(1, *Tensor::Zeros(DType::kInt32, large.shape()));
  FrameSocket* const peer = Peer();
  peer->SendWithContent(kText, 1, "head", kBytes, large);
  peer->Send(kText, 2, "small");
  ASSERT_TRUE(receiver_->WaitForBytes(1));
  EXPECT_NE(receiver_->order().back(), 2u);
}

TEST_F(FrameSocketTest, TwoTensorsOnTheWayAtOnceBothArrive) {
  const Tensor sent = Counting(3'000'000);
  const std::array<Tensor, 2> got{*Tensor::Zeros(DType::kInt32, sent.shape()),
                                  *Tensor::Zeros(DType::kInt32, sent.shape())};
  FrameSocket* const peer = Peer();
  for (uint64_t id : {0, 1}) receiver_->Expect(id, got[id]);
  for (uint64_t id : {0, 1}) peer->SendWithContent(kText, id, "", kBytes, sent);
  for (uint64_t id : {0, 1}) {
    ASSERT_TRUE(receiver_->WaitForBytes(id));
    EXPECT_EQ(got[id].values<int32_t>(), sent.values<int32_t>());
  }
}

TEST_F(FrameSocketTest, WhatNobodyWantsIsDroppedAndTheRestGoesOn) {
  FrameSocket* const peer = Peer();
  peer->Send(kDropped, 1, std::string(100'000, 'x'));
  peer->Send(kText, 2, "wanted");
  ASSERT_TRUE(receiver_->WaitForFrames(2));
  EXPECT_THAT(receiver_->texts(), ElementsAre(Pair(2, "wanted")));
}

TEST_F(FrameSocketTest, MoreOfATensorThanItHasEndsTheConnection) {
  receiver_->Expect(1, *Tensor::Zeros(DType::kInt32, Shape({2})));
  Write(Header(1, 9, kBytes) + "123456789");
  ASSERT_TRUE(receiver_->WaitForEnd());
  EXPECT_EQ(receiver_->why().code(), absl::StatusCode::kInternal);
}

TEST_F(FrameSocketTest, AHeaderThatTheReceiverRefusesEndsTheConnection) {
  Write(Header(1, 0xffffffff, kRefused));
  ASSERT_TRUE(receiver_->WaitForEnd());
  EXPECT_EQ(receiver_->why().message(), "not this kind");
}

TEST_F(FrameSocketTest, APromiseOfAHugeMessageTakesNoMemory) {
  Write(Header(1, 0xffffffff, kText) + "a few bytes");
  ::shutdown(raw_, SHUT_RDWR);
  ASSERT_TRUE(receiver_->WaitForEnd());
  EXPECT_EQ(receiver_->why().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FrameSocketTest, APeerThatHangsUpIsNoticed) {
  ::close(std::exchange(raw_, -1));
  ASSERT_TRUE(receiver_->WaitForEnd());
  EXPECT_EQ(receiver_->why().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FrameSocketTest, AClosedSocketTellsItsPeerAndForgetsWhatWasToBeSent) {
  const Tensor large = Counting(16 << 20);
  socket_->SendWithContent(kText, 1, "", kBytes, large);  // nobody reads it yet
  EXPECT_FALSE(socket_->is_flushed());
  socket_->Close(Unavailable("enough"));
  EXPECT_TRUE(socket_->is_flushed());
  socket_->Send(kText, 2, "never sent");
  EXPECT_EQ(receiver_->why().message(), "enough");
  peer_receiver_->Expect(1, *Tensor::Zeros(DType::kInt32, large.shape()));
  Peer();
  ASSERT_TRUE(peer_receiver_->WaitForEnd());
  EXPECT_EQ(peer_receiver_->why().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tensorfleet::net
