#include "runtime/rpc/services/worker_service.h"

#include <memory>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/worker_codec.h"
#include "runtime/session/cluster/device_attributes.h"

namespace tensorfleet::rpc {
namespace {

template <typename Request, typename Handle>
void WithRequest(ServerCall* call, const Handle& handle) {
  Request request;
  if (ParseMessage(call->request(), &request)) {
    call->request()->Clear();
    handle(std::move(request));
  } else {
    call->ReplyError(Unparsable());
  }
}

CallOptions OptionsOf(ServerCall* call) {
  CallOptions options;
  options.cancellation = call->cancellation();
  return options;
}

template <typename Response>
WorkerInterface::Done EmptyAnswer(ServerCall* call) {
  return [call](const Status& status) {
    if (status.ok()) {
      call->ReplyMessage(Response());
    } else {
      call->ReplyError(status);
    }
  };
}

void RunGraph(Worker* worker, ServerCall* call) {
  struct GraphCall {
    RunGraphArgs args;
    RunGraphResult result;
    bool errors_in_body = false;
    void Fail(ServerCall* call, const Status& status) const {
      if (errors_in_body) {
        call->Reply(EncodeRunGraphError(status));
      } else {
        call->ReplyError(status);
      }
    }
  };
  auto run = std::make_unique<GraphCall>();
  const Status decoded = DecodeRunGraph(call->request(), &run->args, &run->errors_in_body);
  if (!decoded.ok()) {
    run->Fail(call, decoded);
    return;
  }
  // A partial run that has begun goes on.
  if (!run->args.is_partial && call->RefusedWhileDraining()) return;
  call->request()->Clear();
  GraphCall* const r = run.release();
  worker->RunGraph(OptionsOf(call), &r->args, &r->result, [call, r](const Status& status) {
    std::unique_ptr<GraphCall> owned(r);
    if (!status.ok()) {
      owned->Fail(call, status);
      return;
    }
    StatusOr<grpc::ByteBuffer> response =
        Contained([&] { return EncodeRunGraphResponse(owned->result); });
    if (response.ok()) {
      call->Reply(*std::move(response));
    } else {
      owned->Fail(call, response.status());
    }
  });
}

void RecvTensor(Worker* worker, ServerCall* call) {
  RecvTensorArgs args;
  if (Status status = DecodeRecvTensor(call->request(), &args); !status.ok()) {
    call->ReplyError(status);
    return;
  }
  auto* result = new RecvTensorResult;
  const auto reply = [call, result](const Status& status) {
    std::unique_ptr<RecvTensorResult> owned(result);
    StatusOr<grpc::ByteBuffer> response =
        status.ok() ? Contained([&] { return EncodeRecvTensorResponse(*owned); })
                    : StatusOr<grpc::ByteBuffer>(status);
    if (response.ok()) {
      call->Reply(*std::move(response));
    } else {
      call->ReplyError(response.status());
    }
  };
  worker->RecvTensor(OptionsOf(call), args, result, reply);
}

void RegisterGraph(Worker* worker, ServerCall* call) {
  WithRequest<tensorflow::RegisterGraphRequest>(
      call, [worker, call](tensorflow::RegisterGraphRequest request) {
        auto args = std::make_shared<RegisterGraphArgs>();
        args->session_handle = request.session_handle();
        args->create_worker_session_called = request.create_worker_session_called();
        args->graph_def.Swap(request.mutable_graph_def());
        args->config.Swap(request.mutable_config_proto());
        // Compiling a big graph takes long.
        worker->compile_pool()->Schedule([worker, call, args] {
          worker->RegisterGraph(OptionsOf(call), std::move(*args),
                                [call](const StatusOr<std::string>& handle) {
                                  if (!handle.ok()) {
                                    call->ReplyError(handle.status());
                                    return;
                                  }
                                  tensorflow::RegisterGraphResponse response;
                                  response.set_graph_handle(*handle);
                                  call->ReplyMessage(response);
                                });
        });
      });
}

// What a member of a collective has for another one.
void RecvBuf(Worker* worker, ServerCall* call) {
  auto args = std::make_shared<RecvBufArgs>();
  int64_t num_bytes = 0;
  if (Status status = DecodeRecvBuf(call->request(), args.get(), &num_bytes); !status.ok()) {
    call->ReplyError(status);
    return;
  }
  auto result = std::make_shared<RecvTensorResult>();
  worker->RecvBuf(
      OptionsOf(call), *args, result.get(), [call, args, result, num_bytes](const Status& status) {
        if (!status.ok()) return call->ReplyError(status);
        const auto bytes = static_cast<int64_t>(result->tensor.bytes());
        if (bytes != num_bytes) {
          return call->ReplyError(
              InvalidArgument("Shape mismatch in a collective: ", args->key.src_device, " has ",
                              bytes, " bytes under ", args->buf_key, ", but ", args->key.dst_device,
                              " expects ", num_bytes));
        }
        StatusOr<grpc::ByteBuffer> response = Contained(
            [&]() -> StatusOr<grpc::ByteBuffer> { return EncodeRecvBufResponse(*result); });
        if (response.ok()) {
          call->Reply(*std::move(response));
        } else {
          call->ReplyError(response.status());
        }
      });
}

template <typename Response>
WorkerInterface::DoneWith<Response> Answer(ServerCall* call) {
  return [call](const StatusOr<Response>& response) {
    if (response.ok()) {
      call->ReplyMessage(*response);
    } else {
      call->ReplyError(response.status());
    }
  };
}

}  // namespace

std::unique_ptr<RawService> MakeWorkerService(Worker* w, std::unique_ptr<PollSet>* polls) {
  std::vector<RawService::Method> methods;
  const auto add = [&](const char* name, RawService::Handler handle, int slots = 1) {
    methods.push_back({std::string("/tensorflow.WorkerService/") + name, std::move(handle), slots});
  };
  add("GetStatus", [w](ServerCall* call) {
    w->GetStatus(OptionsOf(call), [call](const StatusOr<std::vector<DeviceAttributes>>& devices) {
      tensorflow::GetStatusResponse response;
      for (const DeviceAttributes& device : *devices) {
        DeviceAttributesToProto(device, response.add_device_attributes());
      }
      call->ReplyMessage(response);
    });
  });
  add("CreateWorkerSession", [w](ServerCall* call) {
    if (call->RefusedWhileDraining()) return;
    WithRequest<tensorflow::CreateWorkerSessionRequest>(call, [w, call](const auto& request) {
      w->CreateWorkerSession(OptionsOf(call), request,
                             EmptyAnswer<tensorflow::CreateWorkerSessionResponse>(call));
    });
  });
  add("DeleteWorkerSession", [w](ServerCall* call) {
    WithRequest<tensorflow::DeleteWorkerSessionRequest>(call, [w, call](const auto& request) {
      w->DeleteWorkerSession(OptionsOf(call), request.session_handle(),
                             EmptyAnswer<tensorflow::DeleteWorkerSessionResponse>(call));
    });
  });
  add("RegisterGraph", [w](ServerCall* call) { RegisterGraph(w, call); });
  add("DeregisterGraph", [w](ServerCall* call) {
    WithRequest<tensorflow::DeregisterGraphRequest>(call, [w, call](const auto& request) {
      w->DeregisterGraph(OptionsOf(call), request,
                         EmptyAnswer<tensorflow::DeregisterGraphResponse>(call));
    });
  });
  add(
      "RunGraph",
      [w, polls](ServerCall* call) {
        if ((*polls)->is_last_poller()) {
          w->pool()->Schedule([w, call] { call->Contain([&] { RunGraph(w, call); }); });
        } else {
          RunGraph(w, call);
        }
      },
      4);
  add("CleanupGraph", [w](ServerCall* call) {
    WithRequest<tensorflow::CleanupGraphRequest>(call, [w, call](const auto& request) {
      w->CleanupGraph(OptionsOf(call), request.step_id(),
                      EmptyAnswer<tensorflow::CleanupGraphResponse>(call));
    });
  });
  add("CleanupAll", [w](ServerCall* call) {
    WithRequest<tensorflow::CleanupAllRequest>(call, [w, call](const auto& request) {
      w->CleanupAll(OptionsOf(call), {request.container().begin(), request.container().end()},
                    EmptyAnswer<tensorflow::CleanupAllResponse>(call));
    });
  });
  add(
      "RecvTensor", [w](ServerCall* call) { RecvTensor(w, call); }, 4);
  add("Logging", [w](ServerCall* call) {
    WithRequest<tensorflow::LoggingRequest>(call, [w, call](const auto& request) {
      w->Logging(OptionsOf(call), request,
                 [call](const StatusOr<tensorflow::LoggingResponse>& response) {
                   call->ReplyMessage(*response);
                 });
    });
  });
  add("Tracing", [](ServerCall* call) { call->ReplyError(Unimplemented("Tracing")); });
  add(
      "RecvBuf", [w](ServerCall* call) { RecvBuf(w, call); }, 4);
  add("CompleteGroup", [w](ServerCall* call) {
    WithRequest<tensorflow::CompleteGroupRequest>(call, [w, call](const auto& request) {
      w->CompleteGroup(OptionsOf(call), request, Answer<tensorflow::CompleteGroupResponse>(call));
    });
  });
  add("CompleteInstance", [w](ServerCall* call) {
    WithRequest<tensorflow::CompleteInstanceRequest>(call, [w, call](const auto& request) {
      w->CompleteInstance(OptionsOf(call), request,
                          Answer<tensorflow::CompleteInstanceResponse>(call));
    });
  });
  add("GetStepSequence", [w](ServerCall* call) {
    WithRequest<tensorflow::GetStepSequenceRequest>(call, [w, call](const auto& request) {
      w->GetStepSequence(OptionsOf(call), request,
                         Answer<tensorflow::GetStepSequenceResponse>(call));
    });
  });
  add("MarkRecvFinished",
      [](ServerCall* call) { call->ReplyMessage(tensorflow::MarkRecvFinishedResponse()); });
  return std::make_unique<RawService>(std::move(methods));
}

}  // namespace tensorfleet::rpc
