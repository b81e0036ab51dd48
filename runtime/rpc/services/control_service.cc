#include "runtime/rpc/services/control_service.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <utility>

#include "proto/tensorfleet/control.grpc.pb.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/rpc/wire/wire_reader.h"

namespace tensorfleet::rpc {

std::unique_ptr<RawService> MakeControlService(
    std::string task,
    std::function<void(const std::string& from_task, const std::string& reason)> on_drain) {
  const auto drain = [task = std::move(task), on_drain = std::move(on_drain)](ServerCall* call) {
    DrainRequest request;
    if (!ParseMessage(call->request(), &request)) {
      call->ReplyError(Unparsable());
      return;
    }
    if (on_drain == nullptr) {
      call->ReplyError(FailedPrecondition("the server of ", task, " takes no drain requests"));
      return;
    }
    DrainResponse response;
    response.set_task(task);
    call->ReplyMessage(response);
    on_drain(request.from_task(), request.reason());
  };
  return std::make_unique<RawService>(
      std::vector<RawService::Method>{{"/tensorfleet.ControlService/Drain", drain, 1}});
}

std::vector<Status> RequestDrain(const std::vector<std::string>& addresses,
                                 const std::string& from_task, const std::string& reason,
                                 std::chrono::milliseconds timeout) {
  struct Call {
    std::unique_ptr<ControlService::Stub> stub;
    grpc::ClientContext context;
    DrainResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<DrainResponse>> reader;
  };
  DrainRequest request;
  request.set_from_task(from_task);
  request.set_reason(reason);
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> calls;
  for (const std::string& address : addresses) {
    calls.push_back(std::make_unique<Call>());
    Call& call = *calls.back();
    call.stub = ControlService::NewStub(MakeChannel(address));
    call.context.set_deadline(std::chrono::system_clock::now() + timeout);
    call.reader = call.stub->AsyncDrain(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  void* tag = nullptr;
  bool ok = false;
  for (size_t i = 0; i < calls.size(); ++i) queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  std::vector<Status> statuses;
  for (const auto& call : calls) statuses.push_back(FromGrpcStatus(call->status));
  return statuses;
}

}  // namespace tensorfleet::rpc
