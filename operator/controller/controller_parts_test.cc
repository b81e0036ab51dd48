// The parts of the controller that need no server.

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "operator/controller/informers.h"
#include "operator/controller/parallel_runner.h"

namespace tensorfleet::controller {
namespace {

using nlohmann::json;

TEST(ParallelRunner, RunsEverythingAndThenReturns) {
  ParallelRunner runner(4);
  std::atomic<int> ran{0};
  std::vector<ParallelRunner::Task> tasks(100, [&] { ran++; });
  runner.Run(std::move(tasks));
  EXPECT_EQ(ran, 100);
}

TEST(ParallelRunner, WorksWithoutThreadsOfItsOwn) {
  ParallelRunner runner(0);
  int ran = 0;
  runner.Run(std::vector<ParallelRunner::Task>(3, [&] { ran++; }));
  EXPECT_EQ(ran, 3);
}

TEST(ParallelRunner, ASmallBatchDoesNotWaitForALargeOne) {
  ParallelRunner runner(2);
  std::atomic<int> large_done{0};
  std::thread large([&] {
    runner.Run(std::vector<ParallelRunner::Task>(300, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      large_done++;
    }));
  });
  while (large_done < 10) std::this_thread::yield();
  runner.Run(std::vector<ParallelRunner::Task>(
      4, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }));
  EXPECT_LT(large_done, 100);
  large.join();
}

TEST(Informers, PodsThatDifferInNothingARuleSeesAreTheSame) {
  const auto parse = [](const char* text) { return *ChildTraits<api::Pod>::Parse(text); };
  const auto a =
      parse(R"({"metadata":{"name":"p","resourceVersion":"1"},"status":{"phase":"Running"}})");
  const auto b = parse(
      R"({"metadata":{"name":"p","resourceVersion":"2"},"status":{"phase":"Running","hostIP":"x"}})");
  const auto c =
      parse(R"({"metadata":{"name":"p","resourceVersion":"3"},"status":{"phase":"Failed"}})");
  EXPECT_TRUE(ChildTraits<api::Pod>::SameForRules(a, b));
  EXPECT_FALSE(ChildTraits<api::Pod>::SameForRules(a, c));
}

}  // namespace
}  // namespace tensorfleet::controller
