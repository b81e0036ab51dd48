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
#include "absl/strings/str_join.h"
#include "operator/api/conditions.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::local {
namespace {

using nlohmann::json;
using plan::ActionKind;

// Progress files are looked at, and the status is drawn, at least this often.
constexpr auto kTick = std::chrono::seconds(1);

// Often enough to look alive, seldom enough to cost nothing.
constexpr auto kDrawing = std::chrono::milliseconds(100);

// In which replicas are shown: whoever leads first.
constexpr api::ReplicaType kOrder[] = {api::ReplicaType::kChief, api::ReplicaType::kMaster,
                                       api::ReplicaType::kWorker, api::ReplicaType::kPs,
                                       api::ReplicaType::kEvaluator};

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
    case ActionKind::kAdoptPod:
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
  Notice();  // also of the last words of those that go
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

void Runner::Notice() {
  // Whose accuracy is shown: the evaluator's, else that of whoever speaks of one.
  const std::vector<double>* said = nullptr;
  for (const auto& [name, pod] : pods_) {
    const StatusOr<api::Pod> seen = pod->Observe();
    if (!seen.ok() || !seen->meta.replica) continue;
    const api::ReplicaId id = *seen->meta.replica;
    ReplicaRow& row = rows_[id];
    const Progress& progress = pod->progress();
    // A pod that is told to end because the job is over has not failed by that.
    if (!seen->meta.is_terminating()) {
      row.state = std::string(api::PodPhaseName(seen->phase));
      row.exit_code = seen->exit_code;
    }
    row.restarts = seen->restart_count + seen->attempt + seen->job_attempt;
    if (progress.step()) row.step = progress.step();
    if (progress.loss()) row.loss = progress.loss();
    row.steps_per_second = progress.steps_per_second();
    if (progress.accuracy().empty()) continue;
    if (said == nullptr || id.type == api::ReplicaType::kEvaluator) said = &progress.accuracy();
  }
  if (said != nullptr && *said != accuracy_) accuracy_ = *said;
}

JobView Runner::View() const {
  JobView view;
  view.name = job_->name;
  const auto& conditions = job_->status.conditions;
  view.state = conditions.empty() ? "Starting" : conditions.back().type;
  if (stopped_by_ != 0 && !job_->is_finished()) view.state = "Stopped";
  if (const api::Condition* failed = job_->status.Find(api::kFailed); failed && failed->is_true)
    view.reason = failed->message;
  const bool is_over = job_->is_finished() || stopped_by_ != 0;
  view.elapsed = Elapsed(Now() - begin_);
  view.restarts = job_->status.restarts;
  for (const api::ReplicaType type : kOrder) {
    const api::ReplicaSpec* spec = job_->spec.Find(type);
    for (int index = 0; spec != nullptr && index < spec->replicas; ++index) {
      const auto row = rows_.find({type, index});
      view.replicas.push_back(row == rows_.end() ? ReplicaRow() : row->second);
      ReplicaRow& shown = view.replicas.back();
      shown.name = absl::StrCat(api::LowerName(type), "-", index);
      if (shown.state.empty()) shown.state = "Waiting";
      const bool ran = shown.state == "Running" || shown.state == "Pending";
      if (is_over && ran && pods_.count(api::ReplicaName(job_->name, {type, index})) == 0)
        shown.state = "Ended";
    }
  }
  view.accuracy = accuracy_;
  return view;
}

std::string Runner::StatusText() const {
  constexpr size_t kOtherLines = 3;  // title, heading, accuracy
  const size_t room = console_->MaxStatusLines();
  return absl::StrJoin(TableOf(View(), room > kOtherLines ? room - kOtherLines : 1), "\n");
}

StatusOr<int> Runner::Run() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&wanted, signal);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const int signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return Internal("signalfd: ", strerror(errno));
  bool ending = false;
  Time next_look_at_progress = Now(), next_drawing = Now();
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
    if (Now() >= next_drawing) {
      console_->SetStatus(StatusText());
      next_drawing = Now() + kDrawing;
    }
    console_->Flush();
    Wait(signals);
  }
  close(signals);
  console_->ClearStatus();
  if (stopped_by_ != 0) return 128 + stopped_by_;
  return job_->status.IsTrue(api::kSucceeded) ? 0 : 1;
}

}  // namespace tensorfleet::local
