#include "runtime/collective/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/collective/testing/members.h"

namespace tensorfleet::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Group, RanksTasksByNameAndTheirDevicesByNumber) {
  const GroupRef group = GroupOf({{10, 1}, {2, 0}, {10, 0}, {2, 11}, {2, 2}});
  std::vector<std::string> names;
  for (const Member& member : group->members) names.push_back(member.device.name);
  EXPECT_THAT(names, ElementsAre(DeviceName(10, 0), DeviceName(10, 1), DeviceName(2, 0),
                                 DeviceName(2, 2), DeviceName(2, 11)));
  EXPECT_THAT(group->task_sizes, ElementsAre(2, 3));
  EXPECT_EQ(group->RankOf(DeviceName(2, 2)), 3);
  EXPECT_EQ(group->RankOf(DeviceName(3, 0)), -1);
}

TEST(Plan, AlignsPiecesAsTensorFlowDoes) {
  EXPECT_EQ(AlignedPiece(4, 1, 2), 16);
  EXPECT_EQ(AlignedPiece(4, 1000, 2), 512);
  // Where a piece would end on a line it gets one more.
  EXPECT_EQ(AlignedPiece(4, 32, 2), 32);
  EXPECT_EQ(AlignedPiece(8, 1'000'000, 3), 333'336);
}

TEST(Plan, TurnsRingsWithinTasks) {
  const GroupRef group = GroupOf({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}});
  EXPECT_THAT(MakeRings(*group, {0, 1, -1}),
              ElementsAre(ElementsAre(0, 1, 2, 3, 4), ElementsAre(1, 2, 0, 4, 3),
                          ElementsAre(1, 0, 2, 3, 4)));
}

TEST(Plan, CutsLargeTensorsIntoMoreRings) {
  const GroupRef group = GroupOf({{0, 0}, {1, 0}});
  EXPECT_THAT(*ChooseOffsets(*group, -1, 1 << 30), ElementsAre(0));
  EXPECT_THAT(*ChooseOffsets(*group, 0, 1 << 20), ElementsAre(0));
  EXPECT_THAT(*ChooseOffsets(*group, 0, 1 << 30), ElementsAre(0, -1));
  EXPECT_THAT(*ChooseOffsets(*group, 4, 1 << 30), ElementsAre(0, -1, 2, -3));
  EXPECT_EQ(ChooseOffsets(*group, 0, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

// Every member but the source receives once in each tree, from one that sends to it.
TEST(Plan, TreesReachEveryMemberOnce) {
  const std::vector<std::vector<std::pair<int, int>>> shapes = {
      {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}},
      {{0, 0}, {1, 0}},
      {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {3, 0}, {3, 1}}};
  for (const auto& devices : shapes) {
    const GroupRef group = GroupOf(devices);
    for (int source = 0; source < group->size(); ++source) {
      std::vector<int> received(group->size());
      std::vector<std::pair<int, std::pair<int, int>>> sent, expected;
      for (int rank = 0; rank < group->size(); ++rank) {
        for (const Tree& tree : MakeTrees(*group, source, rank)) {
          for (const int to : tree.send_to) {
            sent.push_back({tree.number, {rank, tree.members[to]}});
          }
          if (tree.receive_from < 0) continue;
          ++received[rank];
          expected.push_back({tree.number, {tree.members[tree.receive_from], rank}});
        }
      }
      EXPECT_THAT(sent, ::testing::UnorderedElementsAreArray(expected)) << source;
      for (int rank = 0; rank < group->size(); ++rank) {
        EXPECT_EQ(received[rank], rank == source ? 0 : 1) << source << " to " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace tensorfleet::collective
