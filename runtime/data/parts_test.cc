// The pieces that data sets are made of.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/data/element_ring.h"
#include "runtime/data/iterator_state.h"
#include "runtime/data/padding.h"
#include "runtime/data/rows.h"
#include "runtime/data/seeds.h"
#include "runtime/data/threads.h"

namespace tensorfleet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Element Number(int64_t value) { return {Tensor::Scalar<int64_t>(value)}; }

TEST(Background, IsJoinedWhenItsOwnerGoes) {
  std::atomic<bool> is_done{false};
  {
    Background background;
    ASSERT_TRUE(background
                    .Start([&] {
                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                      is_done = true;
                    })
                    .ok());
  }
  EXPECT_TRUE(is_done);
}

TEST(Background, IsJoinedAlthoughItsWorkThrows) {
  Background background;
  ASSERT_TRUE(background.Start([] { throw std::bad_alloc(); }).ok());
  background.Join();
}

TEST(DataThreads, AreUsedAgain) {
  for (int i = 0; i < 50; ++i) {
    Background background;
    ASSERT_TRUE(background.Start([] {}).ok());
  }
  EXPECT_LT(NumDataThreads(), 20);
}

TEST(RandomWords, GoOnWhereTheyWere) {
  RandomWords words({7, 9});
  for (int i = 0; i < 6; ++i) words.Next();
  RandomWords restored(words.seeds(), words.taken());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(restored.Next(), words.Next());
}

TEST(SeedGenerator, GivesTheSameSeedsOrOthersEachTime) {
  const auto fixed = SeedGeneratorRef::Adopt(new SeedGenerator({3, 4}, /*varies=*/false));
  EXPECT_EQ(fixed->Next().seed, 3);
  EXPECT_EQ(fixed->Next().seed2, 4);
  const auto varying = SeedGeneratorRef::Adopt(new SeedGenerator({3, 4}, /*varies=*/true));
  const Seeds first = varying->Next(), second = varying->Next();
  EXPECT_NE(first.seed, second.seed);
  varying->Restore(2);
  EXPECT_EQ(varying->Next().seed, second.seed);
}

TEST(ElementRing, KeepsOrderWhileItGrowsAndMoves) {
  ElementRing ring;
  int64_t in = 0, out = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(ring.Push(Number(in++)).ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ring.at(0)[0].scalar<int64_t>(), out++);
      ring.PopFront();
    }
  }
  ASSERT_EQ(ring.size(), in - out);
  for (int64_t i = 0; i < ring.size(); ++i) EXPECT_EQ(ring.at(i)[0].scalar<int64_t>(), out + i);
}

TEST(BatchBuilder, PutsRowsTogetherAndGrows) {
  // A batch of this size could not be allocated as a whole.
  BatchBuilder batch({DType::kInt64}, int64_t{1} << 50);
  for (int64_t i = 0; i < 1'000'000; ++i) ASSERT_TRUE(batch.Add(Number(i)).ok());
  const StatusOr<Element> rows = batch.Finish();
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)[0].shape(), Shape({1'000'000}));
  EXPECT_EQ((*rows)[0].values<int64_t>()[765'432], 765'432);
}

TEST(BatchBuilder, LeavesStringsOfOthersAlone) {
  const Tensor shared = Tensor::Scalar(std::string(100, 'x'));
  BatchBuilder batch({DType::kString}, 2);
  ASSERT_TRUE(batch.Add({shared}).ok());
  ASSERT_TRUE(batch.Add({Tensor::Scalar(std::string("mine"))}).ok());
  const StatusOr<Element> rows = batch.Finish();
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT((*rows)[0].values<std::string>(), ElementsAre(std::string(100, 'x'), "mine"));
  EXPECT_EQ(shared.scalar<std::string>().size(), 100);
}

TEST(BatchBuilder, RefusesRowsOfOtherShapes) {
  BatchBuilder batch({DType::kInt64}, 4);
  ASSERT_TRUE(batch.Add({Tensor::Vector<int64_t>({1, 2})}).ok());
  EXPECT_THAT(batch.Add({Tensor::Vector<int64_t>({1})}).message(),
              HasSubstr("First element had shape [2] and element 1 had shape [1]"));
}

TEST(PadTogether, FillsUpToTheLargest) {
  const std::vector<Element> elements = {{Tensor::Of<int32_t>({1, 2}, {1, 2})},
                                         {Tensor::Of<int32_t>({2, 1}, {3, 4})}};
  const StatusOr<Tensor> padded =
      PadTogether(elements, 0, PartialShape({-1, 3}), Tensor::Scalar<int32_t>(9));
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(padded->shape(), Shape({2, 2, 3}));
  EXPECT_THAT(padded->values<int32_t>(), ElementsAre(1, 2, 9, 9, 9, 9, 3, 9, 9, 4, 9, 9));
}

TEST(IteratorState, IsReadAsItWasWrittenAndChecked) {
  IteratorState state;
  StateWriter writer(&state);
  writer.PutInt("n", 3);
  {
    const StateWriter::Child child(writer, "inner");
    writer.PutElements("elements", {Number(1), Number(2)});
    writer.PutStatus("error", NotFound("no such thing"));
  }
  StateReader reader(&state);
  EXPECT_EQ(*reader.GetInt("n"), 3);
  EXPECT_THAT(reader.GetInt("m").status().message(), HasSubstr("has no 'm'"));
  const StateReader::Child child(reader, "inner");
  const auto elements = reader.GetElements("elements", {DType::kInt64});
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ((*elements)[1][0].scalar<int64_t>(), 2);
  EXPECT_FALSE(reader.GetElements("elements", {DType::kString}).ok());
  Status error;
  ASSERT_TRUE(reader.GetStatus("error", &error).ok());
  EXPECT_EQ(error, NotFound("no such thing"));
}

}  // namespace
}  // namespace tensorfleet::data
