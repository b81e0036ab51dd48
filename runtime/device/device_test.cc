#include "runtime/device/device.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

class DeviceTest : public testing::Test {
 protected:
  DeviceSet Make() {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(MakeCpuDevice("/job:ps/replica:0/task:0", &pool_));
    return DeviceSet(std::move(devices));
  }
  ThreadPool pool_{"test", 1};
};

TEST_F(DeviceTest, IsFoundByFullAndByShortName) {
  const DeviceSet set = Make();
  EXPECT_TRUE(set.Find("/job:ps/replica:0/task:0/device:CPU:0").ok());
  EXPECT_TRUE(set.Find("/device:CPU:0").ok());
}

TEST_F(DeviceTest, AnUnknownOneIsNamed) {
  const DeviceSet set = Make();
  for (const char* name :
       {"/device:CPU:9", "/job:worker/replica:0/task:0/device:CPU:0", "rubbish", "/job:ps"}) {
    EXPECT_EQ(set.Find(name).status(), InvalidArgument(name, " unknown device."));
  }
}

TEST_F(DeviceTest, EveryStartHasAnotherIncarnation) {
  const uint64_t first = MakeCpuDevice("/job:a/replica:0/task:0", &pool_)->attributes().incarnation;
  const uint64_t second =
      MakeCpuDevice("/job:a/replica:0/task:0", &pool_)->attributes().incarnation;
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace tensorfleet
