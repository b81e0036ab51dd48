#include "runtime/collective/group_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/collective/instance_table.h"
#include "runtime/collective/testing/members.h"

namespace tensorfleet::collective {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What a member that asks was told.
struct Answer {
  bool came = false;
  StatusOr<GroupRef> group = GroupRef();
};

class GroupTableTest : public ::testing::Test {
 protected:
  std::shared_ptr<Answer> Join(const DeviceAttributes& device, int size = 2, int key = 1,
                               CancellationManager* cancellation = nullptr) {
    auto answer = std::make_shared<Answer>();
    table_.Join(key, size, "CPU", device, cancellation, [answer](StatusOr<GroupRef> group) {
      EXPECT_FALSE(answer->came);
      answer->came = true;
      answer->group = std::move(group);
    });
    return answer;
  }
  GroupTable table_;
};

TEST_F(GroupTableTest, AnswersAllWhenTheLastHasJoined) {
  const auto first = Join(DeviceOf(0, 0));
  const auto other_key = Join(DeviceOf(0, 0), 2, /*key=*/2);
  EXPECT_FALSE(first->came);
  EXPECT_EQ(table_.Find(1), nullptr);
  const auto second = Join(DeviceOf(1, 0));
  ASSERT_TRUE(first->came && second->came);
  EXPECT_EQ(*first->group, *second->group);
  EXPECT_EQ((*first->group)->size(), 2);
  EXPECT_EQ(table_.Find(1), *first->group);
  EXPECT_FALSE(other_key->came);
  // Who asks again gets the same.
  EXPECT_EQ(*Join(DeviceOf(1, 0))->group, *first->group);
}

TEST_F(GroupTableTest, TellsMembersThatDisagreeOfEachOther) {
  const auto first = Join(DeviceOf(0, 0), 3);
  const auto second = Join(DeviceOf(1, 0), 2);
  for (const auto& answer : {first, second}) {
    ASSERT_TRUE(answer->came);
    EXPECT_THAT(answer->group.status().ToString(),
                AllOf(HasSubstr(DeviceName(0, 0)), HasSubstr(DeviceName(1, 0))));
  }
  // Nothing of it is left.
  const auto again = Join(DeviceOf(0, 0));
  EXPECT_TRUE(Join(DeviceOf(1, 0))->group.ok());
  EXPECT_TRUE(again->group.ok());
}

TEST_F(GroupTableTest, AMemberThatHasRestartedGathersTheGroupAnew) {
  Join(DeviceOf(0, 0));
  const auto before = Join(DeviceOf(1, 0));
  const auto restarted = Join(DeviceOf(1, 0, /*incarnation=*/2));
  EXPECT_FALSE(restarted->came);
  const auto other = Join(DeviceOf(0, 0));
  ASSERT_TRUE(restarted->came);
  EXPECT_NE((*other->group)->communicator_key, (*before->group)->communicator_key);
  EXPECT_EQ((*other->group)->members[1].device.incarnation, 2u);
}

TEST_F(GroupTableTest, WhoGivesUpHasNotJoined) {
  CancellationManager cancellation;
  const auto first = Join(DeviceOf(0, 0), 2, 1, &cancellation);
  EXPECT_THAT(table_.Describe(1), HasSubstr("1 of 2"));
  cancellation.StartCancel();
  ASSERT_TRUE(first->came);
  EXPECT_EQ(first->group.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(Join(DeviceOf(1, 0))->came);
  EXPECT_TRUE(Join(DeviceOf(0, 0), 2, 1, &cancellation)->group.ok());
}

TEST_F(GroupTableTest, WhoHasGivenUpBeforeIsNotKept) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  EXPECT_TRUE(Join(DeviceOf(0, 0), 2, 1, &cancellation)->came);
  EXPECT_EQ(table_.Describe(1), "nobody has joined");
}

class InstanceTableTest : public ::testing::Test {
 protected:
  struct Told {
    bool came = false;
    StatusOr<int> source = 0;
  };
  std::shared_ptr<Told> Claim(int task, const InstanceClaim& claim,
                              CancellationManager* cancellation = nullptr) {
    InstanceClaim own = claim;
    own.device = DeviceName(task, 0);
    auto told = std::make_shared<Told>();
    table_.Complete(group_, own, cancellation, [told](StatusOr<int> source) {
      told->came = true;
      told->source = std::move(source);
    });
    return told;
  }
  static InstanceClaim Reduction(Shape shape, int64_t step = 1) {
    InstanceClaim claim;
    claim.dtype = DType::kFloat;
    claim.shape = std::move(shape);
    claim.merge = "(Add,Id)";
    claim.node = "sum";
    claim.step_id = step;
    return claim;
  }
  static InstanceClaim Broadcast(bool is_source) {
    InstanceClaim claim = Reduction(Shape({3}));
    claim.kind = CollectiveKind::kBroadcast;
    claim.merge = "";
    claim.is_source = is_source;
    return claim;
  }
  const GroupRef group_ = GroupOf({{0, 0}, {1, 0}});
  InstanceTable table_;
};

TEST_F(InstanceTableTest, ReductionsNeedNoWaiting) {
  EXPECT_TRUE(Claim(0, Reduction({3}))->source.ok());
  EXPECT_TRUE(Claim(1, Reduction({3}))->source.ok());
}

TEST_F(InstanceTableTest, NamesTwoMembersThatDoDifferentThings) {
  InstanceClaim largest = Reduction({3});
  largest.merge = "(Maximum,Id)";
  for (const InstanceClaim& other : {Reduction({4}), largest, Broadcast(true)}) {
    ASSERT_TRUE(Claim(0, Reduction({3}))->source.ok());
    EXPECT_THAT(Claim(1, other)->source.status().ToString(),
                AllOf(HasSubstr(DeviceName(0, 0)), HasSubstr(DeviceName(1, 0)),
                      HasSubstr("INVALID_ARGUMENT")));
  }
}

TEST_F(InstanceTableTest, ShapesMayChangeFromStepToStep) {
  ASSERT_TRUE(Claim(0, Reduction({3}, 1))->source.ok());
  EXPECT_TRUE(Claim(1, Reduction({4}, 2))->source.ok());
  EXPECT_TRUE(Claim(0, Reduction({4}, 2))->source.ok());
}

TEST_F(InstanceTableTest, ABroadcastHasOneSource) {
  const auto receiver = Claim(0, Broadcast(false));
  EXPECT_FALSE(receiver->came);
  EXPECT_EQ(*Claim(1, Broadcast(true))->source, 1);
  EXPECT_EQ(*receiver->source, 1);
}

TEST_F(InstanceTableTest, ABroadcastWithoutASourceOrWithTwoFails) {
  for (const bool both : {false, true}) {
    const auto first = Claim(0, Broadcast(both));
    EXPECT_EQ(Claim(1, Broadcast(both))->source.status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(first->source.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(InstanceTableTest, WhoGivesUpIsWaitedForAgain) {
  CancellationManager cancellation;
  const auto first = Claim(0, Broadcast(true), &cancellation);
  cancellation.StartCancel();
  EXPECT_TRUE(first->came);
  const auto second = Claim(1, Broadcast(false));
  EXPECT_FALSE(second->came);
  EXPECT_EQ(*Claim(0, Broadcast(true))->source, 0);
  EXPECT_EQ(*second->source, 0);
}

}  // namespace
}  // namespace tensorfleet::collective
