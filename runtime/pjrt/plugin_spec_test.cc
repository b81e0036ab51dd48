#include "runtime/pjrt/plugin_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/pjrt/plugin.h"

namespace tensorfleet::pjrt {
namespace {

using ::testing::HasSubstr;

std::string Error(absl::string_view text) {
  return std::string(ParsePluginSpecs(text).status().message());
}

TEST(PluginSpecs, AreTypesPathsAndOptions) {
  const auto specs = ParsePluginSpecs(
      "GPU=/a/cuda.so?memory_fraction=0.5&visible_devices=[0:2]&preallocate=false&node_id=3"
      "&allocator=bfc&precision=highest, tpu=/b.so");
  ASSERT_TRUE(specs.ok()) << specs.status();
  ASSERT_EQ(specs->size(), 2u);
  const PluginSpec& gpu = (*specs)[0];
  EXPECT_EQ(gpu.type, "GPU");
  EXPECT_EQ(gpu.path, "/a/cuda.so");
  EXPECT_EQ(gpu.precision, 2);  // ours, not the plug-in's
  ASSERT_EQ(gpu.options.size(), 5u);
  EXPECT_EQ(std::get<float>(gpu.options[0].value), 0.5f);
  EXPECT_EQ(std::get<std::vector<int64_t>>(gpu.options[1].value), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(std::get<bool>(gpu.options[2].value), false);
  EXPECT_EQ(std::get<int64_t>(gpu.options[3].value), 3);
  EXPECT_EQ(std::get<std::string>(gpu.options[4].value), "bfc");
  EXPECT_EQ((*specs)[1].type, "TPU");
  EXPECT_TRUE(ParsePluginSpecs("")->empty());
}

TEST(PluginSpecs, SayWhichEntryIsWrong) {
  EXPECT_THAT(Error("GPU=/a.so,/b.so"), HasSubstr("'/b.so' must be TYPE=PATH"));
  EXPECT_THAT(Error("1x=/a.so"), HasSubstr("not a type of device"));
  EXPECT_THAT(Error("cpu=/a.so"), HasSubstr("a CPU of its own"));
  EXPECT_THAT(Error("GPU="), HasSubstr("TYPE=PATH"));
  EXPECT_THAT(Error("GPU=?a=1"), HasSubstr("no path"));
  EXPECT_THAT(Error("GPU=/a.so?memory"), HasSubstr("'memory' must be name=value"));
  EXPECT_THAT(Error("GPU=/a.so?precision=best"), HasSubstr("precision"));
}

TEST(PluginSpecs, AreFoundInAFolder) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "pjrt";
  std::filesystem::create_directories(folder);
  for (const char* name : {"xla_cuda_plugin.so", "libtpu.so", "pjrt_npu.so", "notes.txt"}) {
    std::ofstream(folder / name) << "x";
  }
  std::vector<std::string> types;
  for (const PluginSpec& spec : FindPluginsIn(folder.string())) types.push_back(spec.type);
  EXPECT_THAT(types, ::testing::ElementsAre("TPU", "NPU", "GPU"));
  EXPECT_TRUE(FindPluginsIn("/no/such/folder").empty());
  // None of them is a plug-in, and the loader says so.
  const Status status = Plugin::Load((folder / "libtpu.so").string()).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("libtpu.so"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tensorfleet::pjrt
