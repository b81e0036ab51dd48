// Who runs a collective together: the devices that have joined under one key, in the order that all
// of them, TensorFlow's servers included, derive from the names. Immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"

namespace tensorfleet::collective {

struct Member {
  DeviceAttributes device;
  std::string task;  // "/job:worker/replica:0/task:0"
};

// What the communicator keys that our leaders give begin with.
inline constexpr char kOurKeyPrefix[] = "tensorfleet:";

struct Group {
  int32_t key = 0;
  std::string device_type;
  // Of this gathering of the members: another one has another, unless TensorFlow's server leads.
  std::string communicator_key;
  std::vector<Member> members;  // by rank
  std::vector<int> task_sizes;  // members of each task, in the order of the ranks
  int size() const { return static_cast<int>(members.size()); }
  // -1: not a member.
  int RankOf(absl::string_view device) const;
};
using GroupRef = std::shared_ptr<const Group>;

// Gives the members their ranks: tasks in the order of their names as text, the devices of a task
// in that of their type and number. Errors: InvalidArgument for a name that is not a full one, or
// one that comes twice.
StatusOr<GroupRef> MakeGroup(int32_t key, std::string device_type, std::string communicator_key,
                             std::vector<DeviceAttributes> devices);

}  // namespace tensorfleet::collective
