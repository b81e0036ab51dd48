#include "runtime/collective/group.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tensorfleet::collective {

int Group::RankOf(absl::string_view device) const {
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].device.name == device) return static_cast<int>(i);
  }
  return -1;
}

StatusOr<GroupRef> MakeGroup(int32_t key, std::string device_type, std::string communicator_key,
                             std::vector<DeviceAttributes> devices) {
  auto group = std::make_shared<Group>();
  group->key = key;
  group->device_type = std::move(device_type);
  group->communicator_key = std::move(communicator_key);
  for (DeviceAttributes& device : devices) {
    if (!device.parsed.is_full()) {
      return InvalidArgument("'", device.name, "' in the collective group ", key,
                             " is not the full name of a device");
    }
    std::string task = device.parsed.TaskString();
    group->members.push_back({std::move(device), std::move(task)});
  }
  const auto order = [](const Member& member) {
    return std::tie(member.task, *member.device.parsed.type, *member.device.parsed.id);
  };
  std::sort(group->members.begin(), group->members.end(),
            [&](const Member& a, const Member& b) { return order(a) < order(b); });
  for (size_t i = 0; i < group->members.size(); ++i) {
    const Member& member = group->members[i];
    const Member* const before = i == 0 ? nullptr : &group->members[i - 1];
    if (before != nullptr && order(*before) == order(member)) {
      return InvalidArgument("the collective group ", key, " has the device ", member.device.name,
                             " twice");
    }
    if (before == nullptr || before->task != member.task) group->task_sizes.push_back(0);
    ++group->task_sizes.back();
  }
  return GroupRef(std::move(group));
}

}  // namespace tensorfleet::collective
