#include "runtime/graph/shape_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using testing_ops::Parse;

// Ops with shape rules: Same copies its input's shape, Of makes the shape that its input names.
const OpRegistry& Ops() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    made->Add(
        OpSchemaBuilder("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type"));
    made->Add(
        OpSchemaBuilder("Same").Input("in: float").Output("out: float").Shape([](ShapeContext& c) {
          c.set_output(0, c.input(0));
          return c.RequireRank(0, 2);
        }));
    made->Add(OpSchemaBuilder("Of")
                  .Input("dims: int32")
                  .Output("out: float")
                  .Shape([](ShapeContext& c) -> Status {
                    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(0));
                    c.set_output(0, std::move(shape));
                    return OkStatus();
                  }));
    return made;
  }();
  return *ops;
}

StatusOr<std::vector<std::vector<PartialShape>>> Infer(const std::string& text) {
  Graph graph(&Ops(), nullptr);
  TFLEET_RETURN_IF_ERROR(ImportGraphDef(Parse<tensorflow::GraphDef>(text), {}, &graph));
  return InferShapes(graph);
}

TEST(InferShapes, FollowsConstantsThroughRules) {
  const auto shapes = Infer(R"(
    node { name: "dims" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
                                                int_val: 4 int_val: -1 } } } }
    node { name: "of" op: "Of" input: "dims" }
    node { name: "same" op: "Same" input: "of" })");
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_EQ((*shapes)[2][0], PartialShape({4, -1}));
}

TEST(InferShapes, ARuleThatFailsNamesTheNode) {
  const auto shapes = Infer(R"(
    node { name: "dims" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 4 } } } }
    node { name: "of" op: "Of" input: "dims" }
    node { name: "bad" op: "Same" input: "of" })");
  EXPECT_THAT(std::string(shapes.status().message()),
              HasSubstr("Shape must be rank 2 but is rank 1 for input 0"));
  EXPECT_THAT(std::string(shapes.status().message()), HasSubstr("{{node bad}}"));
}

}  // namespace
}  // namespace tensorfleet
