// Errors on the wire: gRPC's code and message, payloads in the trailer "grpc-status-details-bin" as
// a GrpcPayloadContainer (facts: tf-protocol.md, A.5).
#pragma once

#include <grpcpp/support/status.h>

#include "runtime/base/status.h"

namespace tensorfleet::rpc {

// Long messages are cut, since trailers are limited in size.
grpc::Status ToGrpcStatus(const Status& status);
Status FromGrpcStatus(const grpc::Status& status);

}  // namespace tensorfleet::rpc
