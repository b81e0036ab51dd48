#include "runtime/session/master/step_run.h"

#include <chrono>
#include <utility>

#include "runtime/base/random_id.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int64_t NewStepId() {
  return static_cast<int64_t>(RandomNonZero64() & ((uint64_t{1} << 56) - 1)) | 1;
}

Status WithCancellationCause(Status merged, const CancellationManager& cancellation) {
  if (merged.ok() || !cancellation.is_cancelled()) return merged;
  const Status cause = cancellation.status();
  // A step that is cancelled because of its own error has that error as the cause, marked as
  // derived.
  return IsDerived(merged) && !IsDerived(cause) ? cause : merged;
}

StepRun::StepRun(std::shared_ptr<MasterSession> session, std::shared_ptr<PreparedGraph> graph,
                 MasterSession::Done done)
    : session_(std::move(session)), graph_(std::move(graph)), done_(std::move(done)) {}

StepRun::~StepRun() = default;

Status StepRun::CheckFeeds() const {
  const std::vector<DType>& types = graph_->feed_types();
  if (feeds.size() != types.size()) {
    return InvalidArgument("the graph takes ", types.size(), " fed tensors, but ", feeds.size(),
                           " were given");
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].dtype() == types[i]) continue;
    const StatusOr<TensorName> name = ParseTensorName(graph_->signature().feeds[i]);
    return Internal("Output 0 of type ", DTypeName(feeds[i].dtype()),
                    " does not match declared output type ", DTypeName(types[i]),
                    " for node {{node _recv_", name.ok() ? name->node : "", "_",
                    name.ok() ? name->index : 0, "}}");
  }
  return OkStatus();
}

void StepRun::WatchForCancellation(const CallOptions& call, const StepDeadline& deadline) {
  caller_ = call.cancellation;
  caller_waits_ = call.caller_waits;
  if (caller_ != nullptr) {
    caller_token_ =
        caller_->Register([self = shared_from_this()] { self->GiveUp(self->caller_->status()); });
    if (caller_token_ < 0) cancellation_.StartCancel(caller_->status());
  }
  session_token_ = session_->closing_->Register(
      [self = shared_from_this()] { self->GiveUp(self->session_->closing_->status()); });
  if (session_token_ < 0) cancellation_.StartCancel(session_->closing_->status());
  if (deadline.is_set() && session_->options_.timers != nullptr) {
    timer_ = session_->options_.timers->RunAt(
        deadline.at, [self = shared_from_this(), deadline] { self->GiveUp(deadline.Error()); });
  }
}

void StepRun::GiveUp(const Status& why) {
  cancellation_.StartCancel(why);
  if (session_->options_.timers == nullptr) return;
  session_->options_.timers->RunAfter(kGrace, [self = shared_from_this()] {
    if (self->is_answered_) return;
    self->Answer(self->errors_.ok()
                     ? self->cancellation_.status()
                     : WithCancellationCause(self->errors_.Merged(), self->cancellation_));
  });
}

void StepRun::Answer(Status status) {
  if (is_answered_.exchange(true)) return;
  // Whoever called may be gone as soon as it has its answer.
  if (caller_token_ >= 0) caller_->TryDeregister(caller_token_);
  MasterSession::Done done = std::move(done_);
  done(std::move(status));
}

void StepRun::Start(const CallOptions& call, const tensorflow::RunOptions& options,
                    const StepDeadline& deadline) {
  start_nanos_ = SteadyNanos();
  if (Status status = CheckFeeds(); !status.ok()) {
    done_(std::move(status));
    return;
  }
  if (Status status = session_->EnterStep(); !status.ok()) {
    done_(std::move(status));
    return;
  }
  fetches.resize(graph_->fetch_types().size());
  frame_.args = absl::MakeSpan(feeds);
  frame_.results = absl::MakeSpan(fetches);
  const int64_t named_key = options.experimental().collective_graph_key();
  collective_graph_key_ = named_key != 0 ? named_key : graph_->collective_graph_key();
  WatchForCancellation(call, deadline);
  if (collective_graph_key_ == 0) {
    step_id_ = NewStepId();
    return Launch(options);
  }
  CallOptions ask;
  ask.cancellation = &cancellation_;
  session_->NextCollectiveStep(
      collective_graph_key_, ask,
      [self = shared_from_this(), options = options](const StatusOr<int64_t>& id) {
        if (id.ok()) {
          self->step_id_ = *id;
          return self->Launch(options);
        }
        self->errors_.Add(id.status());
        self->Finish();
      });
}

void StepRun::Launch(const tensorflow::RunOptions& options) {
  const std::vector<PreparedGraph::Part>& parts = graph_->parts();
  is_traced_ = options.trace_level() > tensorflow::RunOptions::NO_TRACE;
  calls_.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    RunGraphArgs& args = calls_[i].args;
    args.session_handle = session_->handle();
    args.graph_handle = parts[i].registration->handle();
    args.step_id = step_id_;
    args.record_timeline = is_traced_;
    args.record_partition_graphs = options.output_partition_graphs();
    if (parts[i].task->is_local) {
      args.frame = &frame_;
      // A trace shows transfers as they are without the short cut.
      if (!is_traced_) args.awaited_keys = &graph_->awaited_keys();
    } else {
      args.request_id = static_cast<int64_t>(RandomNonZero64());
      if (!is_traced_) args.recv_keys = parts[i].reply_keys;
    }
  }
  // This task's own part comes last: it runs on this thread.
  pending_.store(parts.size() + 1, std::memory_order_relaxed);
  const std::shared_ptr<StepRun> self = shared_from_this();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].task->is_local) RunPart(i);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].task->is_local) RunPart(i);
  }
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
}

void StepRun::RunPart(size_t i) {
  CallOptions options;
  options.cancellation = &cancellation_;
  options.caller_waits = caller_waits_;
  graph_->parts()[i].task->worker->RunGraph(
      options, &calls_[i].args, &calls_[i].result,
      [self = shared_from_this(), i](Status status) { self->PartDone(i, std::move(status)); });
}

void StepRun::PartDone(size_t i, Status status) {
  const SessionTask& task = *graph_->parts()[i].task;
  if (status.ok()) {
    for (NamedTensor& recv : calls_[i].result.recvs) {
      session_->options_.worker->DeliverToStep(step_id_, recv.name, std::move(recv.tensor));
    }
  } else {
    if (status.code() == absl::StatusCode::kCancelled && cancellation_.is_cancelled()) {
      status = MarkDerived(std::move(status));
    }
    if (session_->options_.name_tasks_in_errors) {
      status = Prefixed(absl::StrCat("From ", task.name, ":\n"), status);
    }
    // A failure elsewhere also names what it kept from the client, in the form that clients look
    // nodes up by.
    const std::vector<std::string>& fetches = graph_->signature().fetches;
    if (!task.is_local && !fetches.empty()) {
      status = Suffixed(status, absl::StrCat("\n\t [[{{node ",
                                             fetches[0].substr(0, fetches[0].rfind(':')), "}}]]"));
    }
    if (errors_.Add(status)) cancellation_.StartCancel(MarkDerived(std::move(status)));
  }
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
}

void StepRun::Finish() {
  if (session_token_ >= 0) session_->closing_->TryDeregister(session_token_);
  if (timer_ != 0) session_->options_.timers->Cancel(timer_);
  Status status = WithCancellationCause(errors_.Merged(), cancellation_);
  if (collective_graph_key_ != 0 && step_id_ != 0) {
    session_->options_.worker->step_sequences()->Over(session_->options_.collective_leader,
                                                      collective_graph_key_, step_id_, status.ok());
  }
  if (status.ok()) status = CheckFetches();
  if (status.ok()) FillMetadata();
  Metrics& metrics = ServerMetrics();
  metrics.step_seconds.Observe(SteadyNanos() - start_nanos_);
  if (!status.ok()) ++metrics.steps_failed;
  Answer(std::move(status));
  CleanUp();
  session_->LeaveStep();
}

// A fetched value that the graph did not compute, as a branch's that was not taken, is an error:
// the client asked for a tensor.
Status StepRun::CheckFetches() const {
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (fetches[i].is_valid()) continue;
    Status status = Internal("Failed to fetch outputs for step ", step_id_,
                             ". (Original error message: The tensor returned for ",
                             graph_->signature().fetches[i], " was not valid.)");
    if (!session_->options_.name_tasks_in_errors) return status;
    return Prefixed(absl::StrCat("From ", session_->options_.worker->task(), ":\n"), status);
  }
  return OkStatus();
}

void StepRun::FillMetadata() {
  for (PartCall& call : calls_) {
    for (auto& device : *call.result.step_stats.mutable_dev_stats()) {
      metadata.mutable_step_stats()->add_dev_stats()->Swap(&device);
    }
    for (tensorflow::GraphDef& graph : call.result.partition_graphs) {
      metadata.add_partition_graphs()->Swap(&graph);
    }
  }
}

// After the reply: nobody waits for it.
void StepRun::CleanUp() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].result.step_is_over) continue;
    graph_->parts()[i].task->worker->CleanupGraph({}, step_id_, [](Status) {});
  }
}

}  // namespace tensorfleet
