// DeviceAttributes as a message, and back.
#pragma once

#include <string>
#include <vector>

#include "proto/device.pb.h"
#include "runtime/device/device.h"

namespace tensorfleet {

// How a worker of ours describes its CPUs to other tasks (Worker::GetStatus); TensorFlow's says
// nothing of a CPU. What only our workers can do is asked only of those who say this.
inline constexpr char kOurCpu[] = "tensorfleet";
bool IsOurServer(const std::vector<DeviceAttributes>& devices);

void DeviceAttributesToProto(const DeviceAttributes& attributes,
                             tensorflow::DeviceAttributes* proto);
// Errors: InvalidArgument for a name that is not a full device name.
StatusOr<DeviceAttributes> DeviceAttributesFromProto(const tensorflow::DeviceAttributes& proto);
// The same device when its task is called `task`.
DeviceAttributes Renamed(const DeviceAttributes& attributes, absl::string_view task);

}  // namespace tensorfleet
