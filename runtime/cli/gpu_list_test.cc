#include "runtime/cli/gpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(GpuList, EachGpuThatAnswersHasALine) {
  const std::vector<GpuInfo> gpus = ListGpus(TENSORFLEET_FAKE_NVML);
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(Describe(gpus[0]),
            "GPU 0: name: GeForce GTX 1080, compute capability: 6.1, clock rate (GHz): 1.797, pci "
            "bus id: 0000:84:00.0, total memory: 8.00 GiB, free memory: 6.00 GiB");
}

TEST(GpuList, WithoutADriverThereAreNone) {
  EXPECT_THAT(ListGpus("libno-such-driver.so.1"), IsEmpty());
}

TEST(GpuList, AnotherLibraryIsNoDriver) { EXPECT_THAT(ListGpus("libz.so.1"), IsEmpty()); }

}  // namespace
}  // namespace tensorfleet::cli
