// DeviceAttributes as a message, and back.
#pragma once

#include "proto/device.pb.h"
#include "runtime/device/device.h"

namespace tensorfleet {

void DeviceAttributesToProto(const DeviceAttributes& attributes,
                             tensorflow::DeviceAttributes* proto);
// Errors: InvalidArgument for a name that is not a full device name.
StatusOr<DeviceAttributes> DeviceAttributesFromProto(const tensorflow::DeviceAttributes& proto);
// The same device when its task is called `task`.
DeviceAttributes Renamed(const DeviceAttributes& attributes, absl::string_view task);

}  // namespace tensorfleet
