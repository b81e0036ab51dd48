#include "operator/local/volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tensorfleet::local {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class Volumes : public ::testing::Test {
 protected:
  Volumes() : folder_(fs::path(::testing::TempDir()) / ("volumes-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Volumes() override { fs::remove_all(folder_); }

  StatusOr<std::map<std::string, std::string>> Make(const std::string& volumes) {
    const json pod = {{"metadata", {{"name", "j-worker-0"}}},
                      {"spec", {{"volumes", json::parse(volumes)}}}};
    return MakeVolumes(
        pod, {{{"claim", folder_ / "claim"}, {"by-name", folder_ / "named"}}, folder_ / "scratch"});
  }

  const fs::path folder_;
};

TEST_F(Volumes, AreFoldersOfThisMachine) {
  const auto made = Make(R"([{"name": "a", "persistentVolumeClaim": {"claimName": "claim"}},
                             {"name": "by-name", "configMap": {"name": "x"}},
                             {"name": "host", "hostPath": {"path": "/tmp"}}])");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->at("a"), folder_ / "claim");
  EXPECT_EQ(made->at("by-name"), folder_ / "named");
  EXPECT_EQ(made->at("host"), "/tmp");
  EXPECT_TRUE(fs::is_directory(folder_ / "claim"));
}

TEST_F(Volumes, OfKindEmptyDirAreEmptyForEachPod) {
  ASSERT_TRUE(Make(R"([{"name": "e", "emptyDir": {}}])").ok());
  const fs::path folder = folder_ / "scratch" / "j-worker-0" / "e";
  std::ofstream(folder / "left") << "x";
  ASSERT_TRUE(Make(R"([{"name": "e", "emptyDir": {}}])").ok());
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Volumes, OfOtherKindsNeedAFolder) {
  EXPECT_EQ(Make(R"([{"name": "s", "secret": {"secretName": "x"}}])").status().message(),
            "secret needs a folder on this machine: --volume s=FOLDER");
}

TEST_F(Volumes, AreMountedWithTheirSubPaths) {
  const json container = json::parse(
      R"({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/data/"},
                                        {"name": "v", "mountPath": "/data/x", "subPath": "in"}]})");
  const auto mounts = MountsOf(container, {{"v", folder_}});
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  ASSERT_EQ(mounts->size(), 2u);
  EXPECT_EQ((*mounts)[0].path, "/data/x");
  EXPECT_EQ((*mounts)[0].folder, folder_ / "in");
  EXPECT_EQ((*mounts)[1].path, "/data");
}

TEST_F(Volumes, CannotBeMountedWhenThePodHasThemNot) {
  const json container =
      json::parse(R"({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/data"}]})");
  EXPECT_THAT(std::string(MountsOf(container, {}).status().message()),
              HasSubstr("container c mounts volume \"v\", which the pod does not have"));
}

TEST(WithFolders, ReplacesMountedPaths) {
  const std::vector<Mount> mounts = {{"/data/deep", "/d"}, {"/data", "/t"}};
  EXPECT_EQ(WithFolders("/data", mounts), "/t");
  EXPECT_EQ(WithFolders("/data/x", mounts), "/t/x");
  EXPECT_EQ(WithFolders("--dir=/data/x:/data", mounts), "--dir=/t/x:/t");
  EXPECT_EQ(WithFolders("cat '/data/deep/y' > /data/z", mounts), "cat '/d/y' > /t/z");
}

TEST(WithFolders, LeavesOtherPathsAlone) {
  const std::vector<Mount> mounts = {{"/data", "/t"}};
  for (const char* text : {"/database", "/my/data", "/data-2", "/data.txt", "data", ""}) {
    EXPECT_EQ(WithFolders(text, mounts), text);
  }
}

}  // namespace
}  // namespace tensorfleet::local
