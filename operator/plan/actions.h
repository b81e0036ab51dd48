// What is to be done about a job: the outcome of a reconcile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/api/tfjob_status.h"
#include "runtime/base/status.h"

namespace tensorfleet::plan {

enum class ActionKind : uint8_t {
  kCreatePod,
  kDeletePod,
  kCreateService,
  kDeleteService,
  kAdoptService,  // merge patch of metadata.ownerReferences
  kAdoptPod,      // merge patch of metadata.ownerReferences and our labels
  kCreatePodGroup,
  kUpdatePodGroup,  // merge patch of the spec
  kDeletePodGroup,
  kDeleteJob,  // the TFJob itself: its time to live is over
};
absl::string_view ActionKindName(ActionKind kind);

// The actions of a plan are independent of each other: they may run in any order and at the same
// time. Each is safe to repeat: a create that finds the name taken, or a delete that finds nothing,
// is done.
struct Action {
  ActionKind kind = ActionKind::kCreatePod;
  std::string name;
  std::string uid;     // deletes and patches: the precondition (metadata.uid); empty for creates
  std::string body;    // creates: the object as JSON; patches: the merge patch. Empty for deletes
  bool force = false;  // deletes: grace period 0
  // Deletes that are right only while the object is as it was seen: the precondition
  // metadata.resourceVersion. Empty: right whatever has become of it.
  std::string resource_version = {};
};

enum class EventType : uint8_t { kNormal, kWarning };

// About the TFJob. The recorder adds involvedObject, source and time.
struct Event {
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  bool operator==(const Event&) const = default;
};

// What to raise in training_operator_jobs_*_total and failed_pods_total once the status is written.
struct Counters {
  int created = 0;
  int succeeded = 0;
  int failed = 0;
  int restarted = 0;
  int failed_pods = 0;
  int deleted = 0;
};

enum class StatusWrite : uint8_t {
  kNone,  // `status` equals what is stored, and need not be sent
  // Counts, readiness or progress moved: may be held back by a second or so from the first time it
  // is asked for, so that the pods of one job becoming Running one by one cost one write.
  kSoon,
  kNow,  // together with the actions
  // Before the actions, and without them should the write fail: it records something that the
  // actions make unknowable afterwards (which pod is being replaced), or the actions are right only
  // for the job as it was seen. `status` may equal what is stored.
  kFirst,
};

struct Plan {
  std::vector<Action> actions;
  api::TFJobStatus status;  // complete, also when `status_write` is kNone
  StatusWrite status_write = StatusWrite::kNone;
  std::vector<Event> events;  // to be sent once the status is written
  Counters counters;          // likewise
  // Look again at this time even if nothing happens.
  std::optional<absl::Time> requeue_at;
  // The step that ended the pass, or empty when all ran: for logs and tests.
  absl::string_view stopped_by;
};

// The event that tells of an action's outcome ("SuccessfulCreatePod", "FailedDeletePod", ...);
// nothing for patches that succeeded.
std::optional<Event> EventFor(const Action& action, const Status& outcome);

}  // namespace tensorfleet::plan
