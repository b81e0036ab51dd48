#include "runtime/opfuzz/runner.h"

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/opfuzz/observed_kernels.h"
#include "runtime/session/master/master_client.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::opfuzz {
namespace {

using Clock = std::chrono::steady_clock;

RunStepArgs Args(const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                 const std::vector<Feed>& feeds) {
  RunStepArgs args;
  args.fetches = fetches;
  args.targets = targets;
  for (const Feed& feed : feeds) args.feeds.push_back({feed.name, feed.value});
  return args;
}

// What a client would be sent.
void CheckFetches(const RunStepResult& result) {
  for (const NamedTensor& fetch : result.fetches) {
    tensorflow::TensorProto proto;
    const Status encoded = TensorToProto(fetch.tensor, &proto);
    if (!encoded.ok() && encoded.code() != absl::StatusCode::kUnimplemented) {
      Observed().Complain(absl::StrCat(fetch.name, " cannot be sent: ", encoded.message()));
    }
  }
}

}  // namespace

Runner::Runner(int num_tasks, int64_t step_millis)
    : step_millis_(step_millis), cluster_(num_tasks, &ObservedKernels()) {}

Status Runner::RunOnWorker(const tensorflow::GraphDef& graph) {
  Worker& worker = cluster_.worker();
  RegisterGraphArgs registration;
  registration.create_worker_session_called = false;
  registration.graph_def = graph;
  StatusOr<std::string> handle;
  worker.RegisterGraph({}, std::move(registration),
                       [&](StatusOr<std::string> given) { handle = std::move(given); });
  TFLEET_RETURN_IF_ERROR(handle.status());
  RunGraphArgs args;
  args.create_worker_session_called = false;
  args.graph_handle = *handle;
  args.step_id = ++worker_steps_;
  RunGraphResult result;
  CancellationManager cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  Status status;
  Notification done;
  worker.RunGraph(options, &args, &result, [&](Status ended) {
    status = std::move(ended);
    done.Notify();
  });
  if (!done.WaitFor(std::chrono::milliseconds(step_millis_))) {
    cancellation.StartCancel(DeadlineExceeded("the step took too long"));
    done.Wait();
  }
  worker.CleanupGraph({}, args.step_id, [](const Status&) {});
  tensorflow::DeregisterGraphRequest end;
  end.set_graph_handle(*handle);
  worker.DeregisterGraph({}, end, [](const Status&) {});
  return status;
}

void Runner::Run(const Case& made, const std::function<void(int)>& begin,
                 const std::function<void(int, const Outcome&)>& end) {
  tensorflow::ConfigProto config;
  config.set_isolate_session_state(true);
  config.set_operation_timeout_in_ms(step_millis_);
  if (made.number % 3 == 0) {
    config.mutable_graph_options()->mutable_optimizer_options()->set_opt_level(
        tensorflow::OptimizerOptions::L0);
  }
  Observed().Reset();
  begin(-1);
  MasterClient client(&cluster_.master(), nullptr, config);
  const Status opened = made.is_internal ? OkStatus() : client.Extend(made.graph);
  for (const std::string& target : made.first) {
    RunStepResult result;
    if (opened.ok() && !made.is_internal) {
      client.Run(Args({}, {target}, {}), &result).IgnoreError();
    }
  }
  for (size_t step = 0; step < made.steps.size(); ++step) {
    // Without feeds the first step may have folded the node.
    if (!made.steps[step].empty()) Observed().Reset();
    begin(static_cast<int>(step));
    const Clock::time_point start = Clock::now();
    RunStepResult result;
    Outcome outcome;
    if (made.is_internal) {
      outcome.status = RunOnWorker(made.graph);
    } else if (outcome.status = opened; opened.ok()) {
      outcome.status = client.Run(Args(made.fetches, made.targets, made.steps[step]), &result);
    }
    if (outcome.status.ok()) CheckFetches(result);
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    outcome.late_millis = std::max<int64_t>(0, took - step_millis_);
    outcome.reached = Observed().reached();
    outcome.complaint = Observed().complaint();
    // TensorFlow calls two live inputs of a Merge, and a fetch of what is dead, internal errors,
    // too.
    if (outcome.status.code() == absl::StatusCode::kInternal && outcome.complaint.empty() &&
        !absl::StrContains(outcome.status.message(), "more than one valid input") &&
        !absl::StrContains(outcome.status.message(), "was not valid")) {
      outcome.complaint = absl::StrCat("internal error: ", outcome.status.message());
    }
    end(static_cast<int>(step), outcome);
  }
}

}  // namespace tensorfleet::opfuzz
