// The hand-written encoders and decoders against protobuf's own.

#include <gmock/gmock.h>
#include <grpcpp/impl/grpc_library.h>
#include <gtest/gtest.h>

#include <random>

#include "proto/master.pb.h"
#include "proto/worker.pb.h"
#include "runtime/rpc/wire/master_codec.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/wire_writer.h"
#include "runtime/rpc/wire/worker_codec.h"
#include "runtime/session/worker/worker.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::HasSubstr;

// Byte buffers work only once gRPC is set up, which servers and channels do by themselves.
const grpc::internal::GrpcLibraryInitializer kGrpc;

grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_size = 1 << 20) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += slice_size) {
    slices.emplace_back(bytes.data() + i, std::min(slice_size, bytes.size() - i));
  }
  if (slices.empty()) slices.emplace_back();
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(Errors, WithBytesThatAreNoCharactersMakeMessagesThatParse) {
  const Status error = NotFound("no file /tmp/\xff\xfe");
  tensorflow::RunStepResponse step;
  grpc::ByteBuffer bytes = EncodeRunStepError(error);
  ASSERT_TRUE(ParseMessage(&bytes, &step));
  EXPECT_EQ(step.status_error_message(), "no file /tmp/\\xff\\xfe");
  tensorflow::RunGraphResponse piece;
  bytes = EncodeRunGraphError(error);
  ASSERT_TRUE(ParseMessage(&bytes, &piece));
  EXPECT_EQ(piece.status_error_message(), "no file /tmp/\\xff\\xfe");
  EXPECT_EQ(ToGrpcStatus(error).error_message(), "no file /tmp/\\xff\\xfe");
}

Tensor Ramp(int64_t n) {
  Tensor t = Tensor::Allocate(DType::kFloat, Shape({n})).value();
  for (int64_t i = 0; i < n; ++i) t.mutable_values<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(Wire, ResponsesAreWhatProtobufReads) {
  RunStepResult result;
  result.fetches = {{"a:0", Tensor::Scalar(2.5f)},
                    {"b:0", Ramp(100000)},
                    {"s:0", Tensor::Vector<std::string>({"x", "", "yz"})},
                    {"e:0", Tensor::Allocate(DType::kInt32, Shape({0, 3})).value()}};
  grpc::ByteBuffer bytes = EncodeRunStepResponse(result).value();
  tensorflow::RunStepResponse response;
  ASSERT_TRUE(ParseMessage(&bytes, &response));
  EXPECT_TRUE(response.has_metadata());
  ASSERT_EQ(response.tensor_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(response.tensor(i).name(), result.fetches[i].name);
    const Tensor back = TensorFromProto(response.tensor(i).tensor()).value();
    EXPECT_EQ(back.dtype(), result.fetches[i].tensor.dtype());
    EXPECT_EQ(back.shape(), result.fetches[i].tensor.shape());
    EXPECT_EQ(back.ToString(5), result.fetches[i].tensor.ToString(5));
  }
}

TEST(Wire, BigFeedsLandInAlignedBuffersFromSmallSlices) {
  tensorflow::RunStepRequest request;
  request.set_session_handle("h");
  auto* feed = request.add_feed();
  feed->set_name("x:0");
  ASSERT_TRUE(TensorToProto(Ramp(50000), feed->mutable_tensor()).ok());
  request.add_fetch("y:0");
  request.set_request_id(-3);
  request.mutable_options()->set_timeout_in_ms(7);
  grpc::ByteBuffer bytes = BufferOf(request.SerializeAsString(), 1021);
  RunStepArgs args;
  RunStepOptions wire;
  ASSERT_TRUE(DecodeRunStep(&bytes, &args, &wire).ok());
  EXPECT_EQ(args.request_id, -3);
  EXPECT_EQ(args.options.timeout_in_ms(), 7);
  EXPECT_EQ(args.fetches, (std::vector<std::string>{"y:0"}));
  const Tensor& got = args.feeds[0].tensor;
  EXPECT_TRUE(got.is_aligned());
  ASSERT_EQ(got.num_elements(), 50000);
  EXPECT_EQ(got.values<float>()[49999], 49999.0f);
}

TEST(Wire, TypedFieldsAndOddOrdersAreLeftToProtobuf) {
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_INT64);
  proto.mutable_tensor_shape()->add_dim()->set_size(3000);
  for (int i = 0; i < 3000; ++i) proto.add_int64_val(i * 1000);
  tensorflow::RecvTensorResponse response;
  *response.mutable_tensor() = proto;
  grpc::ByteBuffer bytes = BufferOf(response.SerializeAsString());
  RecvTensorResult result;
  ASSERT_TRUE(DecodeRecvTensorResponse(&bytes, &result).ok());
  EXPECT_EQ(result.tensor.values<int64_t>()[2999], 2999000);
}

TEST(Wire, ABadFeedIsNamedByItsPosition) {
  tensorflow::RunStepRequest request;
  request.set_store_errors_in_response_body(true);
  request.add_feed()->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  auto* bad = request.add_feed()->mutable_tensor();
  bad->set_dtype(tensorflow::DT_FLOAT);
  bad->mutable_tensor_shape()->add_dim()->set_size(2);
  bad->set_tensor_content("abc");
  grpc::ByteBuffer bytes = BufferOf(request.SerializeAsString());
  RunStepArgs args;
  RunStepOptions wire;
  const Status status = DecodeRunStep(&bytes, &args, &wire);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Invalid TensorProto for feed value 1"));
  EXPECT_TRUE(wire.store_errors_in_response_body);
}

TEST(Wire, RunGraphGoesThereAndBack) {
  RunGraphArgs args;
  args.session_handle = "s";
  args.graph_handle = "g";
  args.step_id = 99;
  args.request_id = -1;
  args.sends = {{"key", Ramp(2000)}};
  args.recv_keys = {"r"};
  args.is_partial = true;
  args.record_timeline = true;
  grpc::ByteBuffer bytes = EncodeRunGraph(args).value();
  RunGraphArgs back;
  bool errors_in_body = true;
  ASSERT_TRUE(DecodeRunGraph(&bytes, &back, &errors_in_body).ok());
  EXPECT_EQ(back.session_handle, "s");
  EXPECT_EQ(back.graph_handle, "g");
  EXPECT_EQ(back.step_id, 99);
  EXPECT_EQ(back.request_id, -1);
  EXPECT_TRUE(back.create_worker_session_called);
  EXPECT_TRUE(back.is_partial && !back.is_last_partial_run && back.record_timeline);
  EXPECT_EQ(back.recv_keys, args.recv_keys);
  EXPECT_EQ(back.sends[0].tensor.num_elements(), 2000);
}

TEST(Wire, ARunGraphsAnswerGoesThereAndBack) {
  RunGraphResult result;
  result.recvs = {{"key", Ramp(3)}};
  for (const bool over : {true, false}) {
    result.step_is_over = over;
    grpc::ByteBuffer bytes = EncodeRunGraphResponse(result).value();
    RunGraphResult back;
    ASSERT_TRUE(DecodeRunGraphResponse(&bytes, &back).ok());
    EXPECT_EQ(back.step_is_over, over);
    EXPECT_EQ(back.recvs[0].name, "key");
    EXPECT_EQ(back.recvs[0].tensor.num_elements(), 3);
  }
}

TEST(Wire, AnErrorInAResponsesBodyIsAnError) {
  grpc::ByteBuffer bytes = EncodeRunGraphError(NotFound("gone"));
  RunGraphResult result;
  EXPECT_EQ(DecodeRunGraphResponse(&bytes, &result), NotFound("gone"));
}

TEST(Wire, BytesThatWereTamperedWithNeverCrash) {
  tensorflow::RunStepRequest request;
  request.set_session_handle("handle");
  for (const int64_t n : {3, 5000}) {
    auto* feed = request.add_feed();
    feed->set_name("x:0");
    ASSERT_TRUE(TensorToProto(Ramp(n), feed->mutable_tensor()).ok());
  }
  const std::string good = request.SerializeAsString();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good.substr(0, 1 + random() % good.size());
    // The first bytes hold the lengths.
    for (int i = 0; i < 3; ++i) {
      bad[random() % std::min<size_t>(bad.size(), 64)] = static_cast<char>(random());
    }
    grpc::ByteBuffer bytes = BufferOf(bad, 1 + random() % 5000);
    RunStepArgs args;
    RunStepOptions wire;
    DecodeRunStep(&bytes, &args, &wire).IgnoreError();
  }
}

TEST(StatusWire, KeepsPayloadsAndCutsLongMessages) {
  Status status = Aborted(std::string(5000, 'x'));
  status.SetPayload(kWorkerPossiblyRestartedPayload, absl::Cord());
  const grpc::Status wire = ToGrpcStatus(status);
  EXPECT_EQ(wire.error_message().size(), 3072 + std::string(" ... [truncated]").size());
  const Status back = FromGrpcStatus(wire);
  EXPECT_EQ(back.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(back.GetPayload(kWorkerPossiblyRestartedPayload).has_value());
  EXPECT_TRUE(IsDerived(FromGrpcStatus(ToGrpcStatus(MarkDerived(Aborted("echo"))))));
  EXPECT_TRUE(ToGrpcStatus(OkStatus()).ok());
}

tensorflow::TensorProto Head(tensorflow::DataType dtype, int64_t elements) {
  tensorflow::TensorProto head;
  head.set_dtype(dtype);
  head.mutable_tensor_shape()->add_dim()->set_size(elements);
  return head;
}

TEST(StreamReply, OnlyALargeTensorsContentFollowsItsMessage) {
  for (const auto& [elements, follows] :
       std::vector<std::pair<int64_t, bool>>{{2047, false}, {2048, true}}) {
    RecvTensorResult result, got;
    result.tensor = *Tensor::Zeros(DType::kFloat, Shape({elements}));
    const StreamReply reply = *EncodeStreamReply(result);
    Tensor content;
    ASSERT_EQ(DecodeStreamReply(reply.message, &got, &content), OkStatus());
    EXPECT_EQ(reply.content.is_valid(), follows);
    EXPECT_EQ(content.is_valid(), follows);
    EXPECT_EQ(got.tensor.is_valid(), !follows);
  }
}

TEST(StreamReply, AHeadThatMakesNoSenseIsRefused) {
  for (const auto& head : {Head(tensorflow::DT_STRING, 4), Head(tensorflow::DT_INVALID, 4),
                           Head(tensorflow::DT_FLOAT_REF, 4), Head(tensorflow::DT_FLOAT, -1),
                           Head(tensorflow::DT_FLOAT, 1L << 62)}) {
    WireWriter writer;
    writer.Message(1001, head);
    RecvTensorResult result;
    Tensor content;
    EXPECT_FALSE(DecodeStreamReply(Flatten(writer.Finish()), &result, &content).ok())
        << head.ShortDebugString();
  }
}

TEST(StreamError, KeepsCodeMessageAndPayloads) {
  const Status status = MarkDerived(Aborted("over"));
  EXPECT_EQ(DecodeStreamError(EncodeStreamError(status)), status);
}

TEST(StreamError, IsAnErrorWhateverThePeerSays) {
  for (const char* bytes : {"", "\x08\x00", "\x08\x7f", "\xff\xff"}) {
    EXPECT_EQ(DecodeStreamError(bytes).code(), absl::StatusCode::kInternal);
  }
}

TEST(ParseMessage, TellsHowDeepMessagesMayNest) {
  tensorflow::AttrValue deep;
  for (int i = 0; i < 50; ++i) {  // three messages each
    tensorflow::AttrValue outer;
    (*outer.mutable_func()->mutable_attr())["f"] = deep;
    deep = outer;
  }
  grpc::ByteBuffer bytes = SerializeMessage(deep);
  tensorflow::AttrValue parsed;
  EXPECT_FALSE(ParseMessage(&bytes, &parsed));
  EXPECT_THAT(std::string(Unparsable().message()), ::testing::HasSubstr("more than 100 deep"));
}

}  // namespace
}  // namespace tensorfleet::rpc
