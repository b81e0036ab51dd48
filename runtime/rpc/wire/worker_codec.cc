#include "runtime/rpc/wire/worker_codec.h"

#include "runtime/base/utf8.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/wire_writer.h"

namespace tensorfleet::rpc {
namespace {

// Ours, outside TensorFlow's numbers. Others skip them.
constexpr int kStepIsOverField = 1001;  // RunGraphResponse; RunGraphResult::step_is_over
// RecvTensorResponse on a stream: a TensorProto without the content, which follows.
constexpr int kHeadField = 1001;
// Smaller tensors are a part of their message.
constexpr size_t kMinContentBytes = 8192;

}  // namespace

Status DecodeRunGraph(grpc::ByteBuffer* request, RunGraphArgs* args, bool* errors_in_body) {
  WireReader reader(request);
  Status error;
  tensorflow::ExecutorOpts opts;
  args->create_worker_session_called = false;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.String(&args->graph_handle);
        break;
      case 2:
        reader.Varint(&args->step_id);
        break;
      case 3:
        reader.ReadNamedTensor(&args->sends.emplace_back(), &error);
        break;
      case 4:
        reader.String(&args->recv_keys.emplace_back());
        break;
      case 5:
        reader.Message(&opts);
        break;
      case 6:
        reader.Bool(&args->is_partial);
        break;
      case 7:
        reader.Bool(&args->is_last_partial_run);
        break;
      case 8:
        reader.String(&args->session_handle);
        break;
      case 9:
        reader.Bool(errors_in_body);
        break;
      case 11:
        reader.Varint(&args->request_id);
        break;
      case 10:
        reader.Bool(&args->create_worker_session_called);
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Unparsable();
  args->record_timeline = opts.record_timeline();
  args->record_partition_graphs = opts.record_partition_graphs();
  return Prefixed("Invalid TensorProto in send: ", error);
}

StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result) {
  WireWriter writer;
  for (const NamedTensor& recv : result.recvs) {
    TFLEET_ASSIGN_OR_RETURN(EncodedTensor tensor, EncodeTensor(recv.tensor));
    writer.NamedTensorMessage(1, recv.name, std::move(tensor));
  }
  if (result.step_stats.dev_stats_size() > 0) writer.Message(2, result.step_stats);
  writer.BytesOrEmpty(3, "");  // cost_graph: servers always write it
  for (const tensorflow::GraphDef& graph : result.partition_graphs) writer.Message(4, graph);
  writer.Varint(kStepIsOverField, result.step_is_over ? 1 : 0);
  if (writer.size() >= size_t{1} << 31) {
    return OutOfRange("the returned tensors do not fit into a message of 2 GiB");
  }
  return writer.Finish();
}

grpc::ByteBuffer EncodeRunGraphError(const Status& status) {
  WireWriter writer;
  writer.Varint(5, static_cast<uint64_t>(status.raw_code()));
  writer.Bytes(6, Utf8Text(status.message()));
  return writer.Finish();
}

Status DecodeRecvTensor(grpc::ByteBuffer* request, RecvTensorArgs* args) {
  WireReader reader(request);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Varint(&args->step_id);
        break;
      case 2:
        reader.String(&args->key);
        break;
      case 7:
        reader.Varint(&args->request_id);
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok() ? OkStatus() : Unparsable();
}

namespace {

// All but the tensor. Gives what is to be sent for it.
StatusOr<Tensor> BeginRecvTensorResponse(const RecvTensorResult& result, WireWriter* writer) {
  writer->Varint(2, result.is_dead ? 1 : 0);
  writer->Varint(3, static_cast<uint64_t>(result.send_start_micros));
  // A dead value has no meaning, but readers expect a tensor.
  return result.tensor.is_valid() ? result.tensor : Tensor::Allocate(DType::kFloat, {0});
}

Status AddTensor(const Tensor& value, WireWriter* writer) {
  TFLEET_ASSIGN_OR_RETURN(EncodedTensor tensor, EncodeTensor(value));
  writer->TensorMessage(1, std::move(tensor));
  return OkStatus();
}

}  // namespace

StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const RecvTensorResult& result) {
  WireWriter writer;
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, BeginRecvTensorResponse(result, &writer));
  TFLEET_RETURN_IF_ERROR(AddTensor(value, &writer));
  return writer.Finish();
}

StatusOr<StreamReply> EncodeStreamReply(const RecvTensorResult& result) {
  StreamReply reply;
  WireWriter writer;
  TFLEET_ASSIGN_OR_RETURN(Tensor value, BeginRecvTensorResponse(result, &writer));
  if (IsPlainData(value.dtype()) && value.bytes() >= kMinContentBytes) {
    tensorflow::TensorProto head;
    head.set_dtype(static_cast<tensorflow::DataType>(value.dtype()));
    value.shape().ToProto(head.mutable_tensor_shape());
    writer.Message(kHeadField, head);
    reply.content = std::move(value);
  } else {
    TFLEET_RETURN_IF_ERROR(AddTensor(value, &writer));
  }
  reply.message = Flatten(writer.Finish());
  return reply;
}

std::string EncodeStreamError(const Status& status) {
  const grpc::Status error = ToGrpcStatus(status);
  WireWriter writer;
  writer.Varint(1, static_cast<uint64_t>(error.error_code()));
  writer.Bytes(2, error.error_message());
  writer.Bytes(3, error.error_details());
  return Flatten(writer.Finish());
}

Status DecodeStreamError(const std::string& message) {
  grpc::ByteBuffer bytes = ViewOf(message);
  WireReader reader(&bytes);
  int64_t code = 0;
  std::string text, details;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Varint(&code);
        break;
      case 2:
        reader.String(&text);
        break;
      case 3:
        reader.String(&details);
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok() || code <= 0 || code > grpc::StatusCode::UNAUTHENTICATED) {
    return Internal("the peer's error cannot be parsed");
  }
  return FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(code), text, details));
}

StatusOr<grpc::ByteBuffer> EncodeRunGraph(const RunGraphArgs& args) {
  WireWriter writer;
  writer.Bytes(8, args.session_handle);
  writer.Varint(10, args.create_worker_session_called ? 1 : 0);
  writer.Bytes(1, args.graph_handle);
  writer.Varint(2, static_cast<uint64_t>(args.step_id));
  for (const NamedTensor& send : args.sends) {
    TFLEET_ASSIGN_OR_RETURN(EncodedTensor tensor, EncodeTensor(send.tensor));
    writer.NamedTensorMessage(3, send.name, std::move(tensor));
  }
  for (const std::string& key : args.recv_keys) writer.Bytes(4, key);
  tensorflow::ExecutorOpts opts;
  opts.set_record_timeline(args.record_timeline);
  opts.set_record_partition_graphs(args.record_partition_graphs);
  writer.Message(5, opts);
  writer.Varint(6, args.is_partial ? 1 : 0);
  writer.Varint(7, args.is_last_partial_run ? 1 : 0);
  // Errors come as the call's status, which keeps their payloads.
  writer.Varint(11, static_cast<uint64_t>(args.request_id));
  return writer.Finish();
}

Status DecodeRunGraphResponse(grpc::ByteBuffer* response, RunGraphResult* result) {
  WireReader reader(response);
  Status error;
  int64_t code = 0;
  std::string message;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.ReadNamedTensor(&result->recvs.emplace_back(), &error);
        break;
      case 2:
        reader.Message(&result->step_stats);
        break;
      case 4:
        reader.Message(&result->partition_graphs.emplace_back());
        break;
      case 5:
        reader.Varint(&code);
        break;
      case 6:
        reader.String(&message);
        break;
      case kStepIsOverField:
        reader.Bool(&result->step_is_over);
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Internal("the worker's RunGraphResponse cannot be parsed");
  result->recv_is_dead.resize(result->recvs.size());
  if (code != 0) return Status(static_cast<absl::StatusCode>(code), message);
  return error;
}

namespace {

Status AllocateFor(const tensorflow::TensorProto& head, Tensor* out) {
  const auto dtype = static_cast<DType>(static_cast<int>(head.dtype()));
  if (!IsValidDType(head.dtype()) || IsRef(dtype) || !IsPlainData(dtype)) {
    return Internal("the peer announced a tensor of a kind that has no content");
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::FromProto(head.tensor_shape()));
  TFLEET_ASSIGN_OR_RETURN(*out, Tensor::Allocate(dtype, shape));
  return OkStatus();
}

}  // namespace

grpc::ByteBuffer EncodeRecvTensor(const RecvTensorArgs& args) {
  WireWriter writer;
  writer.Varint(1, static_cast<uint64_t>(args.step_id));
  writer.Bytes(2, args.key);
  writer.Varint(7, static_cast<uint64_t>(args.request_id));
  return writer.Finish();
}

Status DecodeRecvTensorResponse(grpc::ByteBuffer* response, RecvTensorResult* result,
                                Tensor* content) {
  WireReader reader(response);
  Status error;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.ReadTensor(&result->tensor, &error);
        break;
      case 2:
        reader.Bool(&result->is_dead);
        break;
      case 3:
        reader.Varint(&result->send_start_micros);
        break;
      case kHeadField: {
        if (content == nullptr) {
          reader.Skip();
          break;
        }
        tensorflow::TensorProto head;
        reader.Message(&head);
        TFLEET_RETURN_IF_ERROR(AllocateFor(head, content));
        break;
      }
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Internal("the peer's RecvTensorResponse cannot be parsed");
  if (result->is_dead) return OkStatus();
  TFLEET_RETURN_IF_ERROR(error);
  if (!result->tensor.is_valid() && (content == nullptr || !content->is_valid())) {
    return Internal("the peer's RecvTensorResponse has neither a tensor nor a dead value");
  }
  return OkStatus();
}

Status DecodeStreamReply(const std::string& message, RecvTensorResult* result, Tensor* content) {
  grpc::ByteBuffer bytes = ViewOf(message);
  return DecodeRecvTensorResponse(&bytes, result, content);
}

}  // namespace tensorfleet::rpc
