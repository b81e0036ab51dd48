// Pieces of collectives in TensorFlow's form: bytes without type or shape.
#include <cstring>

#include "proto/worker.pb.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/worker_codec.h"
#include "runtime/session/worker/step_rendezvous.h"

namespace tensorfleet::rpc {

grpc::ByteBuffer EncodeRecvBuf(const RecvBufArgs& args) {
  tensorflow::RecvBufRequest request;
  request.set_step_id(args.step_id);
  request.set_buf_rendezvous_key(args.buf_key);
  request.set_num_bytes(args.elements * static_cast<int64_t>(ElementSize(args.dtype)));
  request.set_src_device(args.key.src_device);
  request.set_dst_device(args.key.dst_device);
  request.set_src_incarnation(args.key.src_incarnation);
  request.set_request_id(args.request_id);
  return SerializeMessage(request);
}

Status DecodeRecvBuf(grpc::ByteBuffer* bytes, RecvBufArgs* args, int64_t* num_bytes) {
  tensorflow::RecvBufRequest request;
  if (!ParseMessage(bytes, &request)) return Unparsable();
  args->step_id = request.step_id();
  args->request_id = request.request_id();
  args->buf_key = request.buf_rendezvous_key();
  TFLEET_ASSIGN_OR_RETURN(args->key, RendezvousKey::Parse(MakeRendezvousKey(
                                         request.src_device(), request.src_incarnation(),
                                         request.dst_device(), PieceName(args->buf_key))));
  *num_bytes = request.num_bytes();
  return OkStatus();
}

grpc::ByteBuffer EncodeRecvBufResponse(const RecvTensorResult& result) {
  tensorflow::RecvBufRespExtra extra;
  extra.add_tensor_content(result.tensor.raw(), result.tensor.bytes());
  tensorflow::RecvBufResponse response;
  response.set_num_bytes(static_cast<int64_t>(result.tensor.bytes()));
  response.set_send_start_micros(result.send_start_micros);
  response.mutable_transport_options()->PackFrom(extra);
  return SerializeMessage(response);
}

Status DecodeRecvBufResponse(grpc::ByteBuffer* bytes, DType dtype, int64_t elements,
                             RecvTensorResult* result) {
  tensorflow::RecvBufResponse response;
  tensorflow::RecvBufRespExtra extra;
  if (!ParseMessage(bytes, &response) || !response.transport_options().UnpackTo(&extra)) {
    return Internal("the peer's RecvBufResponse cannot be parsed");
  }
  size_t size = 0;
  for (const std::string& piece : extra.tensor_content()) size += piece.size();
  TFLEET_ASSIGN_OR_RETURN(result->tensor, Tensor::Allocate(dtype, {elements}));
  if (size != result->tensor.bytes()) {
    return Internal("the peer's RecvBufResponse has ", size, " bytes where ",
                    result->tensor.bytes(), " are expected");
  }
  char* out = static_cast<char*>(result->tensor.mutable_raw());
  for (const std::string& piece : extra.tensor_content()) {
    std::memcpy(out, piece.data(), piece.size());
    out += piece.size();
  }
  result->send_start_micros = response.send_start_micros();
  return OkStatus();
}

}  // namespace tensorfleet::rpc
