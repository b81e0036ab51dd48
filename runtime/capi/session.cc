#include "runtime/capi/session.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/capi/buffer.h"
#include "runtime/capi/tensor.h"

namespace tensorfleet::capi {

StatusOr<std::unique_ptr<Session>> OpenSession(const TF_SessionOptions* options) {
  if (options == nullptr) return Session::Open("");
  const bool is_local = options->target.empty() || options->target == "local";
  return Session::Open(is_local ? "" : options->target, options->config);
}

Status SendNew(TF_Session& session) {
  for (; session.changes_seen < session.graph->changes.size(); ++session.changes_seen) {
    const TF_Graph::Change& change = session.graph->changes[session.changes_seen];
    if (change.node_id < session.node_ids_sent && session.changed.ok()) {
      session.changed = FailedPrecondition(
          change.text,
          " after it was run by a session. The session does not see the change: do not ",
          "change operations after running them, or make another session.");
    }
  }
  TFLEET_RETURN_IF_ERROR(session.changed);
  TFLEET_RETURN_IF_ERROR(session.session->Extend(session.graph->scope));
  session.node_ids_sent = session.graph->scope.graph().num_node_ids();
  return OkStatus();
}

namespace {

StatusOr<std::string> NameOf(const TF_Graph& graph, TF_Output output)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu) {
  TFLEET_ASSIGN_OR_RETURN(const Output checked, OutputIn(graph, output));
  return absl::StrCat(NameIn(graph, *checked.node()), ":", checked.index());
}

// The value of input `i`. Errors: InvalidArgument for another type than the output's.
StatusOr<Tensor> ValueFor(const TF_Graph& graph, TF_Output input, const TF_Tensor* value, int i)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph.mu) {
  TFLEET_ASSIGN_OR_RETURN(const Output output, OutputIn(graph, input));
  TFLEET_RETURN_IF_ERROR(NotNull(value, "an input tensor"));
  if (value->dtype != output.dtype()) {
    return InvalidArgument("Expects arg[", i, "] to be ", DTypeName(output.dtype()), " but ",
                           DTypeName(value->dtype), " is provided");
  }
  return ToEngine(value);
}

// One step as the interface describes it.
struct Arguments {
  const TF_Output* inputs;
  TF_Tensor* const* input_values;
  int ninputs;
  const TF_Output* outputs;
  TF_Tensor** output_values;
  int noutputs;
  const TF_Operation* const* targets;
  int ntargets;
};

Status CheckArrays(const Arguments& step) {
  TFLEET_RETURN_IF_ERROR(CheckArray(step.inputs, step.ninputs, "inputs"));
  TFLEET_RETURN_IF_ERROR(CheckArray(step.input_values, step.ninputs, "input_values"));
  TFLEET_RETURN_IF_ERROR(CheckArray(step.outputs, step.noutputs, "outputs"));
  TFLEET_RETURN_IF_ERROR(CheckArray(step.output_values, step.noutputs, "output_values"));
  return CheckArray(step.targets, step.ntargets, "target_opers");
}

void ClearOutputs(const Arguments& step) {
  for (int i = 0; step.output_values != nullptr && i < step.noutputs; ++i) {
    step.output_values[i] = nullptr;
  }
}

// Hands the values over: all of them, or none.
Status GiveOutputs(const std::vector<Tensor>& values, const Arguments& step) {
  for (int i = 0; i < step.noutputs; ++i) {
    const StatusOr<TF_Tensor*> value = FromEngine(values[i]);
    if (!value.ok()) {
      while (i > 0) {
        TF_DeleteTensor(step.output_values[--i]);
        step.output_values[i] = nullptr;
      }
      return value.status();
    }
    step.output_values[i] = *value;
  }
  return OkStatus();
}

// The step by names, after what is new in the graph was sent.
Status Prepare(TF_Session& session, const Arguments& step, StepRequest* request) {
  MutexLock lock(&session.graph->mu);
  TFLEET_RETURN_IF_ERROR(SendNew(session));
  for (int i = 0; i < step.ninputs; ++i) {
    TFLEET_ASSIGN_OR_RETURN(Tensor value,
                            ValueFor(*session.graph, step.inputs[i], step.input_values[i], i));
    TFLEET_ASSIGN_OR_RETURN(std::string name, NameOf(*session.graph, step.inputs[i]));
    request->feeds.emplace_back(std::move(name), std::move(value));
  }
  for (int i = 0; i < step.noutputs; ++i) {
    TFLEET_ASSIGN_OR_RETURN(std::string name, NameOf(*session.graph, step.outputs[i]));
    request->fetches.push_back(std::move(name));
  }
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Operation> targets,
                          OperationsIn(*session.graph, step.targets, step.ntargets));
  for (const Operation& target : targets) {
    request->targets.push_back(NameIn(*session.graph, *target.node()));
  }
  return OkStatus();
}

Status RunStep(TF_Session* session, const TF_Buffer* run_options, const Arguments& step,
               TF_Buffer* run_metadata) {
  TFLEET_RETURN_IF_ERROR(NotNull(session, "session"));
  if (run_metadata != nullptr && run_metadata->data != nullptr) {
    return InvalidArgument("Passing non-empty run_metadata is invalid.");
  }
  TFLEET_RETURN_IF_ERROR(CheckArrays(step));
  StepRequest request;
  if (run_options != nullptr) {
    TFLEET_RETURN_IF_ERROR(ParseMessage(run_options, "RunOptions", &request.options));
  }
  TFLEET_RETURN_IF_ERROR(Prepare(*session, step, &request));
  tensorflow::RunMetadata metadata;
  TFLEET_ASSIGN_OR_RETURN(
      const std::vector<Tensor> values,
      session->session->Run(request, run_metadata == nullptr ? nullptr : &metadata));
  if (run_metadata != nullptr) TFLEET_RETURN_IF_ERROR(FillBuffer(metadata, run_metadata));
  return GiveOutputs(values, step);
}

StatusOr<std::string> BeginPartialRun(TF_Session* session, const Arguments& step) {
  TFLEET_RETURN_IF_ERROR(NotNull(session, "session"));
  TFLEET_RETURN_IF_ERROR(CheckArray(step.inputs, step.ninputs, "inputs"));
  TFLEET_RETURN_IF_ERROR(CheckArray(step.outputs, step.noutputs, "outputs"));
  std::unique_ptr<PartialRun> run;
  {
    MutexLock lock(&session->graph->mu);
    TFLEET_RETURN_IF_ERROR(SendNew(*session));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> feeds,
                            OutputsIn(*session->graph, step.inputs, step.ninputs, "inputs"));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> fetches,
                            OutputsIn(*session->graph, step.outputs, step.noutputs, "outputs"));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Operation> targets,
                            OperationsIn(*session->graph, step.targets, step.ntargets));
    TFLEET_ASSIGN_OR_RETURN(
        run, session->session->StartPartialRun(session->graph->scope, feeds, fetches, targets));
  }
  MutexLock lock(&session->mu);
  std::string handle = absl::StrCat("partial_run_", session->next_partial_run++);
  session->partial_runs[handle] = {std::move(run),
                                   static_cast<size_t>(step.ninputs) + step.noutputs};
  return handle;
}

Status ContinuePartialRun(TF_Session* session, const char* handle, const Arguments& step) {
  TFLEET_RETURN_IF_ERROR(NotNull(session, "session"));
  TFLEET_RETURN_IF_ERROR(NotNull(handle, "handle"));
  TFLEET_RETURN_IF_ERROR(CheckArrays(step));
  if (step.ntargets != 0) {
    return InvalidArgument("targets of a partial run are given to TF_SessionPRunSetup");
  }
  std::shared_ptr<PartialRun> run;
  {
    MutexLock lock(&session->mu);
    const auto found = session->partial_runs.find(handle);
    if (found == session->partial_runs.end()) {
      return InvalidArgument("Must run 'setup' before performing partial runs: no step '", handle,
                             "' is under way");
    }
    run = found->second.run;
  }
  std::vector<std::pair<Output, Tensor>> feeds;
  std::vector<Output> fetches;
  {
    MutexLock lock(&session->graph->mu);
    for (int i = 0; i < step.ninputs; ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor value,
                              ValueFor(*session->graph, step.inputs[i], step.input_values[i], i));
      TFLEET_ASSIGN_OR_RETURN(const Output input, OutputIn(*session->graph, step.inputs[i]));
      feeds.emplace_back(input, std::move(value));
    }
    TFLEET_ASSIGN_OR_RETURN(fetches,
                            OutputsIn(*session->graph, step.outputs, step.noutputs, "outputs"));
  }
  const StatusOr<std::vector<Tensor>> values = run->Run(feeds, fetches);
  {
    MutexLock lock(&session->mu);
    const auto found = session->partial_runs.find(handle);
    const size_t done = feeds.size() + fetches.size();
    if (found != session->partial_runs.end()) {
      found->second.left -= std::min(found->second.left, done);
      // What was wrong with the request leaves the step as it is; every other error ends it.
      const bool is_over =
          found->second.left == 0 || (!values.ok() && !absl::IsInvalidArgument(values.status()));
      if (is_over) session->partial_runs.erase(found);
    }
  }
  TFLEET_RETURN_IF_ERROR(values.status());
  return GiveOutputs(*values, step);
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_SessionOptions* TF_NewSessionOptions() { return new (std::nothrow) TF_SessionOptions; }

void TF_DeleteSessionOptions(TF_SessionOptions* options) { delete options; }

void TF_SetTarget(TF_SessionOptions* options, const char* target) {
  if (options == nullptr) return;
  Contained([&] { options->target = target == nullptr ? "" : target; }).IgnoreError();
}

void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len,
                  TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(options);
    return ParseMessage(proto, proto_len, "ConfigProto", &options->config);
  });
}

TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions* opts, TF_Status* status) {
  return EnterFor<TF_Session*>(status, nullptr, [&]() -> StatusOr<TF_Session*> {
    TFLEET_NOT_NULL(graph);
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, OpenSession(opts));
    return new TF_Session(graph, std::move(session));
  });
}

void TF_CloseSession(TF_Session* session, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(session);
    return session->session->Close();
  });
}

void TF_DeleteSession(TF_Session* session, TF_Status* status) {
  Enter(status, [&] { delete session; });
}

void TF_SessionRun(TF_Session* session, const TF_Buffer* run_options, const TF_Output* inputs,
                   TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs,
                   TF_Tensor** output_values, int noutputs, const TF_Operation* const* target_opers,
                   int ntargets, TF_Buffer* run_metadata, TF_Status* status) {
  const Arguments step = {inputs,        input_values, ninputs,      outputs,
                          output_values, noutputs,     target_opers, ntargets};
  ClearOutputs(step);
  Enter(status, [&] { return RunStep(session, run_options, step, run_metadata); });
}

void TF_SessionPRunSetup(TF_Session* session, const TF_Output* inputs, int ninputs,
                         const TF_Output* outputs, int noutputs,
                         const TF_Operation* const* target_opers, int ntargets, const char** handle,
                         TF_Status* status) {
  if (handle != nullptr) *handle = nullptr;
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(handle);
    TFLEET_ASSIGN_OR_RETURN(const std::string name,
                            BeginPartialRun(session, {inputs, nullptr, ninputs, outputs, nullptr,
                                                      noutputs, target_opers, ntargets}));
    char* copy = strdup(name.c_str());
    if (copy == nullptr) return ResourceExhausted("no memory for the handle of a partial run");
    *handle = copy;
    return OkStatus();
  });
}

void TF_SessionPRun(TF_Session* session, const char* handle, const TF_Output* inputs,
                    TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs,
                    TF_Tensor** output_values, int noutputs,
                    const TF_Operation* const* target_opers, int ntargets, TF_Status* status) {
  const Arguments step = {inputs,        input_values, ninputs,      outputs,
                          output_values, noutputs,     target_opers, ntargets};
  ClearOutputs(step);
  Enter(status, [&] { return ContinuePartialRun(session, handle, step); });
}

void TF_DeletePRunHandle(const char* handle) { std::free(const_cast<char*>(handle)); }

void TF_ExtendSession(TF_Session* session, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(session);
    MutexLock lock(&session->graph->mu);
    return SendNew(*session);
  });
}

}  // extern "C"
