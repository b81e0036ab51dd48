#include "runtime/rpc/server_call.h"

#include <utility>

#include "runtime/base/log.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/session/metrics.h"

namespace tensorfleet::rpc {

ServerCall::ServerCall(RawService* service, int method, grpc::ServerCompletionQueue* queue)
    : service_(service), method_(method), queue_(queue), responder_(&context_) {
  received_.handle = &ServerCall::Received;
  replied_.handle = &ServerCall::Replied;
  ended_.handle = &ServerCall::Ended;
  received_.call = replied_.call = ended_.call = this;
  context_.AsyncNotifyWhenDone(&ended_);
}

void ServerCall::Received(bool ok) {
  if (!ok) {  // the server is going down; gRPC gives no other event for this call
    delete this;
    return;
  }
  RawService* const service = service_;
  auto* next = new ServerCall(service, method_, queue_);
  service->RequestAsyncUnary(method_, &next->context_, &next->request_, &next->responder_, queue_,
                             queue_, &next->received_);
  {
    MutexLock lock(&service->mu_);
    place_ = service->calls_.insert(service->calls_.end(), this);
  }
  // Before the handler looks whether the server drains: a call is counted, or refused.
  service->under_way_.fetch_add(1);
  ServerMetrics().rpcs.fetch_add(1, std::memory_order_relaxed);
  Contain([&] { service->methods_[method_].handle(this); });
}

void ServerCall::Broken(const Status& why) {
  LogError("A call was broken off",
           {{"method", service_->methods_[method_].name}, {"error", why.ToString()}});
  // Never let go of: whoever the handler has told of this call may yet answer it.
  refs_.fetch_add(1, std::memory_order_relaxed);
  ReplyError(why);
}

bool ServerCall::RefusedWhileDraining() {
  if (!service_->draining_.load()) return false;
  ReplyError(Unavailable("the server is shutting down and begins nothing new"));
  return true;
}

void ServerCall::Reply(grpc::ByteBuffer response) {
  if (!BeginReply()) return;
  responder_.Finish(response, grpc::Status::OK, &replied_);
}

void ServerCall::ReplyMessage(const google::protobuf::MessageLite& response) {
  Reply(SerializeMessage(response));
}

void ServerCall::ReplyError(const Status& status) {
  if (!BeginReply()) return;
  responder_.FinishWithError(ToGrpcStatus(status), &replied_);
}

void ServerCall::Replied(bool) {
  service_->under_way_.fetch_sub(1, std::memory_order_relaxed);
  Unref();
}

void ServerCall::Ended(bool) {
  if (context_.IsCancelled()) {
    cancellation_.StartCancel(MarkDerived(Cancelled("the client gave up the call")));
  }
  Unref();
}

bool ServerCall::RefIfAlive() {
  int refs = refs_.load(std::memory_order_relaxed);
  while (refs > 0 && !refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_relaxed)) {
  }
  return refs > 0;
}

void ServerCall::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    MutexLock lock(&service_->mu_);
    service_->calls_.erase(place_);
  }
  delete this;
}

RawService::RawService(std::vector<Method> methods) : methods_(std::move(methods)) {
  for (size_t i = 0; i < methods_.size(); ++i) {
    AddMethod(new grpc::internal::RpcServiceMethod(methods_[i].name.c_str(),
                                                   grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(static_cast<int>(i));
  }
}

void RawService::Start(grpc::ServerCompletionQueue* queue) {
  for (size_t i = 0; i < methods_.size(); ++i) {
    for (int slot = 0; slot < methods_[i].slots; ++slot) {
      auto* call = new ServerCall(this, static_cast<int>(i), queue);
      RequestAsyncUnary(static_cast<int>(i), &call->context_, &call->request_, &call->responder_,
                        queue, queue, &call->received_);
    }
  }
}

void RawService::CancelCalls(const Status& why) {
  std::vector<ServerCall*> calls;
  {
    MutexLock lock(&mu_);
    for (ServerCall* call : calls_) {
      if (call->RefIfAlive()) calls.push_back(call);
    }
  }
  for (ServerCall* call : calls) {
    call->cancellation_.StartCancel(why);
    call->Unref();
  }
}

}  // namespace tensorfleet::rpc
