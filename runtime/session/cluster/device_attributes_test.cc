#include "runtime/session/cluster/device_attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

tensorflow::DeviceAttributes Device(const std::string& name, const std::string& type) {
  tensorflow::DeviceAttributes proto;
  proto.set_name(name);
  proto.set_device_type(type);
  return proto;
}

TEST(DeviceAttributes, ADeviceOfAPeerIsKnownByTheSessionsNames) {
  const auto device =
      DeviceAttributesFromProto(Device("/job:ps/replica:0/task:1/device:GPU:2", "GPU"));
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(Renamed(*device, "/job:w/replica:0/task:0").name,
            "/job:w/replica:0/task:0/device:GPU:2");
}

TEST(DeviceAttributes, WhatAPeerSaysOfItselfIsChecked) {
  for (const auto& [name, type] : std::vector<std::pair<std::string, std::string>>{
           {"", "CPU"},
           {"/device:CPU:0", "CPU"},
           {"/job:ps/replica:0/task:1/device:CPU:0", "GPU"},
           {"/job:ps/replica:0/task:1/device:CPU:0", "C/P:U"},
           {"/job:ps/replica:0/task:1/device:CPU:0", ""}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DeviceAttributesFromProto(Device(name, type)).status()))
        << name << " " << type;
  }
}

}  // namespace
}  // namespace tensorfleet
