#include "runtime/rpc/incoming_tensor.h"

#include <algorithm>
#include <utility>

#include "proto/tensorfleet/transfer.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/rpc/client_call.h"
#include "runtime/rpc/wire_reader.h"

namespace tensorfleet::rpc {
namespace {

// Pieces asked for at once: one that is being copied, one that comes in, one that is asked for.
constexpr int kWindow = 3;

class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(std::shared_ptr<Connection> connection, grpc::CompletionQueue* queue,
        const CallOptions& options, IncomingTensor incoming,
        std::function<void(StatusOr<Tensor>)> done)
      : connection_(std::move(connection)),
        queue_(queue),
        options_(options),
        ticket_(incoming.ticket),
        tensor_(std::move(incoming.tensor)),
        bytes_(tensor_.bytes()),
        into_(static_cast<char*>(tensor_.mutable_raw())),
        done_(std::move(done)),
        next_(incoming.received) {}

  void Start() {
    for (int i = 0; i < kWindow; ++i) AskForNext();
    Release();
  }

 private:
  // A piece, or nothing when all were asked for or one has failed.
  void AskForNext() {
    size_t offset = 0, size = 0;
    {
      MutexLock lock(&mu_);
      if (!status_.ok() || next_ >= bytes_) return;
      offset = next_;
      size = std::min<size_t>(kPieceBytes, bytes_ - offset);
      next_ += size;
      ++pending_;
    }
    ReadPieceRequest request;
    request.set_ticket(ticket_);
    request.set_offset(offset);
    request.set_size(size);
    StartCall(connection_, queue_, "/tensorfleet.TransferService/ReadPiece",
              SerializeMessage(request), options_,
              [self = shared_from_this(), offset, size](Status status, grpc::ByteBuffer* bytes) {
                // First, so that the peer has something to do meanwhile.
                if (status.ok()) self->AskForNext();
                if (status.ok()) status = self->Place(offset, size, bytes);
                self->Release(std::move(status));
              });
  }

  Status Place(size_t offset, size_t size, grpc::ByteBuffer* bytes) {
    WireReader reader(bytes);
    size_t got = 0;
    while (reader.Next()) {
      if (reader.field() == 1) {
        reader.BytesInto(into_ + offset, size, &got);
      } else {
        reader.Skip();
      }
    }
    return reader.ok() && got == size
               ? OkStatus()
               : Internal("the peer's piece of ", size, " bytes of a tensor cannot be parsed");
  }

  void Release(Status status = OkStatus()) {
    {
      MutexLock lock(&mu_);
      if (status_.ok()) status_ = std::move(status);
      if (--pending_ > 0) return;
    }
    // The last one: nobody else is left.
    if (status_.ok()) {
      done_(std::move(tensor_));
    } else {
      done_(status_);
    }
  }

  const std::shared_ptr<Connection> connection_;
  grpc::CompletionQueue* const queue_;
  const CallOptions options_;
  const uint64_t ticket_;
  Tensor tensor_;
  const size_t bytes_;
  char* const into_;
  const std::function<void(StatusOr<Tensor>)> done_;
  Mutex mu_;
  size_t next_;
  int pending_ = 1;  // calls under way, and Start
  Status status_;
};

}  // namespace

void FetchRest(std::shared_ptr<Connection> connection, grpc::CompletionQueue* queue,
               const CallOptions& options, IncomingTensor incoming,
               std::function<void(StatusOr<Tensor>)> done) {
  std::make_shared<Fetch>(std::move(connection), queue, options, std::move(incoming),
                          std::move(done))
      ->Start();
}

}  // namespace tensorfleet::rpc
