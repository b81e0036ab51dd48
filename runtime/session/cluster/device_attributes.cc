#include "runtime/session/cluster/device_attributes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tensorfleet {

bool IsOurServer(const std::vector<DeviceAttributes>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const DeviceAttributes& device) {
    return device.type == "CPU" && device.description == kOurCpu;
  });
}

void DeviceAttributesToProto(const DeviceAttributes& attributes,
                             tensorflow::DeviceAttributes* proto) {
  proto->set_name(attributes.name);
  proto->set_device_type(attributes.type);
  proto->set_memory_limit(attributes.memory_limit);
  proto->mutable_locality();
  proto->set_incarnation(attributes.incarnation);
  proto->set_physical_device_desc(attributes.description);
  proto->set_xla_global_id(-1);
}

StatusOr<DeviceAttributes> DeviceAttributesFromProto(const tensorflow::DeviceAttributes& proto) {
  DeviceAttributes attributes;
  TFLEET_ASSIGN_OR_RETURN(attributes.parsed, DeviceName::Parse(proto.name()));
  if (!attributes.parsed.is_full()) {
    return InvalidArgument("'", proto.name(), "' is not the full name of a device");
  }
  if (proto.device_type() != *attributes.parsed.type) {
    return InvalidArgument("the device '", proto.name(), "' says that it is of the type '",
                           proto.device_type(), "'");
  }
  attributes.name = proto.name();
  attributes.type = proto.device_type();
  attributes.memory_limit = proto.memory_limit();
  attributes.incarnation = proto.incarnation();
  attributes.description = proto.physical_device_desc();
  return attributes;
}

DeviceAttributes Renamed(const DeviceAttributes& attributes, absl::string_view task) {
  DeviceAttributes renamed = attributes;
  renamed.name =
      absl::StrCat(task, "/device:", attributes.type, ":", attributes.parsed.id.value_or(0));
  renamed.parsed = DeviceName::Parse(renamed.name).value();
  return renamed;
}

}  // namespace tensorfleet
