// The worker's messages that carry tensors, both ways.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "runtime/base/status.h"
#include "runtime/rpc/incoming_tensor.h"
#include "runtime/rpc/outgoing_tensors.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet::rpc {

// At the server. Errors: Internal "Unable to parse request"; InvalidArgument for a bad tensor.
Status DecodeRunGraph(grpc::ByteBuffer* request, RunGraphArgs* args, bool* errors_in_body);
StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result);
grpc::ByteBuffer EncodeRunGraphError(const Status& status);
Status DecodeRecvTensor(grpc::ByteBuffer* request, RecvTensorArgs* args);
// `max_piece_bytes` as asked for; the rest of a larger tensor goes to `outgoing`.
StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const RecvTensorResult& result,
                                                    int64_t max_piece_bytes,
                                                    OutgoingTensors* outgoing);

// At the client.
StatusOr<grpc::ByteBuffer> EncodeRunGraph(const RunGraphArgs& args);
// Also turns an error in the response's body into a status.
Status DecodeRunGraphResponse(grpc::ByteBuffer* response, RunGraphResult* result);
grpc::ByteBuffer EncodeRecvTensor(const RecvTensorArgs& args);
// Where the tensor comes in pieces, `incoming` is valid and `result` has none yet.
Status DecodeRecvTensorResponse(grpc::ByteBuffer* response, RecvTensorResult* result,
                                IncomingTensor* incoming);

}  // namespace tensorfleet::rpc
