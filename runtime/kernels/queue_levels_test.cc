#include "runtime/kernels/queue_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(QueueLevels, AQueueIsListedWhileItLives) {
  QueueLevels levels;
  int queue = 0;
  levels.Add(&queue, [] { return QueueLevel{"q", "FIFOQueue", 3, 10, 0, 1}; });
  const std::vector<QueueLevel> read = levels.Read();
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].elements, 3);
  EXPECT_EQ(read[0].dequeues_waiting, 1);
  levels.Remove(&queue);
  EXPECT_THAT(levels.Read(), IsEmpty());
}

// Two sessions that are isolated, or two devices: a page of metrics takes each name once.
TEST(QueueLevels, QueuesOfOneNameAreAddedUp) {
  QueueLevels levels;
  int a = 0, b = 0, other = 0;
  levels.Add(&a, [] { return QueueLevel{"q", "FIFOQueue", 3, 10, 1, 0}; });
  levels.Add(&b, [] { return QueueLevel{"q", "FIFOQueue", 4, 10, 1, 2}; });
  levels.Add(&other, [] { return QueueLevel{"q", "PriorityQueue", 1, -1, 0, 0}; });
  const std::vector<QueueLevel> read = levels.Read();
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].elements, 7);
  EXPECT_EQ(read[0].capacity, 20);
  EXPECT_EQ(read[0].enqueues_waiting, 2);
  EXPECT_EQ(read[1].capacity, -1);
}

TEST(QueueLevels, OneWithoutLimitHasNoneWithOthers) {
  QueueLevels levels;
  int a = 0, b = 0;
  levels.Add(&a, [] { return QueueLevel{"q", "FIFOQueue", 1, 10, 0, 0}; });
  levels.Add(&b, [] { return QueueLevel{"q", "FIFOQueue", 1, -1, 0, 0}; });
  EXPECT_EQ(levels.Read().at(0).capacity, -1);
}

}  // namespace
}  // namespace tensorfleet
