#include "runtime/rpc/peers/client_call.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <utility>

#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/wire/status_wire.h"

namespace tensorfleet::rpc {
namespace {

class ClientCall final : public Tag, public std::enable_shared_from_this<ClientCall> {
 public:
  using Done = std::function<void(Status, grpc::ByteBuffer*)>;
  ClientCall(std::shared_ptr<Connection> connection, const CallOptions& options, Done done,
             std::string* peer)
      : connection_(std::move(connection)),
        has_deadline_(options.timeout.count() > 0),
        cancellation_(options.cancellation),
        done_(std::move(done)),
        peer_(peer) {
    context_.set_wait_for_ready(options.wait_for_ready);
    if (has_deadline_) {
      context_.set_deadline(std::chrono::system_clock::now() + options.timeout);
    }
  }

  void Start(grpc::CompletionQueue* queue, const char* method, const grpc::ByteBuffer& request) {
    self_ = shared_from_this();
    grpc::internal::RpcMethod rpc(method, nullptr, grpc::internal::RpcMethod::NORMAL_RPC);
    reader_.reset(grpc::internal::ClientAsyncResponseReaderHelper::Create<grpc::ByteBuffer>(
        connection_->channel.get(), queue, rpc, &context_, request));
    if (cancellation_ != nullptr) {
      token_ = cancellation_->Register([self = self_] { self->context_.TryCancel(); });
      if (token_ < 0) context_.TryCancel();
    }
    if (!has_deadline_) {
      ++connection_->waiting;
      given_up_token_ =
          connection_->given_up.Register([self = self_] { self->context_.TryCancel(); });
      if (given_up_token_ < 0) context_.TryCancel();
    }
    reader_->StartCall();
    reader_->Finish(&response_, &status_, this);
  }

  void Run(bool) override {
    const std::shared_ptr<ClientCall> self = std::move(self_);
    if (token_ >= 0) cancellation_->TryDeregister(token_);
    if (!has_deadline_) {
      if (given_up_token_ >= 0) connection_->given_up.TryDeregister(given_up_token_);
      --connection_->waiting;
      ++connection_->ended;
    }
    if (peer_ != nullptr) *peer_ = context_.peer();
    Done done = std::move(done_);
    done(Result(), &response_);
  }

 private:
  Status Result() const {
    const bool is_cancelled_here = cancellation_ != nullptr && cancellation_->is_cancelled();
    if (status_.error_code() != grpc::StatusCode::CANCELLED || is_cancelled_here) {
      return FromGrpcStatus(status_);
    }
    if (!has_deadline_ && connection_->given_up.is_cancelled()) {
      return connection_->given_up.status();
    }
    // A server that hangs up in the middle of a call makes gRPC say that the call was cancelled, in
    // this word. Nobody cancelled it here: the server is gone.
    if (status_.error_message() == "CANCELLED") return Unavailable("the server hung up");
    return FromGrpcStatus(status_);
  }

  const std::shared_ptr<Connection> connection_;
  const bool has_deadline_;
  CancellationManager* const cancellation_;
  CancellationManager::Token token_ = -1, given_up_token_ = -1;
  Done done_;
  std::string* const peer_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader_;
  std::shared_ptr<ClientCall> self_;  // until the call has ended
};

}  // namespace

void StartCall(const std::shared_ptr<Connection>& connection, grpc::CompletionQueue* queue,
               const char* method, grpc::ByteBuffer request, const CallOptions& options,
               std::function<void(Status, grpc::ByteBuffer*)> done, std::string* peer) {
  std::make_shared<ClientCall>(connection, options, std::move(done), peer)
      ->Start(queue, method, request);
}

}  // namespace tensorfleet::rpc
