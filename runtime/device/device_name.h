// Device names: "/job:ps/replica:0/task:0/device:CPU:0" in full; any part may be left open in a
// request, and the old spellings "/cpu:0", "/gpu:1" and "/device:CPU:*" are understood (facts:
// tf-protocol.md, B.1).
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case for the types we know: "CPU", "GPU"
  std::optional<int> id;

  // Errors: InvalidArgument with the text and the part that could not be read.
  static StatusOr<DeviceName> Parse(absl::string_view text);
  // A task's name: "/job:ps/replica:0/task:0".
  static DeviceName Task(absl::string_view job, int task);

  // Only the parts that are set, in canonical order.
  std::string ToString() const;
  // "/job:ps/replica:0/task:0"; job and task must be set.
  std::string TaskString() const;

  bool is_full() const { return job && replica && task && type && id; }
  bool has_nothing() const { return !job && !replica && !task && !type && !id; }
  // Every part that both set is equal.
  bool IsCompatibleWith(const DeviceName& other) const;
  // Every part that this one sets is set to the same in `full`.
  bool Matches(const DeviceName& full) const;
  bool IsSameTask(const DeviceName& other) const {
    return job == other.job && replica == other.replica && task == other.task;
  }
  // Takes over parts of `other` that are open here. Errors: InvalidArgument when a part
  // contradicts.
  Status MergeFrom(const DeviceName& other);
  // Parts that `over` sets replace those here.
  void OverrideWith(const DeviceName& over);

  friend bool operator==(const DeviceName& a, const DeviceName& b) {
    return a.job == b.job && a.replica == b.replica && a.task == b.task && a.type == b.type &&
           a.id == b.id;
  }
};

}  // namespace tensorfleet
