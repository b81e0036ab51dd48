#include "runtime/device/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(DeviceName, AFullNameReadsBack) {
  const DeviceName name = *DeviceName::Parse("/job:ps/replica:0/task:3/device:CPU:0");
  EXPECT_TRUE(name.is_full());
  EXPECT_EQ(name.ToString(), "/job:ps/replica:0/task:3/device:CPU:0");
  EXPECT_EQ(name.TaskString(), "/job:ps/replica:0/task:3");
}

struct Spelling {
  const char* text;
  const char* canonical;
};
class Spellings : public testing::TestWithParam<Spelling> {};
TEST_P(Spellings, AreUnderstood) {
  EXPECT_EQ(DeviceName::Parse(GetParam().text)->ToString(), GetParam().canonical);
}
INSTANTIATE_TEST_SUITE_P(
    DeviceName, Spellings,
    testing::Values(Spelling{"", ""}, Spelling{"/cpu:0", "/device:CPU:0"},
                    Spelling{"/GPU:1", "/device:GPU:1"}, Spelling{"/device:CPU:*", "/device:CPU:*"},
                    Spelling{"/device:cpu:0", "/device:CPU:0"},
                    Spelling{"/job:ps/task:0", "/job:ps/task:0"},
                    Spelling{"/job:worker/task:1/cpu:1", "/job:worker/task:1/device:CPU:1"},
                    Spelling{"/job:*/task:*", ""},
                    Spelling{"/device:MY_TPU:0", "/device:MY_TPU:0"}));

class BadNames : public testing::TestWithParam<const char*> {};
TEST_P(BadNames, AreRefusedWithTheirText) {
  const Status status = DeviceName::Parse(GetParam()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(DeviceName, BadNames,
                         testing::Values("job:ps", "/job:", "/job:1x", "/task:-1", "/task:x",
                                         "/cpu:", "/device:", "/nonsense", "/job:ps//task:0",
                                         "/task:99999999999"));

TEST(DeviceName, OpenPartsFitEverything) {
  const DeviceName full = *DeviceName::Parse("/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_TRUE(DeviceName::Parse("/job:ps")->Matches(full));
  EXPECT_FALSE(DeviceName::Parse("/job:ps/task:1")->Matches(full));
  EXPECT_TRUE(DeviceName::Parse("/task:0")->IsCompatibleWith(*DeviceName::Parse("/job:ps")));
}

TEST(DeviceName, MergeFillsOpenPartsAndRefusesContradictions) {
  DeviceName name = *DeviceName::Parse("/job:ps");
  ASSERT_TRUE(name.MergeFrom(*DeviceName::Parse("/task:2/cpu:0")).ok());
  EXPECT_EQ(name.ToString(), "/job:ps/task:2/device:CPU:0");
  EXPECT_THAT(std::string(name.MergeFrom(*DeviceName::Parse("/job:worker")).message()),
              HasSubstr("'ps' and 'worker'"));
  EXPECT_EQ(name.ToString(), "/job:ps/task:2/device:CPU:0");
}

}  // namespace
}  // namespace tensorfleet
