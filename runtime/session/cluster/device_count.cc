#include "runtime/session/cluster/device_count.h"

#include "runtime/device/cpu_devices.h"

namespace tensorfleet {

StatusOr<int> CpuDevicesIn(const tensorflow::ConfigProto& config) {
  const auto found = config.device_count().find("CPU");
  if (found == config.device_count().end()) return 1;
  if (found->second >= 1 && found->second <= kMaxCpuDevices) return found->second;
  return InvalidArgument("device_count of CPU must be between 1 and ", kMaxCpuDevices, ", not ",
                         found->second);
}

}  // namespace tensorfleet
