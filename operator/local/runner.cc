#include "operator/local/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "operator/api/conditions.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::local {
namespace {

using nlohmann::json;
using plan::ActionKind;

// Progress files are looked at, and the status line is drawn, this often.
constexpr auto kTick = std::chrono::seconds(1);

// Between the starts of a replica and of its replacement: making a pod takes a cluster a while too,
// and a program that ends at once must not keep this machine busy.
constexpr auto kReplaceDelay = std::chrono::seconds(1);

plan::Options PlanOptions() {
  plan::Options options;
  options.progress_interval = absl::ZeroDuration();
  return options;
}

LocalPod::Time Now() { return std::chrono::steady_clock::now(); }

std::string Elapsed(std::chrono::nanoseconds time) {
  const auto seconds = time / std::chrono::seconds(1);
  return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
}

}  // namespace

Runner::Runner(std::shared_ptr<const api::TFJob> job, Addresses addresses, LocalPodOptions options,
               Console* console)
    : addresses_(std::move(addresses)),
      options_(std::move(options)),
      plan_options_(PlanOptions()),
      console_(console),
      begin_(Now()),
      job_(std::move(job)) {}

plan::Snapshot Runner::Look() const {
  plan::Snapshot seen;
  seen.job = job_;
  seen.now = absl::Now();
  for (const auto& [name, pod] : pods_) {
    StatusOr<api::Pod> observed = pod->Observe();
    if (observed.ok()) seen.pods.push_back(std::make_shared<const api::Pod>(*std::move(observed)));
  }
  for (const auto& [name, service] : services_) seen.services.push_back(service);
  return seen;
}

void Runner::Store(const api::TFJobStatus& status) {
  for (const api::Condition& condition : status.conditions) {
    const api::Condition* old = job_->status.Find(condition.type);
    if (!condition.is_true || (old != nullptr && *old == condition)) continue;
    console_->Note(absl::StrCat(condition.type, ": ", condition.message));
  }
  auto changed = std::make_shared<api::TFJob>(*job_);
  changed->status = status;
  job_ = std::move(changed);
}

void Runner::Carry(const plan::Action& action) {
  switch (action.kind) {
    case ActionKind::kCreatePod: {
      const Time now = Now();
      Time& start = starts_.try_emplace(action.name, now - kReplaceDelay).first->second;
      start = std::max(now, start + kReplaceDelay);
      auto pod = std::make_unique<LocalPod>(json::parse(action.body), absl::StrCat(next_uid_++),
                                            start, &addresses_, &options_, console_);
      pod->Turn(now);
      pods_[action.name] = std::move(pod);
      return;
    }
    case ActionKind::kDeletePod:
      if (const auto pod = pods_.find(action.name); pod != pods_.end()) {
        pod->second->Delete(Now(), action.force);
      }
      return;
    case ActionKind::kCreateService: {
      json body = json::parse(action.body);
      body["metadata"]["uid"] = absl::StrCat(next_uid_++);
      if (StatusOr<api::Service> service = api::ServiceFromJson(body); service.ok()) {
        services_[action.name] = std::make_shared<const api::Service>(*std::move(service));
      }
      return;
    }
    case ActionKind::kDeleteService:
      services_.erase(action.name);
      return;
    // Nothing is adopted here, there are no gangs, and the job ends with this program.
    case ActionKind::kAdoptService:
    case ActionKind::kCreatePodGroup:
    case ActionKind::kUpdatePodGroup:
    case ActionKind::kDeletePodGroup:
    case ActionKind::kDeleteJob:
      return;
  }
}

void Runner::Reconcile() {
  // Each pass sees what the one before it did; the limit is for two rules that undo each other.
  for (int pass = 0; pass < 100; ++pass) {
    const plan::Plan todo = plan::Reconcile(Look(), plan_options_);
    look_again_ = todo.requeue_at;
    for (const plan::Event& event : todo.events) {
      if (event.type == plan::EventType::kWarning && event.reason != api::kRestartingReason &&
          event.reason != api::kFailedReason) {
        console_->Note(absl::StrCat(event.reason, ": ", event.message));
      }
    }
    const bool changed = !(todo.status == job_->status);
    if (changed) Store(todo.status);
    for (const plan::Action& action : todo.actions) Carry(action);
    TakeTurns();  // the name of what was deleted may be free already
    const bool acted = std::any_of(
        todo.actions.begin(), todo.actions.end(),
        [](const plan::Action& action) { return action.kind != ActionKind::kDeleteJob; });
    if (!changed && !acted) return;
  }
}

void Runner::TakeTurns() {
  for (auto& [name, pod] : pods_) pod->Turn(Now());
  for (auto it = pods_.begin(); it != pods_.end();) {
    it = it->second->is_gone() ? pods_.erase(it) : std::next(it);
  }
}

void Runner::EndAll(bool force) {
  for (auto& [name, pod] : pods_) pod->Delete(Now(), force);
}

void Runner::OnSignal(int signal) {
  const bool again = stopped_by_ != 0;
  if (!again) {
    stopped_by_ = signal;
    console_->Note("stopping (once more to stop at once)");
  }
  EndAll(/*force=*/again);
}

void Runner::Wait(int signals) {
  auto until = Now() + kTick;
  for (const auto& [name, pod] : pods_) {
    if (const auto turn = pod->next_turn()) until = std::min(until, *turn);
  }
  if (look_again_ && stopped_by_ == 0) {
    // The appointment may be further off than a clock can count.
    const absl::Duration wait = std::min(*look_again_ - absl::Now(), absl::FromChrono(kTick));
    until = std::min(until, Now() + absl::ToChronoNanoseconds(wait));
  }
  std::vector<pollfd> wanted = {{signals, POLLIN, 0}};
  for (const auto& [name, pod] : pods_) {
    for (const int output : pod->outputs()) wanted.push_back({output, POLLIN, 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Now()).count();
  (void)poll(wanted.data(), wanted.size(), static_cast<int>(std::max<int64_t>(left, 0)));
  signalfd_siginfo info;
  while (read(signals, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGCHLD) OnSignal(static_cast<int>(info.ssi_signo));
  }
}

const LocalPod* Runner::Chief() const {
  for (const api::ReplicaType type : {api::ReplicaType::kChief, api::ReplicaType::kMaster,
                                      api::ReplicaType::kWorker, api::ReplicaType::kPs}) {
    const auto pod = pods_.find(api::ReplicaName(job_->name, {type, 0}));
    if (pod != pods_.end()) return pod->second.get();
  }
  return nullptr;
}

std::string Runner::StatusText() const {
  const auto& conditions = job_->status.conditions;
  std::string text =
      absl::StrCat(" ", job_->name, "  ", conditions.empty() ? "Starting" : conditions.back().type);
  for (const auto& [type, replica] : job_->status.replica_statuses) {
    const api::ReplicaSpec* spec = job_->spec.Find(type);
    absl::StrAppend(&text, "  ", api::LowerName(type), " ", replica.active, "/",
                    spec == nullptr ? 0 : spec->replicas);
    if (replica.succeeded > 0) absl::StrAppend(&text, " (", replica.succeeded, " done)");
  }
  if (const LocalPod* chief = Chief()) {
    const Progress& progress = chief->progress();
    if (progress.step()) absl::StrAppend(&text, "  step ", *progress.step());
    if (progress.loss()) absl::StrAppend(&text, absl::StrFormat("  loss %.4g", *progress.loss()));
    if (progress.steps_per_second())
      absl::StrAppend(&text, absl::StrFormat("  %.3g steps/s", *progress.steps_per_second()));
  }
  if (job_->status.restarts > 0) absl::StrAppend(&text, "  restarts ", job_->status.restarts);
  return absl::StrCat(text, "  ", Elapsed(Now() - begin_), " ");
}

StatusOr<int> Runner::Run() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&wanted, signal);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const int signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return Internal("signalfd: ", strerror(errno));
  bool ending = false;
  Time next_look_at_progress = Now();
  while (true) {
    TakeTurns();
    if (Now() >= next_look_at_progress) {
      for (auto& [name, pod] : pods_) pod->progress().Refresh();
      next_look_at_progress = Now() + kTick;
    }
    if (stopped_by_ == 0) Reconcile();
    if ((job_->is_finished() || stopped_by_ != 0) && !ending) {
      ending = true;
      EndAll(/*force=*/false);
    }
    TakeTurns();
    if (ending && pods_.empty()) break;
    console_->SetStatus(StatusText());
    console_->Flush();
    Wait(signals);
  }
  close(signals);
  console_->ClearStatus();
  if (stopped_by_ != 0) return 128 + stopped_by_;
  return job_->status.IsTrue(api::kSucceeded) ? 0 : 1;
}

}  // namespace tensorfleet::local
