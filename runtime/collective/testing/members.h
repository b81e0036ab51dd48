// Devices and groups for tests of collectives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/collective/group.h"

namespace tensorfleet::collective {

inline std::string DeviceName(int task, int id) {
  return absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:", id);
}

inline DeviceAttributes DeviceOf(int task, int id, uint64_t incarnation = 1) {
  DeviceAttributes device;
  device.name = DeviceName(task, id);
  device.type = "CPU";
  device.incarnation = incarnation;
  device.parsed = tensorfleet::DeviceName::Parse(device.name).value();
  return device;
}

// Tasks and numbers of devices.
inline GroupRef GroupOf(const std::vector<std::pair<int, int>>& devices) {
  std::vector<DeviceAttributes> attributes;
  for (const auto& [task, id] : devices) attributes.push_back(DeviceOf(task, id));
  return MakeGroup(1, "CPU", "one", std::move(attributes)).value();
}

}  // namespace tensorfleet::collective
