// The algorithms over a network that delivers in any order.
#include "runtime/collective/exchange.h"

#include <deque>
#include <map>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/collective/meeting.h"
#include "runtime/collective/testing/members.h"

namespace tensorfleet::collective {
namespace {

// Holds what was posted until it is asked for, and hands it over when Deliver is called.
struct Network {
  using Key = std::tuple<int, int, std::string>;  // from, to
  std::map<Key, Tensor> posted;
  std::map<Key, Exchange::Received> wanted;
  std::map<int, int64_t> bytes_from;

  void Deliver(uint32_t seed) {
    std::mt19937 random(seed);
    while (true) {
      std::vector<Key> ready;
      for (const auto& [key, received] : wanted) {
        if (posted.count(key) > 0) ready.push_back(key);
      }
      if (ready.empty()) return;
      const Key key = ready[random() % ready.size()];
      Exchange::Received received = std::move(wanted[key]);
      wanted.erase(key);
      Tensor piece = std::move(posted[key]);
      posted.erase(key);
      bytes_from[std::get<0>(key)] += static_cast<int64_t>(piece.bytes());
      received(std::move(piece));
    }
  }
};

class FakeExchange final : public Exchange {
 public:
  FakeExchange(Network* network, GroupRef group, int rank, CollectiveArgs args)
      : network_(network), group_(std::move(group)), rank_(rank), args_(std::move(args)) {}
  const Group& group() const override { return *group_; }
  int rank() const override { return rank_; }
  const CollectiveArgs& args() const override { return args_; }
  const std::string& key() const override { return key_; }
  void Post(int to, const std::string& key, Tensor piece) override {
    EXPECT_TRUE(network_->posted.try_emplace({rank_, to, key}, std::move(piece)).second) << key;
  }
  void Receive(int from, const std::string& key, int64_t elements, Received received) override {
    network_->wanted[{from, rank_, key}] = [=](Tensor piece) {
      EXPECT_EQ(piece.num_elements(), elements);
      received(std::move(piece));
    };
  }
  void Finish(Tensor result) override { result_ = std::move(result); }
  void Fail(const Status& why) override { status_ = why; }

  Tensor result_;
  Status status_;

 private:
  Network* const network_;
  const GroupRef group_;
  const int rank_;
  const CollectiveArgs args_;
  const std::string key_ = "1:1:0:0";
};

Tensor Numbers(int64_t n, int seed) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat, {n});
  std::mt19937 random(seed);
  for (float& value : tensor.mutable_values<float>()) {
    value = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  return tensor;
}

std::string BytesOf(const Tensor& tensor) {
  return std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

// What each member gets, and what it has sent.
struct Outcome {
  std::vector<Tensor> results;
  std::vector<int64_t> bytes;
};

Outcome RunAll(const GroupRef& group, const std::vector<CollectiveArgs>& args, uint32_t seed,
               int source = 0) {
  Network network;
  std::vector<std::shared_ptr<FakeExchange>> members;
  for (int rank = 0; rank < group->size(); ++rank) {
    members.push_back(std::make_shared<FakeExchange>(&network, group, rank, args[rank]));
  }
  for (const auto& member : members) {
    switch (args[0].kind) {
      case CollectiveKind::kBroadcast:
        StartBroadcast(member, source);
        break;
      case CollectiveKind::kAllToAll:
        StartAllToAll(member);
        break;
      default:
        StartRing(member);
    }
  }
  network.Deliver(seed);
  Outcome outcome;
  for (const auto& member : members) {
    EXPECT_EQ(member->status_, OkStatus());
    EXPECT_TRUE(member->result_.is_valid());
    outcome.results.push_back(member->result_);
    outcome.bytes.push_back(network.bytes_from[static_cast<int>(outcome.bytes.size())]);
  }
  EXPECT_TRUE(network.posted.empty());
  EXPECT_TRUE(network.wanted.empty());
  return outcome;
}

std::vector<CollectiveArgs> ArgsFor(const GroupRef& group, CollectiveKind kind, int64_t n) {
  std::vector<CollectiveArgs> all;
  for (int rank = 0; rank < group->size(); ++rank) {
    CollectiveArgs args;
    args.kind = kind;
    args.device = &group->members[rank].device;
    args.group_size = group->size();
    args.dtype = DType::kFloat;
    args.input = Numbers(n, rank);
    args.shape = *Shape::Make({n});
    if (kind == CollectiveKind::kGather) args.shape = *Shape::Make({n * group->size()});
    if (kind == CollectiveKind::kReduceScatter) args.shape = *Shape::Make({n / group->size()});
    all.push_back(std::move(args));
  }
  return all;
}

const std::vector<std::vector<std::pair<int, int>>> kGroups = {
    {{0, 0}, {1, 0}},
    {{0, 0}, {1, 0}, {2, 0}},
    {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}},
    {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}}};

TEST(Ring, GivesEveryMemberTheSameBitsWhateverComesFirst) {
  for (const auto& devices : kGroups) {
    const GroupRef group = GroupOf(devices);
    for (const int64_t n : {0, 1, 5, 63, 64, 1000}) {
      for (const std::vector<int>& offsets : std::vector<std::vector<int>>{{0}, {0, 1, -1}}) {
        std::vector<CollectiveArgs> args = ArgsFor(group, CollectiveKind::kReduce, n);
        for (CollectiveArgs& each : args) {
          each.subdiv_offsets = offsets;
          each.final = FinalOp::kDiv;
        }
        const Outcome first = RunAll(group, args, 1), second = RunAll(group, args, 2);
        for (int64_t i = 0; i < n; ++i) {
          float sum = 0;
          for (const CollectiveArgs& each : args) sum += each.input.values<float>()[i];
          ASSERT_NEAR(first.results[0].values<float>()[i], sum / group->size(), 1e-5);
        }
        for (const Tensor& result : first.results) {
          EXPECT_EQ(BytesOf(result), BytesOf(first.results[0]));
        }
        EXPECT_EQ(BytesOf(second.results[0]), BytesOf(first.results[0]));
      }
    }
  }
}

TEST(Ring, SendsTheLeastThatThereCanBe) {
  for (const auto& devices : kGroups) {
    const GroupRef group = GroupOf(devices);
    constexpr int64_t kElements = 100'000;
    std::vector<CollectiveArgs> args = ArgsFor(group, CollectiveKind::kReduce, kElements);
    const double least = 2.0 * (group->size() - 1) / group->size() * kElements * sizeof(float);
    for (const int64_t bytes : RunAll(group, args, 1).bytes) {
      EXPECT_NEAR(static_cast<double>(bytes), least, 0.01 * least);
    }
  }
}

// What members of one process compute is the yardstick.
TEST(Exchange, GathersScattersAndSwapsAsAMeetingDoes) {
  for (const auto& devices : kGroups) {
    const GroupRef group = GroupOf(devices);
    for (const CollectiveKind kind :
         {CollectiveKind::kGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}) {
      std::vector<CollectiveArgs> args = ArgsFor(group, kind, 4 * group->size());
      if (kind == CollectiveKind::kReduceScatter) {
        for (CollectiveArgs& each : args) each.merge = MergeOp::kMax;
      }
      const std::vector<Tensor> expected = Meet(args).value();
      const Outcome outcome = RunAll(group, args, 3);
      for (int rank = 0; rank < group->size(); ++rank) {
        EXPECT_EQ(BytesOf(outcome.results[rank]), BytesOf(expected[rank]))
            << CollectiveName(kind) << " " << rank << " of " << group->size();
      }
    }
  }
}

TEST(Exchange, BroadcastsFromAnyMember) {
  for (const auto& devices : kGroups) {
    const GroupRef group = GroupOf(devices);
    for (int source = 0; source < group->size(); ++source) {
      std::vector<CollectiveArgs> args = ArgsFor(group, CollectiveKind::kBroadcast, 10);
      for (int rank = 0; rank < group->size(); ++rank) {
        args[rank].is_source = rank == source;
        if (rank != source) args[rank].input.Clear();
      }
      for (const Tensor& result : RunAll(group, args, 4, source).results) {
        EXPECT_EQ(BytesOf(result), BytesOf(args[source].input));
      }
    }
  }
}

TEST(Meeting, NamesTwoMembersThatDiffer) {
  const GroupRef group = GroupOf({{0, 0}, {0, 1}});
  std::vector<CollectiveArgs> args = ArgsFor(group, CollectiveKind::kReduce, 4);
  args[1].merge = MergeOp::kMul;
  const Status status = Meet(args).status();
  EXPECT_THAT(status.ToString(), ::testing::AllOf(::testing::HasSubstr(DeviceName(0, 0)),
                                                  ::testing::HasSubstr(DeviceName(0, 1)),
                                                  ::testing::HasSubstr("(Mul,Id)")));
}

TEST(Meeting, MergesEveryType) {
  const GroupRef group = GroupOf({{0, 0}, {0, 1}});
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16,
                            DType::kInt32, DType::kInt64}) {
    std::vector<CollectiveArgs> args(2);
    for (int rank = 0; rank < 2; ++rank) {
      args[rank].device = &group->members[rank].device;
      args[rank].group_size = 2;
      args[rank].dtype = dtype;
      args[rank].input = *Tensor::Zeros(dtype, {3});
      args[rank].shape = Shape({3});
    }
    EXPECT_EQ(BytesOf(Meet(args).value()[1]), BytesOf(args[0].input)) << DTypeName(dtype);
  }
  std::vector<CollectiveArgs> args = ArgsFor(group, CollectiveKind::kReduce, 4);
  for (CollectiveArgs& each : args) {
    each.dtype = DType::kBool;
    each.input = *Tensor::Zeros(DType::kBool, {4});
  }
  EXPECT_EQ(Meet(args).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tensorfleet::collective
