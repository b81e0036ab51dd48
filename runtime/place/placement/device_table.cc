#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "runtime/place/placement/placement_groups.h"

namespace tensorfleet {
namespace {

constexpr size_t kMaxDeviceTypes = 32;

bool NameOrder(const DeviceAttributes& a, const DeviceAttributes& b) {
  const DeviceName &x = a.parsed, &y = b.parsed;
  return std::tie(x.job, x.replica, x.task, x.type, x.id) <
         std::tie(y.job, y.replica, y.task, y.type, y.id);
}

}  // namespace

StatusOr<DeviceTable> DeviceTable::Make(const PlacementOptions& options) {
  DeviceTable table;
  table.devices_ = options.devices;
  for (DeviceAttributes& device : table.devices_) {
    TFLEET_ASSIGN_OR_RETURN(device.parsed, DeviceName::Parse(device.name));
    if (!device.parsed.is_full()) {
      return InvalidArgument("device '", device.name, "' has no full name");
    }
  }
  std::sort(table.devices_.begin(), table.devices_.end(), NameOrder);
  for (const DeviceAttributes& device : table.devices_) {
    auto it = std::find(table.types_.begin(), table.types_.end(), device.type);
    if (it == table.types_.end()) it = table.types_.insert(it, device.type);
    if (table.types_.size() > kMaxDeviceTypes) {
      return InvalidArgument("more than ", kMaxDeviceTypes, " types of device");
    }
    table.type_bits_.push_back(DeviceTypeSet{1} << (it - table.types_.begin()));
  }
  for (int i = 0; i < table.size(); ++i) table.index_.emplace(table.devices_[i].name, i);
  table.client_device_ = table.Find(options.client_device);
  if (table.client_device_ < 0) {
    return InvalidArgument("the client device '", options.client_device,
                           "' is not among the available devices ", table.ListNames());
  }
  DeviceName task_zero = DeviceName::Task(options.first_job, 0);
  const bool has_task_zero =
      options.default_placement != DefaultPlacement::kMasterTask &&
      std::any_of(table.devices_.begin(), table.devices_.end(),
                  [&](const DeviceAttributes& d) { return task_zero.Matches(d.parsed); });
  if (!has_task_zero) {
    task_zero = table.devices_[table.client_device_].parsed;
    task_zero.type.reset();
    task_zero.id.reset();
  }
  for (const DeviceAttributes& device : table.devices_) {
    table.is_default_task_.push_back(task_zero.Matches(device.parsed));
    const int i = static_cast<int>(table.task_.size());  // devices of a task stand together
    const bool same = i > 0 && table.devices_[i - 1].parsed.IsSameTask(device.parsed);
    table.task_.push_back(same ? table.task_[i - 1] : i);
  }
  return table;
}

int DeviceTable::Find(absl::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? -1 : it->second;
}

std::string DeviceTable::ListNames() const {
  return absl::StrCat("[ ",
                      absl::StrJoin(devices_, ", ",
                                    [](std::string* out, const DeviceAttributes& device) {
                                      out->append(device.name);
                                    }),
                      " ]");
}

}  // namespace tensorfleet
