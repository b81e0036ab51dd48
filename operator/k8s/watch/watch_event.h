// One line of a watch: {"type": "ADDED", "object": {...}}.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type;
  absl::string_view object;  // JSON text inside the line
};

// Finds the two parts without parsing the object. `line` is untrusted and must outlive the result.
StatusOr<WatchEvent> SplitWatchEvent(absl::string_view line);

}  // namespace tensorfleet::k8s
