// Staging areas: what waits, and for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet::portable {
namespace {

class Staging : public OpTest {
 protected:
  static OpNode Node(const char* op, int64_t capacity = 0) {
    OpNode node(op);
    node.Attr("shared_name", "area").Attr("capacity", capacity);
    if (std::string(op) != "Stage") node.Attr("dtypes", std::vector<DType>{DType::kInt32});
    return node;
  }
  static Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
};

TEST_F(Staging, ATakerWaitsForATuple) {
  std::thread later([this] { EXPECT_EQ(Run(Node("Stage"), {Int(7)}).status(), absl::OkStatus()); });
  ExpectSame(RunOne(Node("Unstage"), {}), Int(7));
  later.join();
}

TEST_F(Staging, AFullAreaLetsNobodyInUntilSomethingIsTaken) {
  ASSERT_EQ(Run(Node("Stage", 1), {Int(1)}).status(), absl::OkStatus());
  std::thread later([this] { ExpectSame(RunOne(Node("Unstage", 1), {}), Int(1)); });
  EXPECT_EQ(Run(Node("Stage", 1), {Int(2)}).status(), absl::OkStatus());
  later.join();
  ExpectSame(RunOne(Node("StageSize", 1), {}), Int(1));
}

TEST_F(Staging, AWaitEndsWithItsStep) {
  std::thread later([this] { cancellation().StartCancel(); });
  EXPECT_EQ(Run(Node("Unstage"), {}).status().code(), absl::StatusCode::kCancelled);
  later.join();
}

TEST_F(Staging, WhatIsLargerThanTheLimitIsRefused) {
  EXPECT_EQ(Run(Node("Stage").Attr("memory_limit", 3), {Int(1)}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(Staging, AKeysTupleIsGivenOnceItIsWhole) {
  const auto stage = [this](int64_t key, int32_t place, int32_t value) {
    OpNode node("MapStage");
    node.Attr("shared_name", "map")
        .Attr("dtypes", std::vector<DType>{DType::kInt32, DType::kInt32});
    return Run(node, {Tensor::Scalar<int64_t>(key), Tensor::Vector<int32_t>({place}), Int(value)})
        .status();
  };
  ASSERT_EQ(stage(5, 1, 51), absl::OkStatus());
  EXPECT_EQ(stage(5, 1, 51).code(), absl::StatusCode::kInvalidArgument);  // is there already
  EXPECT_EQ(stage(5, 2, 51).code(), absl::StatusCode::kInvalidArgument);
  std::thread later([&] { EXPECT_EQ(stage(5, 0, 50), absl::OkStatus()); });
  OpNode node("MapUnstage");
  node.Attr("shared_name", "map").Attr("dtypes", std::vector<DType>{DType::kInt32, DType::kInt32});
  const auto got = Run(node, {Tensor::Scalar<int64_t>(5), Tensor::Vector<int32_t>({0, 1})});
  later.join();
  ASSERT_EQ(got.status(), absl::OkStatus());
  ExpectSame((*got)[0], Int(50));
  ExpectSame((*got)[1], Int(51));
}

}  // namespace
}  // namespace tensorfleet::portable
