#include "runtime/kernels/value_readers.h"

#include <gtest/gtest.h>

#include <thread>

namespace tensorfleet {
namespace {

constexpr std::chrono::seconds kLong(60);

TEST(ValueReaders, WhoMayGoOnDoesNotWait) {
  EXPECT_TRUE(ValueReaders::Await([] { return true; }, std::chrono::nanoseconds(0)));
}

TEST(ValueReaders, PatienceEnds) {
  int asked = 0;
  EXPECT_FALSE(ValueReaders::Await(
      [&] {
        ++asked;
        return false;
      },
      std::chrono::microseconds(100)));
  EXPECT_EQ(asked, 2) << "at the beginning and at the end";
  EXPECT_EQ(ValueReaders::waiting(), 0);
}

TEST(ValueReaders, TheOneWhoWaitsIsWokenByTheLastThatLeaves) {
  std::atomic<int> readers{2};
  bool may = false;
  std::thread update(
      [&] { may = ValueReaders::Await([&] { return readers.load() == 0; }, kLong); });
  while (ValueReaders::waiting() == 0) std::this_thread::yield();
  for (int i = 0; i < 2; ++i) {
    --readers;
    ValueReaders::MayHaveLeft();
  }
  update.join();
  EXPECT_TRUE(may);
}

}  // namespace
}  // namespace tensorfleet
