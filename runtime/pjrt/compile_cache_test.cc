#include "runtime/pjrt/compile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "runtime/base/thread_pool.h"
#include "runtime/pjrt/device_metrics.h"
#include "runtime/pjrt/executable_cache.h"
#include "runtime/pjrt/lower/hlo_builder.h"
#include "runtime/pjrt/testing/compiled_test.h"

namespace tensorfleet::pjrt {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

// A folder of its own that goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = ::testing::TempDir() + "/compile-cache-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  std::string path(const std::string& name = "") const { return path_ + "/" + name; }
  // The files of a cache in it.
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

 private:
  std::string path_;
};

std::unique_ptr<CompileCache> Opened(const std::string& folder, int64_t max_bytes = 1 << 20) {
  StatusOr<std::unique_ptr<CompileCache>> cache = CompileCache::Open(folder, max_bytes);
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}

TEST(CompileCache, KeepsAProgramForTheNextProcess) {
  TemporaryFolder folder;
  Opened(folder.path("new"))->Keep("a", "program a");
  const auto later = Opened(folder.path("new"));
  EXPECT_EQ(later->Find("a"), "program a");
  EXPECT_EQ(later->Find("b"), std::nullopt);
}

TEST(CompileCache, ADamagedFileIsNotUsedAndGoes) {
  TemporaryFolder folder;
  const auto cache = Opened(folder.path());
  cache->Keep("a", "program a");
  const fs::path file = folder.Files().at(0);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(cache->Find("a"), std::nullopt);
  EXPECT_TRUE(folder.Files().empty());
}

TEST(CompileCache, AFolderThatOthersMayWriteToIsRefused) {
  TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0770), 0);
  const Status status = CompileCache::Open(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mode 0700"));
}

TEST(CompileCache, AFileThatOthersMayWriteToOrALinkIsNotUsed) {
  TemporaryFolder folder;
  const auto cache = Opened(folder.path());
  cache->Keep("a", "program a");
  const fs::path file = folder.Files().at(0);
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(cache->Find("a"), std::nullopt);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(cache->Find("a"), "program a");
  fs::rename(file, folder.path("elsewhere"));
  fs::create_symlink(folder.path("elsewhere"), file);
  EXPECT_EQ(cache->Find("a"), std::nullopt);
}

TEST(CompileCache, WhatWasUsedLongestAgoMakesRoom) {
  TemporaryFolder folder;
  const auto cache = Opened(folder.path(), 2500);
  const std::string program(1000, 'x');
  const auto backdate = [&](int64_t seconds) {
    for (const fs::path& file : folder.Files()) {
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(seconds));
    }
  };
  cache->Keep("a", program);
  backdate(100);
  cache->Keep("b", program);
  backdate(100);
  EXPECT_TRUE(cache->Find("a").has_value());  // used now
  cache->Keep("c", program);
  EXPECT_TRUE(cache->Find("a").has_value());
  EXPECT_FALSE(cache->Find("b").has_value());
  EXPECT_TRUE(cache->Find("c").has_value());
}

TEST(CompileCache, WhatIsTooLargeToBeReadAgainIsNotKept) {
  TemporaryFolder folder;
  const auto cache = Opened(folder.path(), int64_t{1} << 30);
  cache->Keep("a", std::string(CompileCache::kMaxProgramBytes + 1, 'x'));
  EXPECT_TRUE(folder.Files().empty());
  const std::string largest(CompileCache::kMaxProgramBytes, 'x');
  cache->Keep("b", largest);
  EXPECT_EQ(cache->Find("b"), largest);
}

class KeptProgramsTest : public CompiledTest {
 protected:
  // x + x of two floats.
  static std::string Module() {
    HloBuilder b("twice");
    const Hlo x = b.Parameter(DType::kFloat, Shape({2}));
    return b.Finish({b.Add(x, x)}, {}).value();
  }

  StatusOr<Tensor> Run(const Executable& executable) {
    const std::vector<std::pair<DType, Shape>> results = {{DType::kFloat, Shape({2})}};
    TFLEET_ASSIGN_OR_RETURN(const Tensor x, client().ToDevice(Tensor::Vector<float>({1, 3}), 0));
    Client::Launch launch;
    launch.arguments = absl::MakeConstSpan(&x, 1);
    launch.results = results;
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> computed,
                            client().Start(executable, std::move(launch)));
    std::promise<StatusOr<Tensor>> copy;
    client().ToHost(computed[0], [&](StatusOr<Tensor> value) { copy.set_value(std::move(value)); });
    return copy.get_future().get();
  }

  // All that it entails is over afterwards: a program is kept after it was handed out.
  StatusOr<std::shared_ptr<const Executable>> Get(ExecutableCache* cache) {
    ThreadPool pool("test", 1);
    std::promise<StatusOr<std::shared_ptr<const Executable>>> got;
    cache->Get(Module(), "test", &pool, [&](StatusOr<std::shared_ptr<const Executable>> it) {
      got.set_value(std::move(it));
    });
    return got.get_future().get();
  }
};

TEST_P(KeptProgramsTest, AProgramThatWasKeptIsLoadedAndNotCompiled) {
  TemporaryFolder folder;
  const auto disk = Opened(folder.path());
  {
    ExecutableCache first(&client(), disk.get());
    ASSERT_TRUE(Get(&first).ok());
  }
  EXPECT_EQ(folder.Files().size(), 1u);
  ExecutableCache second(&client(), disk.get());
  const int64_t compiled = Counts().compiled, loaded = Counts().loaded;
  const auto executable = Get(&second);
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ(Counts().compiled, compiled);
  EXPECT_EQ(Counts().loaded, loaded + 1);
  const StatusOr<Tensor> result = Run(**executable);
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectSame(*result, Tensor::Vector<float>({2, 6}));
}

TEST_P(KeptProgramsTest, WhatCannotBeLoadedIsCompiledAgain) {
  TemporaryFolder folder;
  const auto disk = Opened(folder.path());
  disk->Keep(client().BuildId() + Module(), "no program");
  ExecutableCache cache(&client(), disk.get());
  const int64_t compiled = Counts().compiled;
  const auto executable = Get(&cache);
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ(Counts().compiled, compiled + 1);
}

INSTANTIATE_TEST_SUITE_P(Plugins, KeptProgramsTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace tensorfleet::pjrt
