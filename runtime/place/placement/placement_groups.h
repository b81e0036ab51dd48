// Which nodes must share a device, and what is asked of that device: the first half of placing.
// The second half, the rules of placement_rules.h, chooses one of the devices that satisfy this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/graph.h"
#include "runtime/place/placement/placer.h"

namespace tensorfleet {

// A bit for each type of device that the session has (see DeviceTable).
using DeviceTypeSet = uint32_t;

// The session's devices, indexed and sorted by name; an index into it stands for a device below.
class DeviceTable {
 public:
  // Errors: InvalidArgument for no device, a name that is not full, too many types, an unknown
  // client device.
  static StatusOr<DeviceTable> Make(const PlacementOptions& options);

  int size() const { return static_cast<int>(devices_.size()); }
  const DeviceAttributes& device(int i) const { return devices_[i]; }
  const std::vector<std::string>& types() const { return types_; }  // bit i stands for types()[i]
  DeviceTypeSet type_bit(int i) const { return type_bits_[i]; }
  // -1 when there is none of that full name.
  int Find(absl::string_view name) const;
  // Whether the device belongs to the task that unplaced nodes go to; with kAuto, unplaced state.
  bool is_default_task(int i) const { return is_default_task_[i]; }
  // Stands for the device's task: the first device of it.
  int task(int i) const { return task_[i]; }
  int client_device() const { return client_device_; }
  // "[ /job:a/…, /job:b/… ]", for errors.
  std::string ListNames() const;

 private:
  std::vector<DeviceAttributes> devices_;
  std::vector<std::string> types_;
  std::vector<DeviceTypeSet> type_bits_;
  std::vector<bool> is_default_task_;
  std::vector<int> task_;
  absl::flat_hash_map<std::string, int> index_;
  int client_device_ = -1;
};

struct PlacementGroup {
  std::vector<Node*> nodes;         // ascending ids
  DeviceName request;               // what all members' requests come to
  const Node* requester = nullptr;  // a member that asked; null when nobody did
  int fixed = -1;                   // device of a member that was placed before
  DeviceTypeSet types = 0;          // types of device that have a kernel for every member
  bool holds_state = false;         // that outlives the step: all sessions must find it
  // Whether a member could be on an accelerator only by running on its host: such a group does not
  // go there unless it has to.
  bool runs_on_host = false;
};

struct PlacementGroups {
  std::vector<PlacementGroup> groups;
  std::vector<int> group_of;  // by node id, -1 for ids that are not in use
};

// Errors: InvalidArgument for malformed device names, members that contradict each other (both are
// named), and ops without a kernel.
StatusOr<PlacementGroups> FindPlacementGroups(const Graph& graph, const DeviceTable& devices,
                                              const PlacementOptions& options);

}  // namespace tensorfleet
