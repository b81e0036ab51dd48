#include "runtime/rpc/services/worker_service.h"

#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/contain.h"
#include "runtime/base/mutex.h"
#include "runtime/base/random_id.h"
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

// Step ids for collective operations: the same for all workers that ask with the same key. The
// oldest keys are forgotten.
class StepSequences {
 public:
  int64_t Next(int64_t graph_key) {
    MutexLock lock(&mu_);
    const auto [it, is_new] = next_.try_emplace(graph_key, 0);
    if (!is_new) return it->second;
    const int64_t next = it->second = static_cast<int64_t>(RandomNonZero64() >> 8) | 1;
    keys_.push_back(graph_key);
    if (keys_.size() > kMaxKeys) {
      next_.erase(keys_.front());
      keys_.pop_front();
    }
    return next;
  }

 private:
  static constexpr size_t kMaxKeys = 4096;

  Mutex mu_;
  absl::flat_hash_map<int64_t, int64_t> next_ ABSL_GUARDED_BY(mu_);
  std::deque<int64_t> keys_ ABSL_GUARDED_BY(mu_);  // in the order in which they came
};

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
  for (const char* name : {"RecvBuf", "CompleteGroup", "CompleteInstance"}) {
    add(name, [name](ServerCall* call) {
      call->ReplyError(Unimplemented(name, ": this server does not run collective operations yet"));
    });
  }
  add("GetStepSequence", [sequences = std::make_shared<StepSequences>()](ServerCall* call) {
    WithRequest<tensorflow::GetStepSequenceRequest>(call, [&](const auto& request) {
      tensorflow::GetStepSequenceResponse response;
      for (const int64_t key : request.graph_key()) {
        tensorflow::StepSequence* sequence = response.add_step_sequence();
        sequence->set_graph_key(key);
        sequence->set_next_step_id(sequences->Next(key));
      }
      call->ReplyMessage(response);
    });
  });
  add("MarkRecvFinished",
      [](ServerCall* call) { call->ReplyMessage(tensorflow::MarkRecvFinishedResponse()); });
  return std::make_unique<RawService>(std::move(methods));
}

}  // namespace tensorfleet::rpc
