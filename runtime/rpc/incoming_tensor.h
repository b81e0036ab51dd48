// The other end of outgoing_tensors.h: fetches the rest of a tensor whose beginning has come.
#pragma once

#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/rpc/peer_channel.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet::rpc {

// Tensors of more than one and a half times this come in pieces of so many bytes.
inline constexpr int64_t kPieceBytes = int64_t{4} << 20;

struct IncomingTensor {
  Tensor tensor;        // plain data, wholly allocated
  size_t received = 0;  // bytes, from its beginning on
  uint64_t ticket = 0;
};

// Calls `done` once, when the tensor is whole or a piece could not be had.
void FetchRest(std::shared_ptr<Connection> connection, grpc::CompletionQueue* queue,
               const CallOptions& options, IncomingTensor incoming,
               std::function<void(StatusOr<Tensor>)> done);

}  // namespace tensorfleet::rpc
