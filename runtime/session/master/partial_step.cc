#include "runtime/session/master/partial_step.h"

#include <algorithm>

#include "runtime/session/master/instalment.h"
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

}  // namespace

Status PartialStep::Take(const RunStepArgs& args, bool* is_last) {
  const Signature& signature = graph->signature();
  MutexLock lock(&mu);
  if (is_over) return InvalidArgument("Must run PartialRunSetup before performing partial runs");
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
  partial->handle = absl::StrCat(next_partial_++);
  partial_[partial->handle] = partial;
  ++ServerMetrics().partial_runs;
  return partial->handle;
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
  // Before anything is taken: a call that is refused may be made again.
  Status status = EnterStep();
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  bool is_last = false;
  status = partial->Take(*args, &is_last);
  if (!status.ok()) {
    done(std::move(status));
    LeaveStep();
    return;
  }
  std::make_shared<Instalment>(shared_from_this(), std::move(partial), is_last, std::move(done))
      ->Start(call, args, result);
}

void MasterSession::EndPartial(const std::shared_ptr<PartialStep>& partial) {
  {
    MutexLock lock(&mu_);
    ServerMetrics().partial_runs -= static_cast<int64_t>(partial_.erase(partial->handle));
  }
  {
    MutexLock lock(&partial->mu);
    partial->is_over = true;
  }
  CleanUpPartial(*partial);
}

void MasterSession::CleanUpPartial(PartialStep& partial) {
  {
    MutexLock lock(&partial.mu);
    if (!partial.is_over || partial.calls_under_way > 0 || partial.is_cleaned_up) return;
    partial.is_cleaned_up = true;
  }
  if (partial.session_token >= 0) closing_->TryDeregister(partial.session_token);
  for (const PreparedGraph::Part& part : partial.graph->parts()) {
    part.task->worker->CleanupGraph({}, partial.step_id, [](Status) {});
  }
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
