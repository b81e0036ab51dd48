#include "runtime/graph/attr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_ops::Parse;

TEST(Attr, EveryKindReadsBackWhatWasSet) {
  tensorflow::NodeDef node;
  SetAttr(&node, "i", 7);
  SetAttr(&node, "s", "text");
  SetAttr(&node, "t", DType::kHalf);
  SetAttr(&node, "shape", PartialShape({2, -1}));
  SetAttr(&node, "value", Tensor::Vector<float>({1, 2}));
  SetAttr(&node, "list", absl::Span<const int64_t>({3, 4}));
  EXPECT_EQ(*GetAttr<int64_t>(node, "i"), 7);
  EXPECT_EQ(*GetAttr<std::string>(node, "s"), "text");
  EXPECT_EQ(*GetAttr<DType>(node, "t"), DType::kHalf);
  EXPECT_EQ(*GetAttr<PartialShape>(node, "shape"), PartialShape({2, -1}));
  EXPECT_EQ(GetAttr<Tensor>(node, "value")->ToString(), "float [2]: 1 2");
  EXPECT_THAT(*GetAttr<std::vector<int64_t>>(node, "list"), ElementsAre(3, 4));
}

TEST(Attr, AnotherKindIsAnErrorThatNamesBoth) {
  auto node = Parse<tensorflow::NodeDef>(R"(name: "n" op: "X" attr { key: "a" value { i: 1 } })");
  const Status status = GetAttr<bool>(node, "a").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("attr 'a' of node 'n' (X) holds int"));
  EXPECT_FALSE(GetAttrOr<bool>(node, "a", true).ok());
  EXPECT_TRUE(*GetAttrOr<bool>(node, "absent", true));
}

TEST(Attr, AnEmptyListIsAListOfAnyKind) {
  auto node = Parse<tensorflow::NodeDef>(R"(attr { key: "l" value { list { } } })");
  EXPECT_TRUE(GetAttr<std::vector<DType>>(node, "l")->empty());
  EXPECT_TRUE(GetAttr<std::vector<std::string>>(node, "l")->empty());
}

TEST(CompleteAttrs, FillsDefaultsAndNamesWhatIsMissing) {
  auto node = Parse<tensorflow::NodeDef>(R"(name: "c" op: "Copy")");
  ASSERT_TRUE(CompleteAttrs(**testing_ops::Ops().Find("Copy"), &node).ok());
  EXPECT_EQ(*GetAttr<DType>(node, "T"), DType::kFloat);
  node = Parse<tensorflow::NodeDef>(R"(name: "zx" op: "NeedsAttr")");
  const Status status = CompleteAttrs(**testing_ops::Ops().Find("NeedsAttr"), &node);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("NodeDef missing attr 'value' from Op<name=NeedsAttr"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node zx}}"));
}

TEST(CompleteAttrs, RefusesValuesThatTheSchemaForbids) {
  const OpSchema& join = **testing_ops::Ops().Find("Join");
  auto node =
      Parse<tensorflow::NodeDef>(R"(name: "j" op: "Join" attr { key: "N" value { i: 0 } })");
  EXPECT_THAT(std::string(CompleteAttrs(join, &node).message()), HasSubstr("at least minimum 1"));
  node = Parse<tensorflow::NodeDef>(R"(name: "j" op: "Join" attr { key: "N" value { s: "x" } })");
  EXPECT_FALSE(CompleteAttrs(join, &node).ok());
}

TEST(StripDefaultAttrs, UndoesWhatCompleteAttrsDid) {
  auto node = Parse<tensorflow::NodeDef>(R"(name: "c" op: "Copy")");
  const OpSchema& copy = **testing_ops::Ops().Find("Copy");
  ASSERT_TRUE(CompleteAttrs(copy, &node).ok());
  StripDefaultAttrs(copy, &node);
  EXPECT_TRUE(node.attr().empty());
}

TEST(TypesOf, RefusesAnAbsurdNumberOfInputs) {
  auto node = Parse<tensorflow::NodeDef>(
      R"(name: "j" op: "Join" attr { key: "N" value { i: 9000000000000000000 } }
         attr { key: "T" value { type: DT_FLOAT } })");
  EXPECT_FALSE(TypesOf(**testing_ops::Ops().Find("Join"), node).ok());
}

TEST(OutputRange, FindsWhereAnArgumentLies) {
  auto node =
      Parse<tensorflow::NodeDef>(R"(name: "p" op: "Pair" attr { key: "N" value { i: 3 } })");
  const ArgRange range = *OutputRange(**testing_ops::Ops().Find("Pair"), node, "b");
  EXPECT_EQ(range.begin, 1);
  EXPECT_EQ(range.end, 4);
}

}  // namespace
}  // namespace tensorfleet
