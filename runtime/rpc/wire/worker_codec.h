// The worker's messages that carry tensors, both ways.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "runtime/base/status.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

// At the server. Errors: Internal "Unable to parse request"; InvalidArgument for a bad tensor.
Status DecodeRunGraph(grpc::ByteBuffer* request, RunGraphArgs* args, bool* errors_in_body);
StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result);
grpc::ByteBuffer EncodeRunGraphError(const Status& status);
Status DecodeRecvTensor(grpc::ByteBuffer* request, RecvTensorArgs* args);
StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const RecvTensorResult& result);

// `num_bytes` is what the caller expects.
Status DecodeRecvBuf(grpc::ByteBuffer* request, RecvBufArgs* args, int64_t* num_bytes);
grpc::ByteBuffer EncodeRecvBufResponse(const RecvTensorResult& result);

// At the client.
StatusOr<grpc::ByteBuffer> EncodeRunGraph(const RunGraphArgs& args);
// Also turns an error in the response's body into a status.
Status DecodeRunGraphResponse(grpc::ByteBuffer* response, RunGraphResult* result);
grpc::ByteBuffer EncodeRecvTensor(const RecvTensorArgs& args);
// `content` as for DecodeStreamReply; null: what is not TensorFlow's in the response is skipped.
Status DecodeRecvTensorResponse(grpc::ByteBuffer* response, RecvTensorResult* result,
                                Tensor* content = nullptr);
grpc::ByteBuffer EncodeRecvBuf(const RecvBufArgs& args);
// Errors: Internal for other than `elements` elements.
Status DecodeRecvBufResponse(grpc::ByteBuffer* response, DType dtype, int64_t elements,
                             RecvTensorResult* result);

// On streams (tensor_stream.h). The content of a large tensor follows the message.
struct StreamReply {
  std::string message;
  Tensor content;  // invalid: the message has all
};
StatusOr<StreamReply> EncodeStreamReply(const RecvTensorResult& result);
// `content` is valid, and not written yet, when the tensor's content is still to come.
Status DecodeStreamReply(const std::string& message, RecvTensorResult* result, Tensor* content);
std::string EncodeStreamError(const Status& status);
Status DecodeStreamError(const std::string& message);

}  // namespace tensorfleet::rpc
