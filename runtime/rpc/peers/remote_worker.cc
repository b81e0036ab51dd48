#include "runtime/rpc/peers/remote_worker.h"

#include <utility>

#include "runtime/rpc/peers/client_call.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/worker_codec.h"
#include "runtime/session/cluster/device_attributes.h"

namespace tensorfleet::rpc {
namespace {

Status BadResponse(const char* method) {
  return Internal("the worker's answer to ", method, " cannot be parsed");
}

void RecvTensorByGrpc(const std::shared_ptr<PeerChannel>& peer, grpc::CompletionQueue* queue,
                      const CallOptions& options, const RecvTensorArgs& args,
                      RecvTensorResult* result, WorkerInterface::Done done) {
  StartCall(peer->Current(), queue, "/tensorflow.WorkerService/RecvTensor", EncodeRecvTensor(args),
            options,
            [result, done = std::move(done)](const Status& status, grpc::ByteBuffer* bytes) {
              done(status.ok() ? DecodeRecvTensorResponse(bytes, result) : status);
            });
}

void RecvBufByGrpc(const std::shared_ptr<PeerChannel>& peer, grpc::CompletionQueue* queue,
                   const CallOptions& options, const RecvBufArgs& args, RecvTensorResult* result,
                   WorkerInterface::Done done) {
  StartCall(peer->Current(), queue, "/tensorflow.WorkerService/RecvBuf", EncodeRecvBuf(args),
            options,
            [result, dtype = args.dtype, elements = args.elements, done = std::move(done)](
                const Status& status, grpc::ByteBuffer* bytes) {
              done(status.ok() ? DecodeRecvBufResponse(bytes, dtype, elements, result) : status);
            });
}

}  // namespace

void RemoteWorker::Call(const char* method, const google::protobuf::MessageLite& request,
                        const CallOptions& options, Done done) {
  StartCall(
      peer_->Current(), queue_, method, SerializeMessage(request), options,
      [done = std::move(done)](Status status, grpc::ByteBuffer*) { done(std::move(status)); });
}

void RemoteWorker::GetStatus(const CallOptions& options,
                             DoneWith<std::vector<DeviceAttributes>> done) {
  static constexpr char kMethod[] = "/tensorflow.WorkerService/GetStatus";
  const std::shared_ptr<Connection> connection = peer_->Current();
  StartCall(connection, queue_, kMethod, SerializeMessage(tensorflow::GetStatusRequest()), options,
            [peer = peer_, connection, done = std::move(done)](const Status& status,
                                                               grpc::ByteBuffer* bytes) {
              if (absl::IsDeadlineExceeded(status)) peer->GiveUp(connection);
              tensorflow::GetStatusResponse response;
              if (!status.ok() || !ParseMessage(bytes, &response)) {
                done(status.ok() ? BadResponse(kMethod) : status);
                return;
              }
              std::vector<DeviceAttributes> devices;
              for (const auto& proto : response.device_attributes()) {
                StatusOr<DeviceAttributes> device = DeviceAttributesFromProto(proto);
                if (!device.ok()) {
                  done(device.status());
                  return;
                }
                devices.push_back(*std::move(device));
              }
              done(std::move(devices));
            });
}

void RemoteWorker::CreateWorkerSession(const CallOptions& options,
                                       const tensorflow::CreateWorkerSessionRequest& request,
                                       Done done) {
  Call("/tensorflow.WorkerService/CreateWorkerSession", request, options, std::move(done));
}

void RemoteWorker::DeleteWorkerSession(const CallOptions& options,
                                       const std::string& session_handle, Done done) {
  tensorflow::DeleteWorkerSessionRequest request;
  request.set_session_handle(session_handle);
  Call("/tensorflow.WorkerService/DeleteWorkerSession", request, options, std::move(done));
}

void RemoteWorker::RegisterGraph(const CallOptions& options, RegisterGraphArgs args,
                                 DoneWith<std::string> done) {
  static constexpr char kMethod[] = "/tensorflow.WorkerService/RegisterGraph";
  tensorflow::RegisterGraphRequest request;
  request.set_session_handle(args.session_handle);
  request.set_create_worker_session_called(args.create_worker_session_called);
  request.mutable_graph_def()->Swap(&args.graph_def);
  *request.mutable_graph_options() = args.config.graph_options();
  request.mutable_config_proto()->Swap(&args.config);
  request.set_collective_graph_key(args.collective_graph_key);
  StartCall(peer_->Current(), queue_, kMethod, SerializeMessage(request), options,
            [done = std::move(done)](const Status& status, grpc::ByteBuffer* bytes) {
              tensorflow::RegisterGraphResponse response;
              if (!status.ok() || !ParseMessage(bytes, &response)) {
                done(status.ok() ? BadResponse(kMethod) : status);
                return;
              }
              done(response.graph_handle());
            });
}

void RemoteWorker::DeregisterGraph(const CallOptions& options,
                                   const tensorflow::DeregisterGraphRequest& request, Done done) {
  Call("/tensorflow.WorkerService/DeregisterGraph", request, options, std::move(done));
}

void RemoteWorker::RunGraph(const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                            Done done) {
  StatusOr<grpc::ByteBuffer> request = EncodeRunGraph(*args);
  if (!request.ok()) {
    done(request.status());
    return;
  }
  StartCall(peer_->Current(), queue_, "/tensorflow.WorkerService/RunGraph", *std::move(request),
            options,
            [result, done = std::move(done)](const Status& status, grpc::ByteBuffer* bytes) {
              done(status.ok() ? DecodeRunGraphResponse(bytes, result) : status);
            });
}

void RemoteWorker::CleanupGraph(const CallOptions& options, int64_t step_id, Done done) {
  tensorflow::CleanupGraphRequest request;
  request.set_step_id(step_id);
  Call("/tensorflow.WorkerService/CleanupGraph", request, options, std::move(done));
}

void RemoteWorker::CleanupAll(const CallOptions& options,
                              const std::vector<std::string>& containers, Done done) {
  tensorflow::CleanupAllRequest request;
  for (const std::string& container : containers) request.add_container(container);
  Call("/tensorflow.WorkerService/CleanupAll", request, options, std::move(done));
}

void RemoteWorker::RecvTensor(const CallOptions& options, const RecvTensorArgs& args,
                              RecvTensorResult* result, Done done) {
  if (streams_ == nullptr || options.timeout.count() > 0) {
    RecvTensorByGrpc(peer_, queue_, options, args, result, std::move(done));
    return;
  }
  streams_->WithStream(
      [peer = peer_, queue = queue_, options, &args, result,
       done = std::move(done)](const std::shared_ptr<ClientStream>& stream) mutable {
        if (stream == nullptr) {
          RecvTensorByGrpc(peer, queue, options, args, result, std::move(done));
        } else {
          stream->RecvTensor(options, args, result, std::move(done));
        }
      });
}

template <typename Response>
void RemoteWorker::Ask(const char* method, const google::protobuf::MessageLite& request,
                       const CallOptions& options, DoneWith<Response> done) {
  StartCall(peer_->Current(), queue_, method, SerializeMessage(request), options,
            [method, done = std::move(done)](const Status& status, grpc::ByteBuffer* bytes) {
              Response response;
              if (!status.ok() || !ParseMessage(bytes, &response)) {
                done(status.ok() ? BadResponse(method) : status);
                return;
              }
              done(std::move(response));
            });
}

void RemoteWorker::Logging(const CallOptions& options, const tensorflow::LoggingRequest& request,
                           DoneWith<tensorflow::LoggingResponse> done) {
  Ask<tensorflow::LoggingResponse>("/tensorflow.WorkerService/Logging", request, options,
                                   std::move(done));
}

void RemoteWorker::CompleteGroup(const CallOptions& options,
                                 const tensorflow::CompleteGroupRequest& request,
                                 DoneWith<tensorflow::CompleteGroupResponse> done) {
  Ask<tensorflow::CompleteGroupResponse>("/tensorflow.WorkerService/CompleteGroup", request,
                                         options, std::move(done));
}

void RemoteWorker::CompleteInstance(const CallOptions& options,
                                    const tensorflow::CompleteInstanceRequest& request,
                                    DoneWith<tensorflow::CompleteInstanceResponse> done) {
  Ask<tensorflow::CompleteInstanceResponse>("/tensorflow.WorkerService/CompleteInstance", request,
                                            options, std::move(done));
}

void RemoteWorker::GetStepSequence(const CallOptions& options,
                                   const tensorflow::GetStepSequenceRequest& request,
                                   DoneWith<tensorflow::GetStepSequenceResponse> done) {
  Ask<tensorflow::GetStepSequenceResponse>("/tensorflow.WorkerService/GetStepSequence", request,
                                           options, std::move(done));
}

void RemoteWorker::RecvBuf(const CallOptions& options, const RecvBufArgs& args,
                           RecvTensorResult* result, Done done) {
  if (streams_ == nullptr || options.timeout.count() > 0) {
    RecvBufByGrpc(peer_, queue_, options, args, result, std::move(done));
    return;
  }
  streams_->WithStream(
      [peer = peer_, queue = queue_, options, &args, result,
       done = std::move(done)](const std::shared_ptr<ClientStream>& stream) mutable {
        if (stream == nullptr) {
          RecvBufByGrpc(peer, queue, options, args, result, std::move(done));
        } else {
          RecvTensorArgs piece;
          piece.step_id = args.step_id;
          piece.request_id = args.request_id;
          piece.key = args.key.text;
          stream->RecvTensor(options, piece, result, std::move(done));
        }
      });
}

}  // namespace tensorfleet::rpc
