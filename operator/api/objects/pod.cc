#include "operator/api/objects/pod.h"

#include <array>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::api {
namespace {

constexpr std::array<const char*, 5> kPhaseNames = {"Unknown", "Pending", "Running", "Succeeded",
                                                    "Failed"};
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

PodPhase ParsePhase(const std::string& name) {
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    if (name == kPhaseNames[i]) return static_cast<PodPhase>(i);
  }
  return PodPhase::kUnknown;
}

int32_t CountOf(const Json& annotations, const char* key) {
  int32_t count = 0;
  if (!absl::SimpleAtoi(StringMember(annotations, key), &count) || count < 0) return 0;
  return count;
}

// Conditions that every healthy pod has.
bool IsEveryday(const std::string& type) {
  constexpr std::array<const char*, 5> kEveryday = {"Initialized", "Ready", "ContainersReady",
                                                    "PodScheduled", "PodReadyToStartContainers"};
  return absl::c_linear_search(kEveryday, type);
}

void ReadConditions(const Json& status, Pod& pod) {
  std::vector<std::string> others;
  for (const Json& condition : ArrayMember(status, "conditions")) {
    if (StringMember(condition, "status") != "True") continue;
    std::string type = StringMember(condition, "type");
    if (type == "Ready") pod.is_ready = true;
    if (!type.empty() && !IsEveryday(type)) others.push_back(std::move(type));
  }
  if (!others.empty()) {
    pod.true_conditions = std::make_shared<const std::vector<std::string>>(std::move(others));
  }
}

int64_t ReadContainers(const Json& status, const char* key, const std::string& pod_name,
                       std::vector<PodTrouble>& troubles) {
  int64_t restarts = 0;
  for (const Json& container : ArrayMember(status, key)) {
    restarts += IntMember(container, "restartCount", 0, kMaxInt32).value_or(0);
    const std::string name = StringMember(container, "name");
    const Json* state = ObjectMember(container, "state");
    if (state == nullptr) continue;
    if (const Json* ended = ObjectMember(*state, "terminated")) {
      const auto code = IntMember(*ended, "exitCode", -kMaxInt32, kMaxInt32).value_or(0);
      const std::string reason = StringMember(*ended, "reason");
      if (code == 0 || reason.empty()) continue;
      troubles.push_back(
          {reason, absl::StrCat("Error pod ", pod_name, " container ", name, " exitCode: ", code,
                                " terminated message: ", StringMember(*ended, "message"))});
    } else if (const Json* waiting = ObjectMember(*state, "waiting")) {
      const std::string reason = StringMember(*waiting, "reason");
      const std::string message = StringMember(*waiting, "message");
      if (message.empty() || reason.empty()) continue;
      troubles.push_back({reason, absl::StrCat("Error pod ", pod_name, " container ", name,
                                               " waiting message: ", message)});
    }
  }
  return restarts;
}

// A pod that has no containers yet says in a condition why not.
void ReadNewestUntrueCondition(const Json& status, const std::string& pod_name,
                               std::vector<PodTrouble>& troubles) {
  const Json* newest = nullptr;
  std::string newest_time;
  for (const Json& condition : ArrayMember(status, "conditions")) {
    std::string time = StringMember(condition, "lastTransitionTime");
    if (newest != nullptr && time < newest_time) continue;
    newest = &condition;
    newest_time = std::move(time);
  }
  if (newest == nullptr || StringMember(*newest, "status") == "True") return;
  std::string reason = StringMember(*newest, "reason");
  if (reason.empty()) return;
  troubles.push_back(
      {std::move(reason), absl::StrCat("Error pod ", pod_name,
                                       " condition message: ", StringMember(*newest, "message"))});
}

void ReadStatus(const Json& status, Pod& pod) {
  pod.phase = ParsePhase(StringMember(status, "phase"));
  pod.reason = StringMember(status, "reason");
  ReadConditions(status, pod);
  std::vector<PodTrouble> troubles;
  const int64_t restarts =
      ReadContainers(status, "initContainerStatuses", pod.meta.name, troubles) +
      ReadContainers(status, "containerStatuses", pod.meta.name, troubles);
  pod.restart_count = static_cast<int32_t>(std::min(restarts, kMaxInt32));
  if (ArrayMember(status, "containerStatuses").empty()) {
    ReadNewestUntrueCondition(status, pod.meta.name, troubles);
  }
  for (const Json& container : ArrayMember(status, "containerStatuses")) {
    if (StringMember(container, "name") != kContainerName) continue;
    const Json* state = ObjectMember(container, "state");
    const Json* ended = state == nullptr ? nullptr : ObjectMember(*state, "terminated");
    if (ended == nullptr) continue;
    if (auto code = IntMember(*ended, "exitCode", -kMaxInt32, kMaxInt32)) {
      pod.exit_code = static_cast<int32_t>(*code);
    }
  }
  // Finished and terminating pods are judged by their phase; nobody is told of their containers.
  if (!troubles.empty() && !pod.is_finished() && !pod.meta.is_terminating()) {
    pod.troubles = std::make_shared<const std::vector<PodTrouble>>(std::move(troubles));
  }
}

// When the container that trains ended, if it did.
std::optional<absl::Time> EndOfTraining(const Json& status) {
  for (const Json& container : ArrayMember(status, "containerStatuses")) {
    if (StringMember(container, "name") != kContainerName) continue;
    const Json* state = ObjectMember(container, "state");
    const Json* ended = state == nullptr ? nullptr : ObjectMember(*state, "terminated");
    if (ended != nullptr) return TimeMember(*ended, "finishedAt");
  }
  return std::nullopt;
}

// How far the clocks of nodes may be off: it must not decide who has done its work.
constexpr absl::Duration kClockMargin = absl::Minutes(1);

// True when the pod ended well only because it was told to end: its deletion was asked for first. A
// server that drains on SIGTERM and a trainer that saves a last checkpoint both leave with 0, and
// neither has done its work. The API server gives no grace to a pod that has ended, as far as it
// has heard; one that ended shortly before, by its node's clock, is run again rather than believed.
bool WasStopped(const Json& metadata, const Json& status, const Pod& pod) {
  if (pod.phase != PodPhase::kSucceeded || !pod.meta.deletion_time) return false;
  const int64_t grace = IntMember(metadata, "deletionGracePeriodSeconds", 0, kMaxInt32).value_or(0);
  if (grace == 0) return false;
  const absl::Time asked = *pod.meta.deletion_time - absl::Seconds(grace);
  const std::optional<absl::Time> ended = EndOfTraining(status);
  return !ended || *ended > asked - kClockMargin;
}

}  // namespace

absl::string_view PodPhaseName(PodPhase phase) { return kPhaseNames[static_cast<int>(phase)]; }

StatusOr<Pod> PodFromJson(const nlohmann::json& object) {
  Pod pod;
  TFLEET_ASSIGN_OR_RETURN(pod.meta, ChildMetaFromJson(object));
  const Json& metadata = object["metadata"];
  pod.creation_time = TimeMember(metadata, "creationTimestamp").value_or(absl::InfiniteFuture());
  if (const Json* annotations = ObjectMember(metadata, "annotations")) {
    pod.attempt = CountOf(*annotations, kAttemptAnnotation);
    pod.job_attempt = CountOf(*annotations, kJobAttemptAnnotation);
    pod.progress = StringMember(*annotations, kProgressAnnotation);
  }
  if (const Json* status = ObjectMember(object, "status")) {
    ReadStatus(*status, pod);
    if (WasStopped(metadata, *status, pod)) {
      pod.phase = PodPhase::kRunning;
      pod.exit_code.reset();
    }
  }
  return pod;
}

}  // namespace tensorfleet::api
