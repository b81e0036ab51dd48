#include "operator/local/addresses.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tensorfleet::local {
namespace {

TEST(Addresses, AreLoopbackPortsInTfConfig) {
  const Addresses addresses({{"j-ps-0", 1001}, {"j-worker-0", 1002}});
  EXPECT_EQ(addresses.Localize(R"({"cluster":{"ps":["j-ps-0.ns.svc:2222"],"worker":)"
                               R"(["j-worker-0.ns.svc:2222"]},"task":{"type":"ps","index":0}})"),
            R"({"cluster":{"ps":["127.0.0.1:1001"],"worker":["127.0.0.1:1002"]},)"
            R"("task":{"type":"ps","index":0}})");
}

TEST(Addresses, AreFoundInTheSparseFormToo) {
  const Addresses addresses({{"j-worker-1", 1002}});
  EXPECT_EQ(
      addresses.Localize(R"({"cluster":{"worker":{"1":"j-worker-1.ns.svc:2222"},"ps":null}})"),
      R"({"cluster":{"worker":{"1":"127.0.0.1:1002"},"ps":null}})");
}

TEST(Addresses, LeaveWhatIsNotOursAlone) {
  const Addresses addresses({{"j-ps-0", 1001}});
  for (const char* text :
       {"", "text", "[1]", R"({"cluster":[]})", R"({"cluster":{"ps":["other:1"]}})"}) {
    EXPECT_EQ(addresses.Localize(text), text);
  }
}

TEST(Addresses, DifferForAllReplicas) {
  api::TFJob job;
  job.name = "j";
  job.spec.replicas[static_cast<int>(api::ReplicaType::kPs)].emplace().replicas = 20;
  job.spec.replicas[static_cast<int>(api::ReplicaType::kWorker)].emplace().replicas = 30;
  const auto addresses = Addresses::Choose(job);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  nlohmann::json peers = nlohmann::json::array();
  for (int i = 0; i < 20; ++i) peers.push_back(absl::StrCat("j-ps-", i, ".ns.svc:2222"));
  for (int i = 0; i < 30; ++i) peers.push_back(absl::StrCat("j-worker-", i, ".ns.svc:2222"));
  const auto local = nlohmann::json::parse(
      addresses->Localize(nlohmann::json{{"cluster", {{"all", peers}}}}.dump()));
  std::set<std::string> all;
  for (const auto& address : local["cluster"]["all"]) all.insert(address);
  EXPECT_EQ(all.size(), 50u);
}

}  // namespace
}  // namespace tensorfleet::local
