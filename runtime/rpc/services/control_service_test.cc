#include "runtime/rpc/services/control_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/server.h"

namespace tensorfleet::rpc {
namespace {

constexpr std::chrono::seconds kTimeout(10);

StatusOr<std::unique_ptr<Server>> StartServer(
    std::function<void(const std::string&, const std::string&)> on_drain) {
  ServerOptions options;
  options.cluster = ClusterSpec::Make({{"ps", {{0, "localhost:1"}}}}).value();
  options.job = "ps";
  options.bind = "localhost:0";
  options.ops = &BuiltinOps();
  options.kernels = &CoreCpuKernels();
  options.compute_threads = 1;
  options.on_drain = std::move(on_drain);
  return Server::Start(std::move(options));
}

Status Drain(const Server& server) {
  return RequestDrain({absl::StrCat("localhost:", server.port())}, "/job:chief/task:0", "over",
                      kTimeout)[0];
}

TEST(Drain, ReachesTheServersOwner) {
  std::string heard;
  Notification called;
  const auto server = *StartServer([&](const std::string& from, const std::string& reason) {
    heard = absl::StrCat(from, " says ", reason);
    called.Notify();
  });
  EXPECT_EQ(Drain(*server), OkStatus());
  ASSERT_TRUE(called.WaitFor(kTimeout));
  EXPECT_EQ(heard, "/job:chief/task:0 says over");
}

TEST(Drain, IsRefusedWhereNobodyTakesIt) {
  const auto server = *StartServer(nullptr);
  EXPECT_EQ(Drain(*server).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Drain, OfAServerThatIsGoneIsUnavailable) {
  EXPECT_EQ(RequestDrain({"localhost:1"}, "me", "over", kTimeout)[0].code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tensorfleet::rpc
