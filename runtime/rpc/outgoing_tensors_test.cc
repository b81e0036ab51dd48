#include "runtime/rpc/outgoing_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rpc/incoming_tensor.h"
#include "runtime/rpc/wire_writer.h"
#include "runtime/rpc/worker_codec.h"

namespace tensorfleet::rpc {
namespace {

Tensor Counting(int64_t elements) {
  Tensor tensor = *Tensor::Allocate(DType::kInt64, Shape({elements}));
  auto values = tensor.mutable_values<int64_t>();
  for (int64_t i = 0; i < elements; ++i) values[i] = i;
  return tensor;
}

TEST(OutgoingTensors, AreKeptUntilTheLastByteWasRead) {
  OutgoingTensors outgoing;
  const uint64_t ticket = outgoing.Add(Counting(100), 80);
  EXPECT_EQ(outgoing.Read(ticket, 80, 400)->bytes(), 800u);
  EXPECT_EQ(outgoing.size(), 1u);
  EXPECT_TRUE(outgoing.Read(ticket, 480, 320).ok());
  EXPECT_EQ(outgoing.size(), 0u);
  EXPECT_EQ(outgoing.Read(ticket, 0, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST(OutgoingTensors, RefusePiecesThatTheTensorDoesNotHave) {
  OutgoingTensors outgoing;
  const uint64_t ticket = outgoing.Add(Counting(100), 0);
  for (const auto& [offset, size] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 0}, {0, 801}, {800, 1}, {801, 0}, {~uint64_t{0}, 2}, {2, ~uint64_t{0}}}) {
    EXPECT_EQ(outgoing.Read(ticket, offset, size).status().code(),
              absl::StatusCode::kInvalidArgument)
        << offset << "+" << size;
  }
  EXPECT_EQ(outgoing.size(), 1u);
}

TEST(OutgoingTensors, AreForgottenWhenNobodyReadsThem) {
  OutgoingTensors outgoing;
  const uint64_t old = outgoing.Add(Counting(10), 0);
  const auto between = std::chrono::steady_clock::now();
  const uint64_t read = outgoing.Add(Counting(10), 0);
  outgoing.ForgetUnreadSince(between);
  EXPECT_FALSE(outgoing.Read(old, 0, 8).ok());
  EXPECT_TRUE(outgoing.Read(read, 0, 8).ok());
}

Status Decode(WireWriter* writer, IncomingTensor* incoming) {
  grpc::ByteBuffer bytes = writer->Finish();
  RecvTensorResult result;
  return DecodeRecvTensorResponse(&bytes, &result, incoming);
}

tensorflow::TensorProto Head(tensorflow::DataType dtype, int64_t elements) {
  tensorflow::TensorProto head;
  head.set_dtype(dtype);
  head.mutable_tensor_shape()->add_dim()->set_size(elements);
  return head;
}

TEST(IncomingTensor, OnlyALargeTensorComesInPieces) {
  OutgoingTensors outgoing;
  RecvTensorResult result;
  for (const auto& [elements, pieces] :
       std::vector<std::pair<int64_t, size_t>>{{150, 0}, {151, 1}}) {
    result.tensor = Counting(elements);
    grpc::ByteBuffer bytes = *EncodeRecvTensorResponse(result, 800, &outgoing);
    RecvTensorResult got;
    IncomingTensor incoming;
    ASSERT_EQ(DecodeRecvTensorResponse(&bytes, &got, &incoming), OkStatus());
    EXPECT_EQ(outgoing.size(), pieces) << elements;
    EXPECT_EQ(incoming.received, pieces * 800);
    EXPECT_EQ(got.tensor.is_valid(), pieces == 0);
  }
}

TEST(IncomingTensor, RefusesAHeadThatMakesNoSense) {
  for (const auto& head : {Head(tensorflow::DT_STRING, 4), Head(tensorflow::DT_INVALID, 4),
                           Head(tensorflow::DT_FLOAT, -1), Head(tensorflow::DT_FLOAT, 1L << 62)}) {
    WireWriter writer;
    writer.Message(1001, head);
    IncomingTensor incoming;
    EXPECT_FALSE(Decode(&writer, &incoming).ok()) << head.ShortDebugString();
  }
}

TEST(IncomingTensor, RefusesAFirstPieceWithoutAHeadOrBeyondTheTensor) {
  WireWriter headless;
  headless.Bytes(1002, "abcd");
  IncomingTensor incoming;
  EXPECT_EQ(Decode(&headless, &incoming).code(), absl::StatusCode::kInternal);
  WireWriter beyond;
  beyond.Message(1001, Head(tensorflow::DT_UINT8, 3));
  beyond.Bytes(1002, "abcd");
  EXPECT_EQ(Decode(&beyond, &incoming).code(), absl::StatusCode::kInternal);
}

TEST(IncomingTensor, OfTwoHeadsTheLastCountsAndHasNothingYet) {
  WireWriter writer;
  writer.Message(1001, Head(tensorflow::DT_UINT8, 100));
  writer.Bytes(1002, std::string(100, 'x'));
  writer.Message(1001, Head(tensorflow::DT_UINT8, 3));
  IncomingTensor incoming;
  ASSERT_EQ(Decode(&writer, &incoming), OkStatus());
  EXPECT_EQ(incoming.tensor.bytes(), 3u);
  EXPECT_EQ(incoming.received, 0u);
}

}  // namespace
}  // namespace tensorfleet::rpc
