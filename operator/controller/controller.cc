#include "operator/controller/controller.h"

#include <pthread.h>

#include "operator/api/objects/labels.h"
#include "runtime/base/log.h"

namespace tensorfleet::controller {
namespace {

using plan::StatusWrite;

// What we write ourselves comes back from the watch as no news. A pass that changed something is
// followed by another, which sees the change; the pause keeps two writers that undo each other from
// spinning.
constexpr auto kNextPass = std::chrono::milliseconds(20);

// Pods take longest to become useful: so many are asked for before all else, so that they do not
// share the API server's processors with everything that a job needs besides.
constexpr size_t kFirstWave = 4;

// A job whose namespace is going away is looked at again now and then, not in a loop.
constexpr auto kNamespaceGoingRetry = std::chrono::seconds(30);

k8s::WorkQueue::Options QueueOptions(Observer* observer) {
  k8s::WorkQueue::Options options;
  options.on_taken = [observer](std::chrono::nanoseconds waited) { observer->OnTaken(waited); };
  return options;
}

k8s::WorkQueue::Urgency UrgencyOf(Informers::News news) {
  using Urgency = k8s::WorkQueue::Urgency;
  switch (news) {
    case Informers::News::kNewJob:
      return Urgency::kNew;
    case Informers::News::kReplay:
      return Urgency::kBackground;
    case Informers::News::kChange:
      break;
  }
  return Urgency::kNormal;
}

}  // namespace

Controller::Controller(k8s::Client* client, k8s::EventRecorder* events, const Clock* clock,
                       ControllerOptions options, Observer* observer)
    : events_(events),
      clock_(clock),
      options_(std::move(options)),
      observer_(observer == nullptr ? &no_observer_ : observer),
      queue_(clock, QueueOptions(observer_)),
      informers_(client, options_.informers,
                 [this](absl::string_view ns, absl::string_view name, Informers::News news) {
                   queue_.Add(absl::StrCat(ns, "/", name), UrgencyOf(news));
                 }),
      applier_(client, &informers_, options_.informers.pod_group_api_version),
      runner_(options_.parallel_requests) {}

Controller::~Controller() { Stop(); }

void Controller::StartInformers() { informers_.Start(); }

Status Controller::StartWorkers(CancellationManager* cancel) {
  const auto begin = std::chrono::steady_clock::now();
  auto complain = begin + std::chrono::seconds(10);
  while (!informers_.has_synced()) {
    TFLEET_RETURN_IF_ERROR(k8s::SleepFor(std::chrono::milliseconds(5), cancel));
    if (std::chrono::steady_clock::now() > complain) {
      LogWarning("still listing what is there; are the CRD and the role installed?");
      complain += std::chrono::seconds(30);
    }
  }
  LogInfo("reconciling", {{"jobs", informers_.jobs().size()},
                          {"pods", informers_.pods().size()},
                          {"services", informers_.services().size()},
                          {"threads", options_.threads}});
  Move();
  works_ = true;
  for (int i = 0; i < options_.threads; ++i) {
    workers_.emplace_back([this] { Work(); });
    pthread_setname_np(workers_.back().native_handle(), "reconcile");
  }
  return OkStatus();
}

void Controller::Stop() {
  works_ = false;
  queue_.ShutDown();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  informers_.Stop();
}

void Controller::Work() {
  while (const std::optional<std::string> key = queue_.Get()) {
    busy_++;
    Move();
    Reconcile(*key);
    busy_--;
    queue_.Done(*key);
    Move();
  }
}

std::chrono::nanoseconds Controller::standing_still() const {
  if (!works_ || (busy_ == 0 && queue_.depth() == 0)) return std::chrono::nanoseconds(0);
  const int64_t now = clock_->NowSteady().time_since_epoch().count();
  return std::chrono::steady_clock::duration(std::max<int64_t>(0, now - last_move_));
}

bool Controller::MayWriteNow(const std::string& key, StatusWrite wish) {
  MutexLock lock(&mu_);
  if (wish != StatusWrite::kSoon) {
    held_since_.erase(key);
    return true;
  }
  const auto now = clock_->NowSteady();
  const auto due = held_since_.emplace(key, now).first->second + options_.status_delay;
  if (now >= due) {
    held_since_.erase(key);
    return true;
  }
  queue_.AddAfter(key, due - now);
  return false;
}

std::optional<plan::Snapshot> Controller::Look(const std::string& key) {
  const size_t slash = key.find('/');
  const std::string ns = key.substr(0, slash), name = key.substr(slash + 1);
  plan::Snapshot seen;
  seen.job = informers_.jobs().Find(ns, name);
  if (seen.job == nullptr) return std::nullopt;
  seen.pods = informers_.pods().Group(ns, name);
  seen.services = informers_.services().Group(ns, name);
  if (!options_.informers.pod_group_api_version.empty()) {
    seen.pod_group = informers_.pod_groups().Find(ns, name);
  }
  seen.now = absl::FromUnixNanos(clock_->NowUnixNanos());
  return seen;
}

void Controller::Outcome::Note(const Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return;
  MutexLock lock(&mu);
  if (k8s::IsNamespaceTerminating(status)) {
    namespace_is_going = true;
  } else if (failure.ok()) {
    failure = status;
  }
}

void Controller::CarryOut(const std::string& key, const api::TFJob& job, const plan::Plan& todo,
                          Outcome& out) {
  const bool write = todo.status_write != StatusWrite::kNone && MayWriteNow(key, todo.status_write);
  out.is_status_stored = todo.status_write == StatusWrite::kNone;
  const auto write_status = [&, this] {
    const Status status = WriteStatus(job, todo);
    out.has_written = out.is_status_stored = status.ok();
    out.Note(status);
  };
  if (todo.status_write == StatusWrite::kFirst) {
    write_status();
    if (!out.is_status_stored) return;
  }
  std::vector<ParallelRunner::Task> first, tasks;
  tasks.reserve(todo.actions.size() + 1);
  for (const plan::Action& action : todo.actions) {
    const bool is_first = action.kind == plan::ActionKind::kCreatePod && first.size() < kFirstWave;
    (is_first ? first : tasks).push_back([&, this] { out.Note(ApplyAction(job, action)); });
  }
  runner_.Run(std::move(first));
  if (write && !out.is_status_stored) tasks.push_back(write_status);
  runner_.Run(std::move(tasks));
}

Observer::Result Controller::ComeBack(const std::string& key, const plan::Plan& todo,
                                      const Outcome& out) {
  if (!out.failure.ok()) {
    // A conflict is an everyday matter: somebody else changed the object, and the cache has that
    // already.
    if (k8s::IsConflict(out.failure)) {
      LogDebug("job has changed meanwhile", {{"job", key}});
    } else {
      LogWarning("reconcile failed", {{"job", key}, {"error", out.failure.message()}});
    }
    queue_.AddRateLimited(key);
    // A deadline holds, however long the pause before the next attempt has become.
    if (todo.requeue_at) {
      const absl::Duration left = *todo.requeue_at - absl::FromUnixNanos(clock_->NowUnixNanos());
      if (left > absl::ZeroDuration()) queue_.AddAfter(key, absl::ToChronoNanoseconds(left));
    }
    return Observer::Result::kError;
  }
  queue_.Forget(key);
  if (out.namespace_is_going) {
    queue_.AddAfter(key, kNamespaceGoingRetry);
  } else if (!todo.actions.empty() || out.has_written) {
    queue_.AddAfter(key, kNextPass);
  }
  if (!todo.requeue_at) return Observer::Result::kSuccess;
  const absl::Duration wait = *todo.requeue_at - absl::FromUnixNanos(clock_->NowUnixNanos());
  queue_.AddAfter(key, std::max(std::chrono::nanoseconds(0), absl::ToChronoNanoseconds(wait)));
  return Observer::Result::kRequeueAfter;
}

void Controller::Reconcile(const std::string& key) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<plan::Snapshot> seen = Look(key);
  if (!seen) {
    queue_.Forget(key);
    MutexLock lock(&mu_);
    held_since_.erase(key);
    return;
  }
  const api::TFJob& job = *seen->job;
  const plan::Plan todo = plan::Reconcile(*seen, options_.plan);
  Outcome out;
  CarryOut(key, job, todo, out);
  if (out.is_status_stored) {
    for (const plan::Event& event : todo.events) Announce(job, event);
    plan::Counters counters = todo.counters;
    if (!out.failure.ok()) counters.deleted = 0;  // it will be tried again
    observer_->OnCounters(job.namespace_, counters);
  }
  const Observer::Result result = ComeBack(key, todo, out);
  observer_->OnReconciled(result, std::chrono::steady_clock::now() - begin);
}

Status Controller::ApplyAction(const api::TFJob& job, const plan::Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> warnings;
  const Status status = applier_.Apply(job, action, &warnings);
  Move();
  // Of what was stored all the same: fields that will go, values that hide others.
  for (const std::string& warning : warnings) {
    Announce(job, {plan::EventType::kWarning, api::kApiWarningReason,
                   absl::StrCat(action.name, ": ", warning)});
  }
  observer_->OnAction(action.kind, status.ok(), std::chrono::steady_clock::now() - begin);
  // Not worth telling the user: we are stopping, or it will have worked in a moment.
  if (absl::IsCancelled(status) || absl::IsAborted(status) || k8s::IsNamespaceTerminating(status))
    return status;
  if (const auto event = plan::EventFor(action, status)) Announce(job, *event);
  return status;
}

Status Controller::WriteStatus(const api::TFJob& job, const plan::Plan& todo) {
  const Status status = applier_.WriteStatus(job, todo.status);
  observer_->OnStatusWrite(status.ok());
  Move();
  return status.ok() ? status : Prefixed("status: ", status);
}

k8s::ObjectReference Controller::ReferenceTo(const api::TFJob& job) const {
  return {api::kApiVersion, api::kKind, job.namespace_, job.name, job.uid, job.resource_version};
}

void Controller::Announce(const api::TFJob& job, const plan::Event& event) {
  events_->Record(ReferenceTo(job), event.type == plan::EventType::kWarning ? "Warning" : "Normal",
                  event.reason, event.message);
}

}  // namespace tensorfleet::controller
