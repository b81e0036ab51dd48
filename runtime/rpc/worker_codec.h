// The worker's messages that carry tensors, both ways.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "runtime/base/status.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet::rpc {

// At the server. Errors: Internal "Unable to parse request"; InvalidArgument for a bad tensor.
Status DecodeRunGraph(grpc::ByteBuffer* request, RunGraphArgs* args, bool* errors_in_body);
StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result);
grpc::ByteBuffer EncodeRunGraphError(const Status& status);
Status DecodeRecvTensor(grpc::ByteBuffer* request, RecvTensorArgs* args);
StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const RecvTensorResult& result);

// At the client.
StatusOr<grpc::ByteBuffer> EncodeRunGraph(const RunGraphArgs& args);
// Also turns an error in the response's body into a status.
Status DecodeRunGraphResponse(grpc::ByteBuffer* response, RunGraphResult* result);
grpc::ByteBuffer EncodeRecvTensor(const RecvTensorArgs& args);
Status DecodeRecvTensorResponse(grpc::ByteBuffer* response, RecvTensorResult* result);

}  // namespace tensorfleet::rpc
