// A worker in another process, reached through gRPC. Thread-safe.
#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>

#include "runtime/rpc/peers/peer_channel.h"
#include "runtime/rpc/tensor_stream/tensor_stream_client.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

class RemoteWorker final : public WorkerInterface {
 public:
  // The queue must be polled, and must outlive all calls. `streams`: the same server's, for
  // tensors; null: tensors come through gRPC.
  RemoteWorker(std::shared_ptr<PeerChannel> peer, grpc::CompletionQueue* queue,
               std::shared_ptr<TensorStreamClient> streams)
      : peer_(std::move(peer)), queue_(queue), streams_(std::move(streams)) {}

  // When no answer comes in time the connection is given up: calls on it that have no deadline end
  // as Unavailable, and the next call is made on a new one.
  void GetStatus(const CallOptions& options, DoneWith<std::vector<DeviceAttributes>> done) override;
  void CreateWorkerSession(const CallOptions& options,
                           const tensorflow::CreateWorkerSessionRequest& request,
                           Done done) override;
  void DeleteWorkerSession(const CallOptions& options, const std::string& session_handle,
                           Done done) override;
  void RegisterGraph(const CallOptions& options, RegisterGraphArgs args,
                     DoneWith<std::string> done) override;
  void DeregisterGraph(const CallOptions& options,
                       const tensorflow::DeregisterGraphRequest& request, Done done) override;
  void RunGraph(const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                Done done) override;
  void CleanupGraph(const CallOptions& options, int64_t step_id, Done done) override;
  void CleanupAll(const CallOptions& options, const std::vector<std::string>& containers,
                  Done done) override;
  void RecvTensor(const CallOptions& options, const RecvTensorArgs& args, RecvTensorResult* result,
                  Done done) override;
  void Logging(const CallOptions& options, const tensorflow::LoggingRequest& request,
               DoneWith<tensorflow::LoggingResponse> done) override;
  void CompleteGroup(const CallOptions& options, const tensorflow::CompleteGroupRequest& request,
                     DoneWith<tensorflow::CompleteGroupResponse> done) override;
  void CompleteInstance(const CallOptions& options,
                        const tensorflow::CompleteInstanceRequest& request,
                        DoneWith<tensorflow::CompleteInstanceResponse> done) override;
  void GetStepSequence(const CallOptions& options,
                       const tensorflow::GetStepSequenceRequest& request,
                       DoneWith<tensorflow::GetStepSequenceResponse> done) override;
  void RecvBuf(const CallOptions& options, const RecvBufArgs& args, RecvTensorResult* result,
               Done done) override;

 private:
  // For calls whose answer is empty.
  void Call(const char* method, const google::protobuf::MessageLite& request,
            const CallOptions& options, Done done);

  // For calls whose answer is a message that is handed on.
  template <typename Response>
  void Ask(const char* method, const google::protobuf::MessageLite& request,
           const CallOptions& options, DoneWith<Response> done);

  const std::shared_ptr<PeerChannel> peer_;
  grpc::CompletionQueue* const queue_;
  const std::shared_ptr<TensorStreamClient> streams_;
};

}  // namespace tensorfleet::rpc
