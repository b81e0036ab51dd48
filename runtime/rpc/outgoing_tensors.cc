#include "runtime/rpc/outgoing_tensors.h"

#include <utility>
#include <vector>

#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/random_id.h"
#include "runtime/rpc/wire_reader.h"
#include "runtime/rpc/wire_writer.h"

namespace tensorfleet::rpc {

uint64_t OutgoingTensors::Add(Tensor tensor, size_t read) {
  const uint64_t ticket = RandomNonZero64();
  const uint64_t unread = tensor.bytes() - read;
  MutexLock lock(&mu_);
  entries_[ticket] = {std::move(tensor), unread, std::chrono::steady_clock::now()};
  return ticket;
}

StatusOr<Tensor> OutgoingTensors::Read(uint64_t ticket, uint64_t offset, uint64_t size) {
  MutexLock lock(&mu_);
  const auto it = entries_.find(ticket);
  if (it == entries_.end()) {
    return NotFound("there is no tensor for the ticket ", ticket,
                    ": it was read to its end, or not read for too long");
  }
  Entry& entry = it->second;
  const uint64_t bytes = entry.tensor.bytes();
  if (size == 0 || offset > bytes || size > bytes - offset) {
    return InvalidArgument("a tensor of ", bytes, " bytes has no piece of ", size, " bytes at ",
                           offset);
  }
  if (size >= entry.unread) {
    Tensor tensor = std::move(entry.tensor);
    entries_.erase(it);
    return tensor;
  }
  entry.unread -= size;
  entry.last_read = std::chrono::steady_clock::now();
  return entry.tensor;
}

void OutgoingTensors::ForgetUnreadSince(TimePoint then) {
  std::vector<Tensor> forgotten;  // freed outside the lock
  MutexLock lock(&mu_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.last_read < then) {
      forgotten.push_back(std::move(it->second.tensor));
      entries_.erase(it++);
    } else {
      ++it;
    }
  }
}

size_t OutgoingTensors::size() const {
  MutexLock lock(&mu_);
  return entries_.size();
}

std::unique_ptr<RawService> MakeTransferService(OutgoingTensors* tensors) {
  const auto read_piece = [tensors](ServerCall* call) {
    ReadPieceRequest request;
    if (!ParseMessage(call->request(), &request)) {
      call->ReplyError(Internal("Unable to parse request"));
      return;
    }
    StatusOr<Tensor> tensor = tensors->Read(request.ticket(), request.offset(), request.size());
    if (!tensor.ok()) {
      call->ReplyError(tensor.status());
      return;
    }
    WireWriter writer;
    writer.TensorBytes(1, *tensor, request.offset(), request.size());
    call->Reply(writer.Finish());
  };
  return std::make_unique<RawService>(
      std::vector<RawService::Method>{{"/tensorfleet.TransferService/ReadPiece", read_piece, 4}});
}

}  // namespace tensorfleet::rpc
