#include "runtime/rpc/services/master_service.h"

#include <utility>

#include "runtime/base/contain.h"
#include "runtime/rpc/wire/master_codec.h"
#include "runtime/rpc/wire/wire_reader.h"

namespace tensorfleet::rpc {
namespace {

// Calls handle(request) with the parsed request, or answers that it cannot be parsed.
template <typename Request, typename Handle>
void WithRequest(ServerCall* call, const Handle& handle) {
  auto request = std::make_shared<Request>();
  if (ParseMessage(call->request(), request.get())) {
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

// What a step needs until it is answered.
struct StepCall {
  RunStepArgs args;
  RunStepOptions wire;
  RunStepResult result;
};

void ReplyStepError(ServerCall* call, const StepCall& step, const Status& status) {
  if (step.wire.store_errors_in_response_body) {
    call->Reply(EncodeRunStepError(status));
  } else {
    call->ReplyError(status);
  }
}

void RunStep(Master* master, ServerCall* call) {
  auto step = std::make_unique<StepCall>();
  if (Status status = DecodeRunStep(call->request(), &step->args, &step->wire); !status.ok()) {
    ReplyStepError(call, *step, status);
    return;
  }
  // A partial run that has begun goes on.
  if (step->args.partial_run_handle.empty() && call->RefusedWhileDraining()) return;
  call->request()->Clear();
  StepCall* const s = step.release();
  master->RunStep(OptionsOf(call), &s->args, &s->result, [call, s](const Status& status) {
    std::unique_ptr<StepCall> owned(s);
    if (!status.ok()) {
      ReplyStepError(call, *owned, status);
      return;
    }
    StatusOr<grpc::ByteBuffer> response =
        Contained([&] { return EncodeRunStepResponse(owned->result); });
    if (response.ok()) {
      call->Reply(*std::move(response));
    } else {
      ReplyStepError(call, *owned, response.status());
    }
  });
}

void RunCallable(Master* master, ServerCall* call) {
  if (call->RefusedWhileDraining()) return;
  struct CallableCall {
    RunCallableArgs args;
    RunStepResult result;
  };
  auto run = std::make_unique<CallableCall>();
  if (Status status = DecodeRunCallable(call->request(), &run->args); !status.ok()) {
    call->ReplyError(status);
    return;
  }
  call->request()->Clear();
  CallableCall* const r = run.release();
  master->RunCallable(OptionsOf(call), &r->args, &r->result, [call, r](const Status& status) {
    std::unique_ptr<CallableCall> owned(r);
    StatusOr<grpc::ByteBuffer> response =
        status.ok() ? Contained([&] { return EncodeRunCallableResponse(owned->result); })
                    : StatusOr<grpc::ByteBuffer>(status);
    if (response.ok()) {
      call->Reply(*std::move(response));
    } else {
      call->ReplyError(response.status());
    }
  });
}

// Runs a step's handler here, or on the pool when this is the last thread that takes events.
RawService::Handler Inline(Master* master, std::unique_ptr<PollSet>* polls,
                           void (*handle)(Master*, ServerCall*)) {
  return [master, polls, handle](ServerCall* call) {
    if ((*polls)->is_last_poller()) {
      master->options().worker->pool()->Schedule(
          [master, handle, call] { call->Contain([&] { handle(master, call); }); });
    } else {
      handle(master, call);
    }
  };
}

template <typename Response>
void Answer(ServerCall* call, const StatusOr<Response>& response) {
  if (response.ok()) {
    call->ReplyMessage(*response);
  } else {
    call->ReplyError(response.status());
  }
}

template <typename Response>
void AnswerEmpty(ServerCall* call, const Status& status) {
  if (status.ok()) {
    call->ReplyMessage(Response());
  } else {
    call->ReplyError(status);
  }
}

}  // namespace

std::unique_ptr<RawService> MakeMasterService(Master* m, std::unique_ptr<PollSet>* polls) {
  std::vector<RawService::Method> methods;
  const auto add = [&](const char* name, RawService::Handler handle, int slots = 1) {
    methods.push_back({std::string("/tensorflow.MasterService/") + name, std::move(handle), slots});
  };
  add("CreateSession", [m](ServerCall* call) {
    if (call->RefusedWhileDraining()) return;
    WithRequest<tensorflow::CreateSessionRequest>(call, [m, call](auto request) {
      m->CreateSession(OptionsOf(call), std::move(request),
                       [call](const StatusOr<tensorflow::CreateSessionResponse>& response) {
                         Answer(call, response);
                       });
    });
  });
  add("ExtendSession", [m](ServerCall* call) {
    WithRequest<tensorflow::ExtendSessionRequest>(call, [m, call](auto request) {
      m->ExtendSession(std::move(request), [call](const StatusOr<int64_t>& version) {
        tensorflow::ExtendSessionResponse response;
        if (version.ok()) response.set_new_graph_version(*version);
        Answer(call, version.ok() ? StatusOr<tensorflow::ExtendSessionResponse>(response)
                                  : version.status());
      });
    });
  });
  add("PartialRunSetup", [m](ServerCall* call) {
    if (call->RefusedWhileDraining()) return;
    WithRequest<tensorflow::PartialRunSetupRequest>(call, [m, call](auto request) {
      m->PartialRunSetup(OptionsOf(call), *request, [call](const StatusOr<std::string>& handle) {
        tensorflow::PartialRunSetupResponse response;
        if (handle.ok()) response.set_partial_run_handle(*handle);
        Answer(call, handle.ok() ? StatusOr<tensorflow::PartialRunSetupResponse>(response)
                                 : handle.status());
      });
    });
  });
  add("RunStep", Inline(m, polls, &RunStep), 4);
  add("CloseSession", [m](ServerCall* call) {
    WithRequest<tensorflow::CloseSessionRequest>(call, [m, call](auto request) {
      m->CloseSession(request->session_handle(), [call](const Status& status) {
        AnswerEmpty<tensorflow::CloseSessionResponse>(call, status);
      });
    });
  });
  add("ListDevices", [m](ServerCall* call) {
    WithRequest<tensorflow::ListDevicesRequest>(call, [m, call](auto request) {
      m->ListDevices(OptionsOf(call), request->session_handle(),
                     [call](const StatusOr<tensorflow::ListDevicesResponse>& response) {
                       Answer(call, response);
                     });
    });
  });
  add("Reset", [m](ServerCall* call) {
    WithRequest<tensorflow::ResetRequest>(call, [m, call](auto request) {
      m->Reset(OptionsOf(call), *request, [call](const Status& status) {
        AnswerEmpty<tensorflow::ResetResponse>(call, status);
      });
    });
  });
  add("MakeCallable", [m](ServerCall* call) {
    WithRequest<tensorflow::MakeCallableRequest>(call, [m, call](auto request) {
      m->MakeCallable(OptionsOf(call), *request, [call](const StatusOr<int64_t>& handle) {
        tensorflow::MakeCallableResponse response;
        if (handle.ok()) response.set_handle(*handle);
        Answer(call, handle.ok() ? StatusOr<tensorflow::MakeCallableResponse>(response)
                                 : handle.status());
      });
    });
  });
  add("RunCallable", Inline(m, polls, &RunCallable), 2);
  add("ReleaseCallable", [m](ServerCall* call) {
    WithRequest<tensorflow::ReleaseCallableRequest>(call, [m, call](auto request) {
      AnswerEmpty<tensorflow::ReleaseCallableResponse>(call, m->ReleaseCallable(*request));
    });
  });
  return std::make_unique<RawService>(std::move(methods));
}

}  // namespace tensorfleet::rpc
