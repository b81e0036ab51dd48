// Snapshots of values whose rows are overwritten while they are read.
#include "runtime/kernels/buffer_snapshot.h"

#include <cstring>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/kernels/testing/op_test.h"
#include "runtime/kernels/value_readers.h"

namespace tensorfleet {
namespace {

constexpr int64_t kRows = 5000, kColumns = 300;  // some 6 MB
constexpr int64_t kRowBytes = kColumns * static_cast<int64_t>(sizeof(float));

Tensor Table() {
  Tensor t = Tensor::Allocate(DType::kFloat, Shape({kRows, kColumns})).value();
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    t.mutable_values<float>()[i] = static_cast<float>(i);
  }
  return t;
}

RowIndices Rows(std::initializer_list<int64_t> rows) {
  return RowIndices::Read(Tensor::Vector<int64_t>(rows), kRows).value();
}

// What an updater does once it may.
void Overwrite(Tensor& table, const RowIndices& rows, float value) {
  for (int64_t i = 0; i < rows.size(); ++i) {
    auto row = table.mutable_values<float>().subspan(rows[i] * kColumns, kColumns);
    std::fill(row.begin(), row.end(), value);
  }
}

std::string ReadAll(BufferSnapshot& snapshot) {
  std::string bytes;
  for (absl::string_view next = snapshot.Next(); !next.empty(); next = snapshot.Next()) {
    bytes.append(next.data(), next.size());
  }
  return bytes;
}

std::string BytesOf(const Tensor& t) {
  return std::string(static_cast<const char*>(t.raw()), t.bytes());
}

TEST(BufferSnapshot, IsTheValueAsItWas) {
  Tensor table = Table();
  const std::string before = BytesOf(table);
  BufferSnapshot snapshot{Tensor(table)};
  for (const int64_t row : {int64_t{0}, int64_t{2500}, kRows - 1}) {
    const RowIndices rows = Rows({row, row});
    ASSERT_TRUE(BufferSnapshot::MayOverwrite(table, rows, kRowBytes));
    Overwrite(table, rows, -1);
  }
  EXPECT_EQ(ReadAll(snapshot), before);
  EXPECT_EQ(table.values<float>()[2500 * kColumns], -1) << "and the table has changed in place";
}

TEST(BufferSnapshot, WhatItHasReadIsNotKept) {
  Tensor table = Table();
  const std::string before = BytesOf(table);
  BufferSnapshot snapshot{Tensor(table)};
  std::string bytes(snapshot.Next());
  for (const float value : {-1.0f, -2.0f}) {  // behind and before the reader, twice
    const RowIndices rows = Rows({0, 1, 4000, kRows - 1});
    ASSERT_TRUE(BufferSnapshot::MayOverwrite(table, rows, kRowBytes));
    Overwrite(table, rows, value);
  }
  EXPECT_EQ(bytes + ReadAll(snapshot), before);
}

TEST(BufferSnapshot, ForbidsOverwritingWhileAnybodyElseHoldsTheValue) {
  Tensor table = Table();
  BufferSnapshot snapshot{Tensor(table)};
  {
    const Tensor reader = table;
    EXPECT_FALSE(BufferSnapshot::MayOverwrite(table, Rows({1}), kRowBytes));
  }
  EXPECT_TRUE(BufferSnapshot::MayOverwrite(table, Rows({1}), kRowBytes));
}

TEST(BufferSnapshot, SaysNothingOfBuffersThatItDoesNotHold) {
  Tensor table = Table(), other = Table();
  BufferSnapshot snapshot{std::move(table)};
  const Tensor reader = other;
  EXPECT_FALSE(BufferSnapshot::MayOverwrite(other, Rows({1}), kRowBytes));
}

TEST(BufferSnapshot, SeveralOfOneValueAreIndependent) {
  Tensor table = Table();
  const std::string first_state = BytesOf(table);
  BufferSnapshot first{Tensor(table)};
  ASSERT_TRUE(BufferSnapshot::MayOverwrite(table, Rows({7}), kRowBytes));
  Overwrite(table, Rows({7}), -1);
  const std::string second_state = BytesOf(table);
  BufferSnapshot second{Tensor(table)};
  ASSERT_TRUE(BufferSnapshot::MayOverwrite(table, Rows({7, 8}), kRowBytes));
  Overwrite(table, Rows({7, 8}), -2);
  EXPECT_EQ(ReadAll(second), second_state);
  EXPECT_EQ(ReadAll(first), first_state);
}

TEST(BufferSnapshot, LetsGoOfTheBufferAtTheEnd) {
  Tensor table = Table();
  {
    BufferSnapshot snapshot{Tensor(table)};
    ASSERT_TRUE(BufferSnapshot::MayOverwrite(table, Rows({1}), kRowBytes));
    EXPECT_FALSE(table.buffer_is_unique());
  }
  EXPECT_TRUE(table.buffer_is_unique());
}

TEST(BufferSnapshot, IsReadWhileAnotherThreadOverwrites) {
  Tensor table = Table();
  const std::string before = BytesOf(table);
  for (int round = 0; round < 5; ++round) {
    Tensor now = table.Clone().value();
    BufferSnapshot snapshot{Tensor(now)};
    std::thread updater([&now, round] {
      std::mt19937_64 random(round);
      for (int i = 0; i < 2000; ++i) {
        const int64_t row = static_cast<int64_t>(random() % kRows);
        const RowIndices rows = Rows({row});
        ASSERT_TRUE(BufferSnapshot::MayOverwrite(now, rows, kRowBytes));
        Overwrite(now, rows, -1);
      }
    });
    EXPECT_EQ(ReadAll(snapshot), before);
    updater.join();
  }
}

class UpdateDuringASaveTest : public OpTest {
 protected:
  ResourceRef<Variable> MakeVariable() {
    auto variable = ResourceRef<Variable>::Adopt(new Variable(DType::kFloat));
    MutexLock lock(&variable->mu());
    variable->mutable_tensor() = Table();
    return variable;
  }
  Status Scatter(const ResourceRef<Variable>& variable) {
    OpOutputs outputs;
    return RunInto("ScatterUpdate",
                   {variable, Tensor::Vector<int32_t>({3}),
                    Tensor::Allocate(DType::kFloat, Shape({1, kColumns})).value()},
                   &outputs);
  }
};

TEST_F(UpdateDuringASaveTest, ChangesRowsWhereTheyAre) {
  const ResourceRef<Variable> variable = MakeVariable();
  const std::string before = BytesOf(variable->Read());
  const void* const place = variable->Read().raw();
  BufferSnapshot snapshot(variable->Read());
  ASSERT_EQ(Scatter(variable), OkStatus());
  EXPECT_EQ(variable->Read().raw(), place);
  EXPECT_EQ(ReadAll(snapshot), before);
}

TEST_F(UpdateDuringASaveTest, WaitsForAReaderThatLeaves) {
  ValueReaders::SetPatienceForTest(std::chrono::seconds(60));
  const ResourceRef<Variable> variable = MakeVariable();
  Tensor reader = variable->Read();
  const void* const place = reader.raw();
  Status updated;
  std::thread update([&] { updated = Scatter(variable); });
  while (ValueReaders::waiting() == 0) std::this_thread::yield();
  reader = Tensor();
  ValueReaders::MayHaveLeft();
  update.join();
  ValueReaders::SetPatienceForTest({});
  EXPECT_EQ(updated, OkStatus());
  EXPECT_EQ(variable->Read().raw(), place);
}

TEST_F(UpdateDuringASaveTest, CopiesWhenAReaderStays) {
  const ResourceRef<Variable> variable = MakeVariable();
  const Tensor reader = variable->Read();
  const std::string before = BytesOf(reader);
  BufferSnapshot snapshot(variable->Read());
  ASSERT_EQ(Scatter(variable), OkStatus());
  EXPECT_NE(variable->Read().raw(), reader.raw());
  EXPECT_EQ(BytesOf(reader), before);
  EXPECT_EQ(ReadAll(snapshot), before);
}

}  // namespace
}  // namespace tensorfleet
