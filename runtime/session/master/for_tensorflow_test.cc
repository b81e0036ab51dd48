#include "runtime/session/master/for_tensorflow.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Lines(const tensorflow::GraphDef& graph) {
  std::vector<std::string> lines;
  for (const tensorflow::NodeDef& node : graph.node()) {
    lines.push_back(
        absl::StrCat(node.name(), " = ", node.op(), "(", absl::StrJoin(node.input(), ", "), ")"));
  }
  return lines;
}

TEST(PrepareForTensorFlow, ReplacesAParallelConcatByUpdatesOfItsRows) {
  tensorflow::GraphDef piece;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(node { name: "stack" op: "ParallelConcat" input: "a:1" input: "b" input: "^k" device: "/d"
                attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } }
                attr { key: "shape" value { shape { dim { size: 2 } } } } }
         node { name: "use" op: "Neg" input: "stack" })",
      &piece));
  PrepareForTensorFlow(&piece);
  EXPECT_THAT(Lines(piece),
              ElementsAre("stack = _ParallelConcatUpdate(stack/row_0, b)", "use = Neg(stack)",
                          "stack/start = _ParallelConcatStart(^a, ^k)",
                          "stack/row_0 = _ParallelConcatUpdate(stack/start, a:1)"));
  EXPECT_EQ(piece.node(0).attr().at("loc").i(), 1);
  EXPECT_EQ(piece.node(0).device(), "/d");
  EXPECT_EQ(piece.node(2).attr().at("shape").shape().dim(0).size(), 2);
  EXPECT_FALSE(piece.node(0).attr().contains("N"));
}

}  // namespace
}  // namespace tensorfleet
