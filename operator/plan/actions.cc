#include "operator/plan/actions.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet::plan {
namespace {

struct Words {
  const char* verb;    // Create, Delete
  const char* done;    // Created, Deleted
  const char* failed;  // creating, deleting
  const char* kind;    // in reasons: Pod
  const char* noun;    // in messages: pod
};

Words WordsOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCreatePod:
      return {"Create", "Created", "creating", "Pod", "pod"};
    case ActionKind::kDeletePod:
      return {"Delete", "Deleted", "deleting", "Pod", "pod"};
    case ActionKind::kCreateService:
      return {"Create", "Created", "creating", "Service", "service"};
    case ActionKind::kDeleteService:
      return {"Delete", "Deleted", "deleting", "Service", "service"};
    case ActionKind::kAdoptService:
      return {"Adopt", "Adopted", "adopting", "Service", "service"};
    case ActionKind::kAdoptPod:
      return {"Adopt", "Adopted", "adopting", "Pod", "pod"};
    case ActionKind::kCreatePodGroup:
      return {"Create", "Created", "creating", "PodGroup", "PodGroup"};
    case ActionKind::kUpdatePodGroup:
      return {"Update", "Updated", "updating", "PodGroup", "PodGroup"};
    case ActionKind::kDeletePodGroup:
      return {"Delete", "Deleted", "deleting", "PodGroup", "PodGroup"};
    case ActionKind::kDeleteJob:
      return {"Delete", "Deleted", "deleting", "Job", "job"};
  }
  return {"", "", "", "", ""};
}

}  // namespace

absl::string_view ActionKindName(ActionKind kind) {
  constexpr const char* kNames[] = {
      "CreatePod", "DeletePod",      "CreateService",  "DeleteService",  "AdoptService",
      "AdoptPod",  "CreatePodGroup", "UpdatePodGroup", "DeletePodGroup", "DeleteJob"};
  return kNames[static_cast<int>(kind)];
}

std::optional<Event> EventFor(const Action& action, const Status& outcome) {
  const Words words = WordsOf(action.kind);
  if (!outcome.ok()) {
    return Event{EventType::kWarning, absl::StrCat("Failed", words.verb, words.kind),
                 absl::StrCat("Error ", words.failed, ": ", outcome.message())};
  }
  if (action.kind == ActionKind::kAdoptService || action.kind == ActionKind::kAdoptPod ||
      action.kind == ActionKind::kUpdatePodGroup || action.kind == ActionKind::kCreatePodGroup) {
    return std::nullopt;
  }
  return Event{EventType::kNormal, absl::StrCat("Successful", words.verb, words.kind),
               absl::StrCat(words.done, " ", words.noun, ": ", action.name)};
}

}  // namespace tensorfleet::plan
