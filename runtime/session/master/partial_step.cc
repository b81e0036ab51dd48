#include "runtime/session/master/partial_step.h"

#include <algorithm>
#include <atomic>

#include "runtime/base/random_id.h"
#include "runtime/session/master/master_session.h"
#include "runtime/session/master/step_errors.h"
#include "runtime/session/master/step_run.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

// One instalment; kept alive by the calls to workers.
struct Instalment {
  std::shared_ptr<PartialStep> partial;
  RunStepArgs* args;
  RunStepResult* result;
  MasterSession::Done done;
  bool is_last = false;
  std::vector<int> fetches;
  struct PartCall {
    RunGraphArgs args;
    RunGraphResult result;
  };
  std::vector<PartCall> calls;
  int local = -1;
  std::atomic<size_t> pending{0};
  StepErrors errors;
  CancellationManager* caller = nullptr;
  CancellationManager::Token caller_token = -1;
  TimerQueue::Id timer = 0;
};

}  // namespace

Status PartialStep::Take(const RunStepArgs& args, std::vector<int>* feeds,
                         std::vector<int>* fetches, bool* is_last) {
  const Signature& signature = graph->signature();
  MutexLock lock(&mu);
  std::vector<bool> new_fed = fed, new_fetched = fetched;
  for (const NamedTensor& feed : args.feeds) {
    const int i = IndexOf(signature.feeds, feed.name);
    if (i < 0) {
      return InvalidArgument("The feed ", feed.name, " was not specified in partial_run_setup.");
    }
    if (new_fed[i]) return InvalidArgument("The feed ", feed.name, " has already been fed.");
    if (feed.tensor.dtype() != graph->feed_types()[i]) {
      return Internal("Output 0 of type ", DTypeName(feed.tensor.dtype()),
                      " does not match declared output type ", DTypeName(graph->feed_types()[i]),
                      " for the feed ", feed.name);
    }
    new_fed[i] = true;
    feeds->push_back(i);
  }
  for (const std::string& fetch : args.fetches) {
    const int i = IndexOf(signature.fetches, fetch);
    if (i < 0) {
      return InvalidArgument("The fetch ", fetch, " was not specified in partial_run_setup.");
    }
    if (new_fetched[i]) return InvalidArgument("The fetch ", fetch, " has already been fetched.");
    for (const int need : graph->fetch_needs()[i]) {
      if (!new_fed[need]) {
        return InvalidArgument("Fetch ", fetch,
                               " can't be computed from the feeds that have been fed so far.");
      }
    }
    new_fetched[i] = true;
    fetches->push_back(i);
  }
  fed = std::move(new_fed);
  fetched = std::move(new_fetched);
  ++calls_under_way;
  *is_last = std::find(fed.begin(), fed.end(), false) == fed.end() &&
             std::find(fetched.begin(), fetched.end(), false) == fetched.end();
  return OkStatus();
}

void MasterSession::PartialRunSetup(const CallOptions& call, const Signature& signature,
                                    DoneWith<std::string> done) {
  Signature sorted = signature;
  for (auto* names : {&sorted.feeds, &sorted.fetches, &sorted.targets}) {
    std::sort(names->begin(), names->end());
  }
  std::string key;
  std::shared_ptr<PreparedGraph> graph = Prepare(sorted, FeedStyle::kRendezvous, &key);
  auto args = WaitArgs(graph, call, StepDeadline::In(call.timeout, {}));
  WaitUntilPrepared(std::move(args), [self = shared_from_this(), graph = std::move(graph),
                                      done = std::move(done)](Status prepared) {
    if (prepared.ok()) {
      done(self->BeginPartial(graph));
    } else {
      done(std::move(prepared));
    }
  });
}

StatusOr<std::string> MasterSession::BeginPartial(std::shared_ptr<PreparedGraph> graph) {
  auto partial = std::make_shared<PartialStep>();
  partial->step_id = NewStepId();
  {
    MutexLock lock(&partial->mu);
    partial->fed.resize(graph->signature().feeds.size());
    partial->fetched.resize(graph->signature().fetches.size());
  }
  partial->graph = std::move(graph);
  partial->session_token = closing_->Register(
      [partial, end = closing_.get()] { partial->cancellation.StartCancel(end->status()); });
  if (partial->session_token < 0) return ClosedError();
  MutexLock lock(&mu_);
  if (closed_) return ClosedError();
  std::string partial_handle = absl::StrCat(next_partial_++);
  partial_[partial_handle] = std::move(partial);
  ++ServerMetrics().partial_runs;
  return partial_handle;
}

void MasterSession::RunPartial(const CallOptions& call, RunStepArgs* args, RunStepResult* result,
                               Done done) {
  std::shared_ptr<PartialStep> partial;
  {
    MutexLock lock(&mu_);
    const auto it = partial_.find(args->partial_run_handle);
    if (it != partial_.end()) partial = it->second;
  }
  if (partial == nullptr) {
    done(InvalidArgument("Must run PartialRunSetup before performing partial runs"));
    return;
  }
  if (!args->targets.empty()) {
    done(InvalidArgument("Partial runs do not take targets after PartialRunSetup"));
    return;
  }
  auto run = std::make_shared<Instalment>();
  run->partial = partial;
  run->args = args;
  run->result = result;
  std::vector<int> feeds;
  // Before anything is taken: a call that is refused may be made again.
  Status status = EnterStep();
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  status = partial->Take(*args, &feeds, &run->fetches, &run->is_last);
  if (!status.ok()) {
    done(std::move(status));
    LeaveStep();
    return;
  }
  const auto self = shared_from_this();
  run->done = std::move(done);
  run->caller = call.cancellation;
  if (run->caller != nullptr) {
    run->caller_token = run->caller->Register(
        [partial, caller = run->caller] { partial->cancellation.StartCancel(caller->status()); });
  }
  const auto deadline =
      StepDeadline::In(std::chrono::milliseconds(args->options.timeout_in_ms()), call.timeout);
  if (deadline.is_set() && options_.timers != nullptr) {
    run->timer = options_.timers->RunAt(
        deadline.at, [partial, deadline] { partial->cancellation.StartCancel(deadline.Error()); });
  }
  const auto& parts = partial->graph->parts();
  run->calls.resize(parts.size());
  run->pending = parts.size() + 1;
  const auto key_of = [&](const std::string& tensor) {
    const Options& o = self->options_;
    const std::string& client = o.graph.placement.client_device;
    return MakeRendezvousKey(client, o.graph.client_incarnation, client, tensor);
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    RunGraphArgs& part = run->calls[i].args;
    part.session_handle = self->handle();
    part.graph_handle = parts[i].registration->handle();
    part.step_id = partial->step_id;
    part.is_partial = true;
    part.is_last_partial_run = run->is_last;
    part.request_id = parts[i].task->is_local ? 0 : static_cast<int64_t>(RandomNonZero64());
    if (!parts[i].task->is_local) continue;
    run->local = static_cast<int>(i);
    for (NamedTensor& feed : args->feeds) {
      part.sends.push_back({key_of(feed.name), std::move(feed.tensor)});
    }
    for (const std::string& fetch : args->fetches) part.recv_keys.push_back(key_of(fetch));
  }
  const auto over = [self, run, partial_handle = args->partial_run_handle] {
    const std::shared_ptr<PartialStep>& p = run->partial;
    if (run->caller_token >= 0) run->caller->TryDeregister(run->caller_token);
    if (run->timer != 0) self->options_.timers->Cancel(run->timer);
    Status merged = WithCancellationCause(run->errors.Merged(), p->cancellation);
    RunStepResult* out = run->result;
    if (merged.ok() && run->local >= 0) {
      RunGraphResult& local = run->calls[run->local].result;
      for (size_t i = 0; i < local.recvs.size(); ++i) {
        if (local.recv_is_dead[i]) {
          merged =
              InvalidArgument("The tensor returned for ", run->args->fetches[i], " was not valid.");
        }
        out->fetches.push_back({run->args->fetches[i], std::move(local.recvs[i].tensor)});
      }
    }
    out->has_metadata = run->is_last;
    const bool is_over = run->is_last || !merged.ok();
    if (is_over) {  // before the caller hears of it and may come again
      MutexLock lock(&self->mu_);
      ServerMetrics().partial_runs -= static_cast<int64_t>(self->partial_.erase(partial_handle));
    }
    run->done(std::move(merged));
    bool was_last_call = false;
    {
      MutexLock lock(&p->mu);
      p->is_over |= is_over;
      was_last_call = --p->calls_under_way == 0 && p->is_over;
    }
    if (was_last_call) {
      if (p->session_token >= 0) self->closing_->TryDeregister(p->session_token);
      for (const PreparedGraph::Part& part : p->graph->parts()) {
        part.task->worker->CleanupGraph({}, p->step_id, [](Status) {});
      }
    }
    self->LeaveStep();
  };
  const auto one_less = [run, over] {
    if (run->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) over();
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    CallOptions options;
    options.cancellation = &partial->cancellation;
    const SessionTask* task = parts[i].task;
    task->worker->RunGraph(
        options, &run->calls[i].args, &run->calls[i].result,
        [run, task, one_less](Status part_status) {
          CancellationManager& cancel = run->partial->cancellation;
          if (part_status.code() == absl::StatusCode::kCancelled && cancel.is_cancelled()) {
            part_status = MarkDerived(std::move(part_status));
          }
          part_status = Prefixed(absl::StrCat("From ", task->name, ":\n"), part_status);
          if (run->errors.Add(part_status)) {
            cancel.StartCancel(MarkDerived(std::move(part_status)));
          }
          one_less();
        });
  }
  one_less();
}

// What clients left unfinished.
void MasterSession::DropPartialSteps() {
  absl::flat_hash_map<std::string, std::shared_ptr<PartialStep>> partial;
  {
    MutexLock lock(&mu_);
    partial.swap(partial_);
  }
  ServerMetrics().partial_runs -= static_cast<int64_t>(partial.size());
  for (const auto& [name, step] : partial) {
    step->cancellation.StartCancel(closing_->status());
    for (const PreparedGraph::Part& part : step->graph->parts()) {
      part.task->worker->CleanupGraph({}, step->step_id, [](Status) {});
    }
  }
}

}  // namespace tensorfleet
