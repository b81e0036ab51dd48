// Both sides of tensor_stream.h with each other.
#include "runtime/rpc/tensor_stream/tensor_stream.h"

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <sys/uio.h>

#include "runtime/rpc/testing/tensor_stream_fixture.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::ElementsAre;

class GrpcStays final : public ::testing::Environment {
 public:
  void SetUp() override { grpc_init(); }
};
const auto* const kGrpcStays = ::testing::AddGlobalTestEnvironment(new GrpcStays);

// By local name or by port.
class EachWay : public TensorStreamTest, public ::testing::WithParamInterface<bool> {
 protected:
  EachWay() {
    if (!is_local()) HideLocalName();
  }
  static bool is_local() { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Ways, EachWay, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Locally" : "ByPort"; });

TEST_P(EachWay, TensorsOfAllSizesArriveAsTheyWere) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  ASSERT_NE(stream, nullptr);
  for (const int64_t elements : {0, 1, 1023, 1024, 100'000, 3'000'000}) {
    worker_.results["k"].tensor = Counting(elements);
    worker_.results["k"].send_start_micros = 17 + elements;
    RecvTensorResult result;
    ASSERT_EQ(Fetch(stream.get(), "k", &result), OkStatus());
    EXPECT_EQ(result.tensor.shape(), Shape({elements}));
    EXPECT_EQ(result.tensor.values<int64_t>(), worker_.results["k"].tensor.values<int64_t>());
    EXPECT_EQ(result.send_start_micros, 17 + elements);
    EXPECT_FALSE(result.is_dead);
  }
  EXPECT_TRUE(BecomesIdle());
}

bool MayReadMemory() {
  const int value = 1;
  int copy = 0;
  const iovec here = {&copy, sizeof(copy)}, there = {const_cast<int*>(&value), sizeof(value)};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == sizeof(copy);
}

TEST_F(TensorStreamTest, LargeTensorsOfThisMachineDoNotTravel) {
  if (!MayReadMemory()) GTEST_SKIP() << "this kernel lets no process read another's memory";
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  worker_.results["k"].tensor = Counting(1 << 20);
  RecvTensorResult result;
  ASSERT_EQ(Fetch(stream.get(), "k", &result), OkStatus());
  EXPECT_EQ(result.tensor.values<int64_t>(), worker_.results["k"].tensor.values<int64_t>());
  EXPECT_LT(stream->bytes_received(), 1000);
}

TEST_F(TensorStreamTest, AServerWhoseNameIsUnknownHereIsReachedByItsPort) {
  {
    MutexLock lock(&mu_);
    where_->set_local_name("of another machine");
  }
  EXPECT_NE(StreamOf(Client().get()), nullptr);
}

TEST_F(TensorStreamTest, StringsAndDeadValuesArrive) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  worker_.results["words"].tensor = Tensor::Vector<std::string>({"a", std::string(50'000, 'b')});
  worker_.results["dead"].tensor = Tensor::Scalar<float>(0);
  worker_.results["dead"].is_dead = true;
  RecvTensorResult words, dead;
  ASSERT_EQ(Fetch(stream.get(), "words", &words), OkStatus());
  EXPECT_THAT(words.tensor.values<std::string>(), ElementsAre("a", std::string(50'000, 'b')));
  ASSERT_EQ(Fetch(stream.get(), "dead", &dead), OkStatus());
  EXPECT_TRUE(dead.is_dead);
}

TEST_F(TensorStreamTest, ErrorsKeepTheirPayloads) {
  worker_.results["k"] = {};
  worker_.error = MarkDerived(Aborted("the step was aborted"));
  const auto client = Client();
  RecvTensorResult result;
  EXPECT_EQ(Fetch(StreamOf(client.get()).get(), "k", &result), worker_.error);
}

TEST_F(TensorStreamTest, ACancelledCallEndsAtBothSides) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  CancellationManager cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Status status;
  Notification ended;
  stream->RecvTensor(options, args, &result, [&](const Status& answer) {
    status = answer;
    ended.Notify();
  });
  ASSERT_TRUE(worker_.WaitForCall());
  EXPECT_FALSE(server_->is_idle());
  cancellation.StartCancel();
  ASSERT_TRUE(ended.WaitFor(kTimeout));
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(TensorStreamTest, ACallThatIsCancelledBeforeItBeganEnds) {
  const auto client = Client();
  CancellationManager cancellation;
  cancellation.StartCancel();
  CallOptions options;
  options.cancellation = &cancellation;
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "k"};
  Notification ended;
  StreamOf(client.get())->RecvTensor(options, args, &result, [&](const Status&) {
    ended.Notify();
  });
  EXPECT_TRUE(ended.WaitFor(kTimeout));
}

TEST_F(TensorStreamTest, AServerThatHangsUpIsUnavailableAndFoundAgain) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Status status;
  Notification ended;
  stream->RecvTensor({}, args, &result, [&](const Status& answer) {
    status = answer;
    ended.Notify();
  });
  ASSERT_TRUE(worker_.WaitForCall());
  server_->CancelCalls(Unavailable("going down"));
  ASSERT_TRUE(ended.WaitFor(kTimeout));
  EXPECT_EQ(status, Unavailable("going down"));
  server_->HangUp();
  EXPECT_EQ(Fetch(stream.get(), "k", &result).code(), absl::StatusCode::kUnavailable);

  FakeWorker other_worker;
  other_worker.results["k"].tensor = Counting(10);
  const auto other = *TensorStreamServer::Start(context_, &other_worker, "127.0.0.1", 0);
  {
    MutexLock lock(&mu_);
    where_->set_port(other->port());
    where_->set_token(other->token());
    where_->set_local_name(other->local_name());
  }
  const auto again = StreamOf(client.get());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(Fetch(again.get(), "k", &result), OkStatus());
  client->Close();
  other->HangUp();
  loop_.reset();
}

TEST_F(TensorStreamTest, AServerWithoutStreamsIsNotAskedEachTime) {
  {
    MutexLock lock(&mu_);
    where_ = Unimplemented("unknown service");
  }
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  MutexLock lock(&mu_);
  EXPECT_EQ(opened_, 1);
}

TEST_F(TensorStreamTest, AClosedPortMeansNoStream) {
  const auto listener = Impostor([](int fd) { ::close(fd); });
  listener->Close();
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
}

TEST_F(TensorStreamTest, AnotherServersTokenIsRefused) {
  {
    MutexLock lock(&mu_);
    where_->set_token(std::string(kStreamTokenBytes, 'x'));
  }
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
}

TEST_F(TensorStreamTest, AServerThatNeverAnswersTheHelloMeansNoStream) {
  std::vector<int> kept;
  const auto listener = Impostor([&](int fd) { kept.push_back(fd); });
  const auto client = Client();
  EXPECT_EQ(StreamOf(client.get()), nullptr);
  listener->Close();
  for (const int fd : kept) ::close(fd);
}

TEST_F(TensorStreamTest, AServerThatSaysThatItIsThereIsWaitedFor) {
  const auto client = Client();
  const auto stream = StreamOf(client.get());
  RecvTensorResult result;
  const RecvTensorArgs args{1, 2, "never made"};
  Notification ended;
  stream->RecvTensor({}, args, &result, [&](const Status&) { ended.Notify(); });
  EXPECT_FALSE(ended.WaitFor(2 * (patience_.silence + patience_.answer)));
  server_->CancelCalls(Unavailable("the test is over"));
  EXPECT_TRUE(ended.WaitFor(kTimeout));
}

TEST(AddressOfPeer, IsTheNumericPart) {
  EXPECT_EQ(AddressOfPeer("ipv4:10.0.0.1:2222"), "10.0.0.1");
  EXPECT_EQ(AddressOfPeer("ipv6:[::1]:2222"), "::1");
  EXPECT_EQ(AddressOfPeer("ipv6:%5Bfe80::1%25eth0%5D:2222"), "fe80::1%eth0");
  EXPECT_EQ(AddressOfPeer("unix:/tmp/socket"), "");
  EXPECT_EQ(AddressOfPeer(""), "");
}

}  // namespace
}  // namespace tensorfleet::rpc
