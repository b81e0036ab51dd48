#include "runtime/kernels/rendezvous.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(RendezvousKey, IsFormedAndReadAsTensorFlowDoes) {
  const std::string text =
      MakeRendezvousKey("/job:ps/replica:0/task:0/device:CPU:0", 0x5828b1bd06ed3f3c,
                        "/job:worker/replica:0/task:0/device:CPU:0", "edge_6_v/read");
  EXPECT_EQ(text,
            "/job:ps/replica:0/task:0/device:CPU:0;5828b1bd06ed3f3c;"
            "/job:worker/replica:0/task:0/device:CPU:0;edge_6_v/read;0:0");
  const RendezvousKey key = *RendezvousKey::Parse(text);
  EXPECT_EQ(key.src_incarnation, 0x5828b1bd06ed3f3cu);
  EXPECT_EQ(key.tensor_name, "edge_6_v/read");
}

TEST(RendezvousKey, TakesUnpaddedHexAndLoopPositions) {
  const RendezvousKey key = *RendezvousKey::Parse("a;1f;b;t;18186195969791715286:7");
  EXPECT_EQ(key.src_incarnation, 0x1fu);
  EXPECT_EQ(key.frame, 18186195969791715286u);
  EXPECT_EQ(key.iteration, 7u);
}

class BadKeys : public testing::TestWithParam<const char*> {};
TEST_P(BadKeys, AreRefusedWithTheText) {
  EXPECT_EQ(RendezvousKey::Parse(GetParam()).status(),
            InvalidArgument("Invalid  rendezvous key: ", GetParam()));
}
INSTANTIATE_TEST_SUITE_P(RendezvousKey, BadKeys,
                         testing::Values("", "abc", "a;1;b;t", "a;x;b;t;0:0", "a;1;b;t;0",
                                         "a;1;b;t;0:-1", "a;1;b;t;0:0;more", ";1;b;t;0:0",
                                         "a;11111111111111111;b;t;0:0"));

}  // namespace
}  // namespace tensorfleet
