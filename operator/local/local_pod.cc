#include "operator/local/local_pod.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::local {
namespace {

using api::Json;
using api::PodPhase;

constexpr auto kLongestDelay = std::chrono::minutes(5);
// What a shell says of a program that it cannot run.
constexpr int kCannotStart = 127;

std::string NameOf(const Json& pod) { return api::StringMember(pod["metadata"], "name"); }

// "worker-0" of pod "job-worker-0", and "worker-0.tensorboard" for another container than ours.
std::string StreamName(const Json& pod, const std::string& container) {
  const std::string job = api::StringMember(pod["metadata"]["labels"], api::kJobNameLabel);
  const std::string name = NameOf(pod);
  const std::string short_name(absl::StripPrefix(name, job + "-"));
  return container == api::kContainerName ? short_name : absl::StrCat(short_name, ".", container);
}

}  // namespace

LocalPod::LocalPod(Json body, const std::string& uid, Time start, const Addresses* addresses,
                   const LocalPodOptions* options, Console* console)
    : body_(std::move(body)),
      name_(NameOf(body_)),
      addresses_(addresses),
      options_(options),
      console_(console),
      policy_(api::StringMember(body_["spec"], "restartPolicy")),
      progress_file_(absl::StrCat(options->progress_folder, "/", name_, ".json")),
      progress_(progress_file_),
      start_at_(start) {
  body_["metadata"]["uid"] = uid;
  body_["metadata"]["creationTimestamp"] = api::ToTimestamp(absl::Now());
  constexpr int64_t kLongestGrace = 24 * 3600;
  grace_ = std::chrono::seconds(
      api::IntMember(body_["spec"], "terminationGracePeriodSeconds", 0, kLongestGrace)
          .value_or(30));
  for (const bool is_init : {true, false}) {
    for (const Json& spec :
         api::ArrayMember(body_["spec"], is_init ? "initContainers" : "containers")) {
      Container container;
      container.spec = spec;
      container.name = api::StringMember(spec, "name");
      container.is_init = is_init;
      container.stream = StreamName(body_, container.name);
      containers_.push_back(std::move(container));
    }
  }
  std::error_code ignored;  // what an earlier run left
  std::filesystem::remove(progress_file_, ignored);
}

void LocalPod::Delete(Time now, bool force) {
  if (deleted_ && !force) return;
  deleted_ = true;
  for (Container& container : containers_) {
    container.restart_at.reset();
    if (container.process != nullptr && !force) container.process->Signal(SIGTERM);
  }
  kill_at_ = force ? now : now + grace_;
  Turn(now);
}

void LocalPod::Turn(Time now) {
  for (Container& container : containers_) {
    if (container.process == nullptr) continue;
    Read(container, now);
    Reap(container, now);
  }
  if (!deleted_) return StartWhatIsDue(now);
  if (!kill_at_ || now < *kill_at_) return;
  kill_at_.reset();
  for (Container& container : containers_) {
    if (container.process != nullptr) container.process->Kill();
  }
}

std::optional<LocalPod::Time> LocalPod::next_turn() const {
  std::optional<Time> next;
  const auto take = [&](const std::optional<Time>& time) {
    if (time && (!next || *time < *next)) next = time;
  };
  if (has_processes()) take(kill_at_);
  if (!deleted_) take(start_at_);
  for (const Container& container : containers_) take(container.restart_at);
  return next;
}

std::vector<int> LocalPod::outputs() const {
  std::vector<int> all;
  for (const Container& container : containers_) {
    if (container.process != nullptr && container.process->output() >= 0) {
      all.push_back(container.process->output());
    }
  }
  return all;
}

bool LocalPod::has_processes() const {
  return std::any_of(containers_.begin(), containers_.end(),
                     [](const Container& c) { return c.process != nullptr; });
}

void LocalPod::Read(Container& container, Time now) {
  std::string data;
  container.process->ReadOutput(&data);
  container.lines.Feed(data, [&](absl::string_view line) {
    if (container.name == api::kContainerName) progress_.OnLine(line, now);
    console_->Line(container.stream, line);
  });
}

void LocalPod::Reap(Container& container, Time now) {
  if (!container.process->Reap()) return;
  Read(container, now);  // what came between the last look and the end
  container.lines.Finish([&](absl::string_view line) { console_->Line(container.stream, line); });
  const int code = container.process->exit_code();
  container.process.reset();
  Ended(container, code, now);
}

void LocalPod::Ended(Container& container, int exit_code, Time now) {
  container.exit_code = exit_code;
  if (deleted_ || !IsRestarted(container)) return;
  auto delay = std::chrono::nanoseconds(0);
  if (container.restarts > 0) {
    delay = options_->restart_delay;
    for (int i = 1; i < container.restarts && delay < kLongestDelay; ++i) delay *= 2;
    delay = std::min<std::chrono::nanoseconds>(delay, kLongestDelay);
  }
  container.restart_at = now + delay;
  console_->Note(absl::StrCat(
      container.stream, " exited with code ", exit_code, ", restarting",
      delay.count() == 0 ? "" : absl::StrCat(" in ", delay / std::chrono::seconds(1), " s")));
}

// An init container that has done its work is done for good.
bool LocalPod::IsRestarted(const Container& container) const {
  if (policy_ == "Always") return !container.is_init || *container.exit_code != 0;
  return policy_ == "OnFailure" && *container.exit_code != 0;
}

void LocalPod::Start(Container& container, Time now) {
  container.restart_at.reset();
  if (container.exit_code) {
    ++container.restarts;
    console_->Line(container.stream, absl::StrCat("--- restart ", container.restarts, " ---"));
  }
  container.exit_code.reset();
  container.reason.clear();
  container.message.clear();
  if (!volumes_) volumes_ = MakeVolumes(body_, options_->volumes);
  Status status = volumes_->status();
  if (status.ok()) {
    const StatusOr<Command> command = CommandFor(body_, container.spec, **volumes_, *addresses_,
                                                 progress_file_, options_->commands);
    status = command.status();
    if (status.ok()) {
      StatusOr<std::unique_ptr<Process>> process = Process::Start(*command);
      status = process.status();
      if (process.ok()) container.process = *std::move(process);
    }
  }
  if (status.ok()) return;
  container.reason = "StartError";
  container.message = std::string(status.message());
  console_->Line(container.stream, absl::StrCat("cannot start: ", status.message()));
  Ended(container, kCannotStart, now);
}

void LocalPod::StartWhatIsDue(Time now) {
  if (start_at_ && now < *start_at_) return;
  start_at_.reset();
  for (Container& container : containers_) {
    const bool fresh = container.process == nullptr && !container.exit_code;
    const bool due = container.restart_at && now >= *container.restart_at;
    if (fresh || due) Start(container, now);
    // The next one waits for an init container's success.
    if (container.is_init && container.exit_code != 0) return;
  }
}

PodPhase LocalPod::phase() const {
  bool started = false, ended = true, failed = false;
  for (const Container& container : containers_) {
    const bool is_over = container.exit_code && !container.restart_at;
    if (container.is_init) {
      if (is_over && *container.exit_code != 0) return PodPhase::kFailed;
      continue;
    }
    started = started || container.process != nullptr || container.exit_code;
    ended = ended && is_over;
    failed = failed || (is_over && *container.exit_code != 0);
  }
  if (!started) return PodPhase::kPending;
  if (!ended) return PodPhase::kRunning;
  return failed ? PodPhase::kFailed : PodPhase::kSucceeded;
}

Json LocalPod::StatusOf(const Container& container) const {
  Json state = Json::object();
  if (container.process != nullptr) {
    state["running"] = Json::object();
  } else if (container.restart_at) {
    state["waiting"] = {{"reason", "CrashLoopBackOff"}};
  } else if (container.exit_code) {
    const int code = *container.exit_code;
    const char* reason = code == 0 ? "Completed" : "Error";
    state["terminated"] = {{"exitCode", code},
                           {"reason", container.reason.empty() ? reason : container.reason},
                           {"message", container.message}};
  }
  return {{"name", container.name}, {"restartCount", container.restarts}, {"state", state}};
}

StatusOr<api::Pod> LocalPod::Observe() const {
  Json object = {{"metadata", body_["metadata"]}};
  if (deleted_) object["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z";
  if (const std::string progress = progress_.Annotation(); !progress.empty()) {
    object["metadata"]["annotations"][api::kProgressAnnotation] = progress;
  }
  const PodPhase now = phase();
  Json& status = object["status"];
  status["phase"] = std::string(api::PodPhaseName(now));
  bool is_ready = now == PodPhase::kRunning;
  for (const Container& container : containers_) {
    if (!container.is_init) is_ready = is_ready && container.process != nullptr;
    status[container.is_init ? "initContainerStatuses" : "containerStatuses"].push_back(
        StatusOf(container));
  }
  status["conditions"] =
      Json::array({{{"type", "Ready"}, {"status", is_ready ? "True" : "False"}}});
  return api::PodFromJson(object);
}

}  // namespace tensorfleet::local
