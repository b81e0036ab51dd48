// Parsing through the kernels: what the op test, which compares with TensorFlow, cannot show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/example.pb.h"
#include "runtime/kernels/cpu/parsing/example_wire.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet::cpu {
namespace {

using ::testing::HasSubstr;
using Parsing = OpTest;

Tensor Strings(std::initializer_list<std::string> v) { return Tensor::Vector<std::string>(v); }

std::string ExampleOf(int64_t id, int64_t values) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["id"].mutable_int64_list()->add_value(id);
  for (int64_t i = 0; i < values; ++i) features["many"].mutable_int64_list()->add_value(id + i);
  return example.SerializeAsString();
}

OpNode ParseNode() {
  return OpNode("ParseExampleV2")
      .Attr("num_sparse", 1)
      .Attr("sparse_types", std::vector<DType>{DType::kInt64})
      .Attr("ragged_value_types", std::vector<DType>{})
      .Attr("ragged_split_types", std::vector<DType>{})
      .Attr("dense_shapes", std::vector<PartialShape>{PartialShape(Shape())});
}

// A batch large enough to be shared out: rows come in order whoever parsed them.
TEST_F(Parsing, ThreadsPutTheirRowsTogetherInOrder) {
  constexpr int64_t kRows = 20000;
  Tensor serialized = *Tensor::Allocate(DType::kString, {kRows});
  for (int64_t i = 0; i < kRows; ++i) {
    serialized.mutable_values<std::string>()[i] = ExampleOf(i, i % 3);
  }
  const Tensor none = *Tensor::Allocate(DType::kString, {0});
  const auto out = Run(ParseNode(), {serialized, none, Strings({"many"}), Strings({"id"}), none,
                                     *Tensor::Allocate(DType::kInt64, {0})});
  ASSERT_EQ(out.status(), absl::OkStatus());
  const auto indices = (*out)[0].values<int64_t>(), values = (*out)[1].values<int64_t>();
  const auto ids = (*out)[3].values<int64_t>();
  size_t at = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(ids[i], i);
    for (int64_t k = 0; k < i % 3; ++k, ++at) {
      ASSERT_EQ(indices[2 * at], i);
      ASSERT_EQ(indices[2 * at + 1], k);
      ASSERT_EQ(values[at], i + k);
    }
  }
  EXPECT_EQ(at, values.size());
}

TEST_F(Parsing, AsManyDenseTypesAsKeys) {
  const OpNode node =
      OpNode("ParseExample")
          .Attr("Nsparse", 0)
          .Attr("Ndense", 1)
          .Attr("sparse_types", std::vector<DType>{})
          .Attr("Tdense", std::vector<DType>{DType::kInt64, DType::kInt64})
          .Attr("dense_shapes", std::vector<PartialShape>(2, PartialShape(Shape())));
  const Status status =
      Run(node, {Strings({ExampleOf(1, 2)}), *Tensor::Allocate(DType::kString, {0}),
                 Strings({"id"}), Tensor::Scalar<int64_t>(0), Tensor::Scalar<int64_t>(0)})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("len(dense_types) != len(dense_keys): 2 vs. 1"));
}

TEST_F(Parsing, AMessageOfAMalformedExampleIsText) {
  const Tensor none = *Tensor::Allocate(DType::kString, {0});
  const Status status = Run(ParseNode(), {Strings({"\xff\xfe"}), none, Strings({"many"}),
                                          Strings({"id"}), none, Tensor::Scalar<int64_t>(0)})
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("value: '\\xff\\xfe'"));
}

TEST_F(Parsing, AFieldOfARecordIsNamedInErrors) {
  EXPECT_THAT(
      std::string(Run(OpNode("DecodeCSV"), {Strings({"1,2", "1,x"}), Tensor::Scalar<int32_t>(0),
                                            Tensor::Scalar<int32_t>(0)})
                      .status()
                      .message()),
      HasSubstr("Field 1 in record 1 is not a valid int32: x"));
}

TEST(WireReader, StaysInsideItsBytes) {
  uint64_t value = 0;
  EXPECT_FALSE(WireReader(std::string(11, '\x80')).ReadVarint(&value));
  EXPECT_FALSE(WireReader("\x80").ReadVarint(&value));
  absl::string_view bytes;
  EXPECT_FALSE(WireReader("\x05xx").ReadBytes(&bytes));
  WireReader message;
  WireReader cut("\x05xx");
  EXPECT_TRUE(cut.ReadMessage(&message));
  EXPECT_EQ(message.rest(), "xx");
}

}  // namespace
}  // namespace tensorfleet::cpu
