#include "runtime/graph/function_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using testing_ops::Parse;

constexpr char kTwice[] = R"(
  function {
    signature { name: "Twice" input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
                attr { name: "T" type: "type" } }
    node_def { name: "join" op: "Join" input: "x" input: "x" input: "^other"
               attr { key: "N" value { i: 2 } } attr { key: "T" value { placeholder: "T" } } }
    node_def { name: "other" op: "Pair" }
    ret { key: "y" value: "join:out:0" }
    control_ret { key: "done" value: "other" } })";

std::shared_ptr<const FunctionLibrary> LibraryOf(const std::string& text) {
  return *FunctionLibrary::FromProto(Parse<tensorflow::FunctionDefLibrary>(text));
}

google::protobuf::Map<std::string, tensorflow::AttrValue> WithT(DType type) {
  google::protobuf::Map<std::string, tensorflow::AttrValue> attrs;
  attrs["T"].set_type(static_cast<tensorflow::DataType>(type));
  return attrs;
}

TEST(FunctionLibrary, InstantiatesABodyForTheTypeOfTheCall) {
  const FunctionBody body =
      *InstantiateFunction(testing_ops::Ops(), LibraryOf(kTwice), "Twice", WithT(DType::kInt32));
  ASSERT_EQ(body.args.size(), 1u);
  ASSERT_EQ(body.returns.size(), 1u);
  EXPECT_EQ(body.args[0]->output_type(0), DType::kInt32);
  const Node* join = body.returns[0]->in_edge(0)->src;
  EXPECT_EQ(join->name(), "join");
  EXPECT_EQ(join->in_edge(1)->src, body.args[0]);
  EXPECT_EQ(body.control_returns[0]->name(), "other");
}

TEST(FunctionLibrary, AMissingAttributeOfTheCallIsNamed) {
  const Status status =
      InstantiateFunction(testing_ops::Ops(), LibraryOf(kTwice), "Twice", {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("'T'"));
}

TEST(FunctionLibrary, AFunctionMayBeCalledByItsName) {
  Graph graph(&testing_ops::Ops(), LibraryOf(kTwice));
  const auto def = Parse<tensorflow::NodeDef>(
      R"(name: "call" op: "Twice" attr { key: "T" value { type: DT_FLOAT } })");
  const StatusOr<Node*> node = graph.AddNode(def);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)->input_type(0), DType::kFloat);
}

TEST(FunctionLibrary, RefusesTwoDifferentFunctionsOfOneName) {
  std::string other = kTwice;
  other.replace(other.find("join:out:0"), 10, "x         ");
  other.replace(other.find("x         "), 10, "x");
  EXPECT_FALSE(LibraryOf(kTwice)->With(Parse<tensorflow::FunctionDefLibrary>(other)).ok());
  EXPECT_TRUE(LibraryOf(kTwice)->With(Parse<tensorflow::FunctionDefLibrary>(kTwice)).ok());
}

class BrokenBody : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BrokenBody, IsRefusedWithTheFunctionsName) {
  std::string text = kTwice;
  const auto [from, to] = GetParam();
  text.replace(text.find(from), std::string(from).size(), to);
  const Status status =
      InstantiateFunction(testing_ops::Ops(), LibraryOf(text), "Twice", WithT(DType::kFloat))
          .status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("function 'Twice'"));
}
INSTANTIATE_TEST_SUITE_P(FunctionLibrary, BrokenBody,
                         testing::Values(std::pair("join:out:0", "join:out:1"),
                                         std::pair("join:out:0", "join:nope:0"),
                                         std::pair("join:out:0", "gone"),
                                         std::pair("input: \"x\" input: \"x\"", "input: \"x\""),
                                         std::pair("^other", "^gone"),
                                         std::pair("op: \"Pair\"", "op: \"Nope\"")));

TEST(FunctionLibrary, AnUnknownFunctionIsNamed) {
  EXPECT_EQ(InstantiateFunction(testing_ops::Ops(), LibraryOf(kTwice), "Gone", {}).status(),
            NotFound("Function Gone is not defined."));
}

}  // namespace
}  // namespace tensorfleet
