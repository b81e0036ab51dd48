#include "runtime/session/master/instalment.h"

#include <chrono>
#include <utility>

#include "runtime/base/random_id.h"
#include "runtime/session/master/step_run.h"

namespace tensorfleet {

Instalment::Instalment(std::shared_ptr<MasterSession> session, std::shared_ptr<PartialStep> partial,
                       bool is_last, MasterSession::Done done)
    : session_(std::move(session)),
      partial_(std::move(partial)),
      is_last_(is_last),
      done_(std::move(done)) {}

std::string Instalment::KeyOf(const std::string& tensor) const {
  const SessionGraph::Options& graph = session_->options_.graph;
  const std::string& client = graph.placement.client_device;
  return MakeRendezvousKey(client, graph.client_incarnation, client, tensor);
}

void Instalment::FillCalls() {
  const std::vector<PreparedGraph::Part>& parts = partial_->graph->parts();
  calls_.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    RunGraphArgs& part = calls_[i].args;
    part.session_handle = session_->handle();
    part.graph_handle = parts[i].registration->handle();
    part.step_id = partial_->step_id;
    part.is_partial = true;
    part.is_last_partial_run = is_last_;
    part.request_id = parts[i].task->is_local ? 0 : static_cast<int64_t>(RandomNonZero64());
    if (!parts[i].task->is_local) continue;
    for (NamedTensor& feed : args_->feeds) {
      part.sends.push_back({KeyOf(feed.name), std::move(feed.tensor)});
    }
    for (const std::string& fetch : args_->fetches) part.recv_keys.push_back(KeyOf(fetch));
  }
}

void Instalment::WatchForCancellation(const CallOptions& call) {
  caller_ = call.cancellation;
  if (caller_ != nullptr) {
    caller_token_ = caller_->Register([self = shared_from_this()] {
      self->partial_->cancellation.StartCancel(self->caller_->status());
    });
    if (caller_token_ < 0) partial_->cancellation.StartCancel(caller_->status());
  }
  const auto deadline =
      StepDeadline::In(std::chrono::milliseconds(args_->options.timeout_in_ms()), call.timeout);
  TimerQueue* const timers = session_->options_.timers;
  if (deadline.is_set() && timers != nullptr) {
    timer_ = timers->RunAt(deadline.at, [partial = partial_, deadline] {
      partial->cancellation.StartCancel(deadline.Error());
    });
  }
  token_ = partial_->cancellation.Register([self = shared_from_this()] { self->AnswerSoon(); });
  if (token_ < 0) AnswerSoon();
}

void Instalment::AnswerSoon() {
  if (session_->options_.timers == nullptr) return;
  session_->options_.timers->RunAfter(StepRun::kGrace, [self = shared_from_this()] {
    if (self->is_answered_) return;
    const CancellationManager& cancellation = self->partial_->cancellation;
    self->Answer(self->errors_.ok() ? cancellation.status()
                                    : WithCancellationCause(self->errors_.Merged(), cancellation));
  });
}

void Instalment::Answer(Status status) {
  if (is_answered_.exchange(true)) return;
  // Whoever called may be gone as soon as it has its answer.
  if (caller_token_ >= 0) caller_->TryDeregister(caller_token_);
  if (status.ok()) status = TakeFetches();
  result_->has_metadata = is_last_;
  // Before the caller hears of it and may come again.
  if (is_last_ || !status.ok()) session_->EndPartial(partial_);
  MasterSession::Done done = std::move(done_);
  done(std::move(status));
}

void Instalment::Start(const CallOptions& call, RunStepArgs* args, RunStepResult* result) {
  args_ = args;
  result_ = result;
  FillCalls();
  const std::shared_ptr<Instalment> self = shared_from_this();
  pending_.store(calls_.size() + 1, std::memory_order_relaxed);
  WatchForCancellation(call);
  for (size_t i = 0; i < calls_.size(); ++i) RunPart(i);
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
}

void Instalment::RunPart(size_t i) {
  CallOptions options;
  options.cancellation = &partial_->cancellation;
  partial_->graph->parts()[i].task->worker->RunGraph(
      options, &calls_[i].args, &calls_[i].result,
      [self = shared_from_this(), i](Status status) { self->PartDone(i, std::move(status)); });
}

void Instalment::PartDone(size_t i, Status status) {
  CancellationManager& cancellation = partial_->cancellation;
  if (status.code() == absl::StatusCode::kCancelled && cancellation.is_cancelled()) {
    status = MarkDerived(std::move(status));
  }
  status = Prefixed(absl::StrCat("From ", partial_->graph->parts()[i].task->name, ":\n"), status);
  if (errors_.Add(status)) cancellation.StartCancel(MarkDerived(std::move(status)));
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
}

void Instalment::Finish() {
  if (token_ >= 0) partial_->cancellation.TryDeregister(token_);
  if (timer_ != 0) session_->options_.timers->Cancel(timer_);
  Answer(WithCancellationCause(errors_.Merged(), partial_->cancellation));
  {
    MutexLock lock(&partial_->mu);
    --partial_->calls_under_way;
  }
  session_->CleanUpPartial(*partial_);
  session_->LeaveStep();
}

Status Instalment::TakeFetches() {
  const std::vector<PreparedGraph::Part>& parts = partial_->graph->parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].task->is_local) continue;
    RunGraphResult& local = calls_[i].result;
    for (size_t k = 0; k < local.recvs.size(); ++k) {
      if (local.recv_is_dead[k]) {
        return InvalidArgument("The tensor returned for ", args_->fetches[k], " was not valid.");
      }
      result_->fetches.push_back({args_->fetches[k], std::move(local.recvs[k].tensor)});
    }
  }
  return OkStatus();
}

}  // namespace tensorfleet
