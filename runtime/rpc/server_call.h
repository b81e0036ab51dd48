// Unary calls at the server, as bytes. A RawService lists methods by name; each call that comes in
// goes to the method's handler, which replies once, on whatever thread.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/contain.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/rpc/poll_set.h"

namespace google::protobuf {
class MessageLite;
}

namespace tensorfleet::rpc {

class RawService;

// One call. Deletes itself when it has been replied to and gRPC is done with it.
class ServerCall {
 public:
  grpc::ByteBuffer* request() { return &request_; }
  // Cancelled when the client gives up or vanishes, or the server ends the call (CancelCalls).
  CancellationManager* cancellation() { return &cancellation_; }
  const grpc::ServerContext& context() const { return context_; }
  // Answers Unavailable, and says so, when the server is draining: for methods that begin work.
  bool RefusedWhileDraining();

  // Exactly one of these, once. When the handler throws, the call is answered with that; a reply
  // that somebody gives later all the same counts for nothing.
  // Runs part of the handler on a thread of another's: what it throws answers the call, too.
  template <typename Work>
  void Contain(const Work& work) {
    if (Status thrown = Contained(work); !thrown.ok()) Broken(thrown);
  }

  void Reply(grpc::ByteBuffer response);
  void ReplyMessage(const google::protobuf::MessageLite& response);
  void ReplyError(const Status& status);

 private:
  friend class RawService;
  struct Event final : Tag {
    void (ServerCall::*handle)(bool ok) = nullptr;
    ServerCall* call = nullptr;
    void Run(bool ok) override { (call->*handle)(ok); }
  };
  ServerCall(RawService* service, int method, grpc::ServerCompletionQueue* queue);
  void Received(bool ok);
  // Answers with what the handler threw.
  void Broken(const Status& why);
  void Replied(bool ok);
  void Ended(bool ok);
  // Whether this is the first answer.
  bool BeginReply() { return !is_replied_.exchange(true, std::memory_order_acq_rel); }
  bool RefIfAlive();
  void Unref();

  RawService* const service_;
  const int method_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_;
  CancellationManager cancellation_;
  Event received_, replied_, ended_;
  std::atomic<bool> is_replied_{false};
  std::atomic<int> refs_{2};                // the reply, and gRPC's note that the call has ended
  std::list<ServerCall*>::iterator place_;  // in the service's list, once received
};

class RawService : public grpc::Service {
 public:
  using Handler = std::function<void(ServerCall* call)>;
  struct Method {
    std::string name;  // "/tensorflow.MasterService/RunStep"
    Handler handle;
    int slots = 1;  // calls that may arrive at once before the next is asked for
  };
  explicit RawService(std::vector<Method> methods);

  // Asks for calls. After the server was started.
  void Start(grpc::ServerCompletionQueue* queue);
  // Calls that have begun and whose reply has not gone out yet.
  int64_t calls_under_way() const { return under_way_.load(); }
  // From now on methods that begin work refuse to (ServerCall::RefusedWhileDraining).
  void StartDraining() { draining_.store(true); }
  // Cancels the calls that are under way with `why`, which their clients are then told. Left to
  // gRPC, a server that goes down would tell them that they were cancelled, as if by themselves.
  void CancelCalls(const Status& why);

 private:
  friend class ServerCall;
  std::vector<Method> methods_;
  std::atomic<int64_t> under_way_{0};
  std::atomic<bool> draining_{false};
  Mutex mu_;
  std::list<ServerCall*> calls_ ABSL_GUARDED_BY(mu_);  // received and not deleted
};

}  // namespace tensorfleet::rpc
