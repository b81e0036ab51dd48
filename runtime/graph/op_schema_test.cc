#include "runtime/graph/op_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/op_def.pb.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OpSchema, ReadsEveryKindOfSpecification) {
  const OpSchema schema = *OpSchemaBuilder("X")
                               .Input("a: T")
                               .Input("values: N * T")
                               .Input("rest: Tin")
                               .Input("ref: Ref(T)")
                               .Output("out: int64")
                               .Attr("T: {float, half} = DT_FLOAT")
                               .Attr("N: int >= 1")
                               .Attr("Tin: list(type) >= 0")
                               .Attr("padding: {'SAME', 'VALID'} = 'SAME'")
                               .Attr("dims: list(int) = [1, 2]")
                               .Attr("shape: shape = { unknown_rank: true }")
                               .Build();
  EXPECT_EQ(schema.inputs[0].type_attr, "T");
  EXPECT_EQ(schema.inputs[1].number_attr, "N");
  EXPECT_EQ(schema.inputs[2].type_list_attr, "Tin");
  EXPECT_TRUE(schema.inputs[3].is_ref);
  EXPECT_EQ(schema.outputs[0].type, DType::kInt64);
  EXPECT_THAT(schema.FindAttr("T")->allowed_types, ElementsAre(DType::kFloat, DType::kHalf));
  EXPECT_EQ(*schema.FindAttr("N")->minimum, 1);
  EXPECT_THAT(schema.FindAttr("padding")->allowed_strings, ElementsAre("SAME", "VALID"));
  EXPECT_EQ(schema.FindAttr("dims")->default_value->list().i(1), 2);
  EXPECT_TRUE(schema.FindAttr("shape")->default_value->shape().unknown_rank());
}

TEST(OpSchema, SurvivesItsMessageForm) {
  const OpSchema schema = *OpSchemaBuilder("X")
                               .Input("a: N * T")
                               .Output("b: T")
                               .Attr("T: type")
                               .Attr("N: int >= 2")
                               .Build();
  tensorflow::OpDef def;
  OpSchemaToProto(schema, &def);
  EXPECT_EQ(OpSchemaFromProto(def)->Summary(), schema.Summary());
}

class BadSpecification : public testing::TestWithParam<const char*> {};
TEST_P(BadSpecification, IsRefusedWithTheOpsName) {
  const Status status = OpSchemaBuilder("Broken").Attr(GetParam()).Build().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("Broken"));
}
INSTANTIATE_TEST_SUITE_P(OpSchema, BadSpecification,
                         testing::Values("T", "T: typ", "T: {float", "N: int >= x", "N: int = y",
                                         "N: int 3", "b: bool = 1", "l: list(int) = 3"));

TEST(OpRegistry, AnUnknownOpIsNamedAndTheListPointedTo) {
  OpRegistry ops;
  const Status status = ops.Find("Nope").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Op type not registered 'Nope'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensorfleet ops"));
}

}  // namespace
}  // namespace tensorfleet
