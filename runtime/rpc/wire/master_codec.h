// The master's messages that carry tensors, to and from structs. Decoders give Internal "Unable to
// parse request" for bytes that are no such message.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "runtime/base/status.h"
#include "runtime/session/master/master_types.h"

namespace tensorfleet::rpc {

struct RunStepOptions {
  bool store_errors_in_response_body = false;
};

// Errors also: InvalidArgument `Invalid TensorProto for feed value 0`. `wire` is filled even then.
Status DecodeRunStep(grpc::ByteBuffer* request, RunStepArgs* args, RunStepOptions* wire);
Status DecodeRunCallable(grpc::ByteBuffer* request, RunCallableArgs* args);
StatusOr<grpc::ByteBuffer> EncodeRunStepResponse(const RunStepResult& result);
// For an error that is told in the response.
grpc::ByteBuffer EncodeRunStepError(const Status& status);
StatusOr<grpc::ByteBuffer> EncodeRunCallableResponse(const RunStepResult& result);

}  // namespace tensorfleet::rpc
