// A unary call to another server, as bytes.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/rpc/peers/peer_channel.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

// Starts the call; `done` gets the response when the status is OK. `method` must live for ever. The
// options' cancellation cancels the call, which then ends with Cancelled. A call without a deadline
// ends with Unavailable when its connection is given up. `peer`, if not null, gets gRPC's name for
// the address that answered, before `done` is called.
void StartCall(const std::shared_ptr<Connection>& connection, grpc::CompletionQueue* queue,
               const char* method, grpc::ByteBuffer request, const CallOptions& options,
               std::function<void(Status, grpc::ByteBuffer*)> done, std::string* peer = nullptr);

}  // namespace tensorfleet::rpc
