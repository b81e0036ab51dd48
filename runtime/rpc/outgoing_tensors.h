// Large tensors that other tasks of ours fetch piece by piece: while one piece is copied into its
// place there, the next is on its way, and neither side holds the whole message. RecvTensor answers
// with a ticket for the tensor, TransferService.ReadPiece reads it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/rpc/server_call.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::rpc {

class OutgoingTensors {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Keeps the tensor, which must be plain data, until it has been read or Forget; `read` of its
  // bytes are on their way already.
  uint64_t Add(Tensor tensor, size_t read);
  // The tensor, for `size` of its bytes from `offset` on. Errors: NotFound, InvalidArgument.
  StatusOr<Tensor> Read(uint64_t ticket, uint64_t offset, uint64_t size);
  // Lets go of tensors that nobody has read from since `then`: whoever wanted them is gone.
  void ForgetUnreadSince(TimePoint then);
  size_t size() const;

 private:
  struct Entry {
    Tensor tensor;
    uint64_t unread = 0;  // bytes
    TimePoint last_read;
  };
  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

// TransferService.
std::unique_ptr<RawService> MakeTransferService(OutgoingTensors* tensors);

}  // namespace tensorfleet::rpc
