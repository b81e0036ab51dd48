// Gradients through calls of functions, whose bodies take their places.
#include "runtime/client/gradients/calls.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "runtime/client/control_flow.h"
#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/term.h"
#include "runtime/client/testing/cluster.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_client::TestCluster;

// Functions of one float: cube calls square; grow multiplies and counts in the variable that its
// handle names; down is a While of halve; endless calls itself; given has a gradient of its own.
constexpr char kFunctions[] = R"(
  versions { producer: 1645 }
  library {
    function {
      signature { name: "square" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "mul" op: "Mul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "mul:z:0" } }
    function {
      signature { name: "cube" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "squared" op: "square" input: "x" }
      node_def { name: "mul" op: "Mul" input: "squared:y:0" input: "x" device: "/job:ps"
                 attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "mul:z:0" } }
    function {
      signature { name: "local_cube" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "squared" op: "square" input: "x" }
      node_def { name: "mul" op: "Mul" input: "squared:y:0" input: "x"
                 attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "mul:z:0" } }
    function {
      signature { name: "grow" is_stateful: true
                  input_arg { name: "x" type: DT_FLOAT } input_arg { name: "v" type: DT_RESOURCE }
                  output_arg { name: "y" type: DT_FLOAT } control_output: "counted" }
      node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
                 attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node_def { name: "add" op: "AssignAddVariableOp" input: "v" input: "one:output:0"
                 attr { key: "dtype" value { type: DT_FLOAT } } }
      node_def { name: "mul" op: "Mul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "mul:z:0" } control_ret { key: "counted" value: "add" } }
    function {
      signature { name: "endless" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "again" op: "endless" input: "x" }
      ret { key: "y" value: "again:y:0" } }
    function {
      signature { name: "given" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "neg:y:0" } }
    function {
      signature { name: "given_gradient"
                  input_arg { name: "x" type: DT_FLOAT } input_arg { name: "dy" type: DT_FLOAT }
                  output_arg { name: "dx" type: DT_FLOAT } }
      node_def { name: "mul" op: "Mul" input: "x" input: "dy" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "dx" value: "mul:z:0" } }
    function {
      signature { name: "above_one" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_BOOL } }
      node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
                 attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node_def { name: "greater" op: "Greater" input: "x" input: "one:output:0"
                 attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "greater:z:0" } }
    function {
      signature { name: "halve" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "half" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
                 attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
      node_def { name: "mul" op: "Mul" input: "x" input: "half:output:0"
                 attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "mul:z:0" } }
    gradient { function_name: "given" gradient_func: "given_gradient" }
  })";

class CallGradients : public testing::Test {
 protected:
  CallGradients() {
    tensorflow::GraphDef def;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFunctions, &def));
    EXPECT_TRUE(root_.Import(def).ok());
  }

  static tensorflow::NameAttrList Function(const std::string& name) {
    tensorflow::NameAttrList function;
    function.set_name(name);
    return function;
  }
  Output Call(const std::string& function, const Output& x) {
    return ops::PartitionedCall(root_.Named("call"), {x}, {DType::kFloat}, Function(function))[0];
  }
  Output Slope(const Output& y, const Output& x) {
    return AddSymbolicGradients(root_, {y}, {x})[0].dense();
  }
  std::vector<float> Run(const std::vector<Output>& fetches, const Session::Feeds& feeds = {}) {
    return RunIn(*Session::Open("").value(), fetches, feeds);
  }
  std::vector<float> RunIn(Session& session, const std::vector<Output>& fetches,
                           const Session::Feeds& feeds = {}) {
    tensorflow::RunOptions options;
    options.set_timeout_in_ms(20000);
    const auto values = session.Run(root_, feeds, fetches, {}, options);
    std::vector<float> numbers;
    EXPECT_TRUE(values.ok()) << values.status();
    if (!values.ok()) return numbers;
    for (const Tensor& value : *values) numbers.push_back(value.scalar<float>());
    return numbers;
  }
  std::string Error() const { return std::string(root_.status().message()); }

  Scope root_;
};

TEST_F(CallGradients, AreThoseOfTheBodyAndOfTheCallsInIt) {
  const Output x = Const(root_, 2.0f), y = Call("local_cube", x);
  EXPECT_THAT(Run({Slope(y, x), y}), ElementsAre(12, 8));
}

TEST_F(CallGradients, AreThereForCallsByName) {
  const Output x = Const(root_, 3.0f);
  tensorflow::GraphDef def;
  tensorflow::NodeDef* node = def.add_node();
  node->set_name("by_name");
  node->set_op("square");
  node->add_input(x.op().name());
  ASSERT_TRUE(root_.Import(def).ok());
  EXPECT_THAT(Run({Slope(*root_.FindOutput("by_name"), x)}), ElementsAre(6));
}

TEST_F(CallGradients, LeaveTheCallItsNameAndItsUsers) {
  const Output x = Const(root_, 2.0f), y = Call("local_cube", x), z = ops::Neg(root_, y);
  const Output slope = Slope(z, x);
  int found = 0;
  const tensorflow::GraphDef def = *root_.ToGraphDef();
  for (const tensorflow::NodeDef& node : def.node()) {
    found += node.name() == "call";
    EXPECT_NE(node.op(), "PartitionedCall") << node.name();
  }
  EXPECT_EQ(found, 1);
  // What is fed for the call reaches them.
  EXPECT_THAT(Run({z}, {{y, Tensor::Scalar(5.0f)}}), ElementsAre(-5));
  EXPECT_THAT(Run({slope}), ElementsAre(-12));
}

TEST_F(CallGradients, ReachWhatIsBuiltOnTheCallAfterwards) {
  const Output x = Const(root_, 2.0f), y = Call("local_cube", x);
  Slope(y, x);
  const Output again = ops::Square(root_.After({y.op()}), y);  // x^6
  EXPECT_THAT(Run({Slope(again, x)}), ElementsAre(192));
  // Also by import, and to the call itself.
  tensorflow::GraphDef def;
  tensorflow::NodeDef* node = def.add_node();
  node->set_name("imported");
  node->set_op("square");
  node->add_input("call");
  ASSERT_TRUE(root_.Import(def).ok());
  const Output imported = *root_.FindOutput("imported");
  EXPECT_THAT(Run({Slope(imported, x), Slope(imported, y)}), ElementsAre(192, 16));
}

TEST_F(CallGradients, OfGradientsAreSecondDerivatives) {
  const Output x = Const(root_, 2.0f), y = Call("local_cube", x);
  EXPECT_THAT(Run({Slope(Slope(y, x), x)}), ElementsAre(12));
}

TEST_F(CallGradients, RunTheSideEffectsOfTheCallOnce) {
  const Output v = ops::VarHandleOp(root_.Named("v"), DType::kFloat, PartialShape(Shape({})));
  const Operation init = ops::AssignVariableOp(root_, v, Const(root_, 0.0f));
  const Output x = Const(root_, 3.0f);
  const Output y =
      ops::StatefulPartitionedCall(root_, {x, v}, {DType::kFloat}, Function("grow"))[0];
  const Output slope = Slope(y, x), count = ops::ReadVariableOp(root_, v, DType::kFloat);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root_, {}, {}, {init}).ok());
  EXPECT_THAT(RunIn(*session, {y, slope}), ElementsAre(9, 6));
  EXPECT_THAT(RunIn(*session, {count}), ElementsAre(1));
  // Of the gradient alone, too.
  EXPECT_THAT(RunIn(*session, {slope}), ElementsAre(6));
  EXPECT_THAT(RunIn(*session, {count}), ElementsAre(2));
}

TEST_F(CallGradients, ComeFromTheFunctionThatTheLibraryGives) {
  const Output x = Const(root_, 5.0f), y = Call("given", x);
  EXPECT_THAT(Run({y, Slope(y, x)}), ElementsAre(-5, 5));
}

TEST_F(CallGradients, OfIfAreThoseOfTheBranchThatIsTaken) {
  const Output x = Const(root_, 3.0f), takes = ops::Placeholder(root_, DType::kBool);
  const Output y = ops::StatelessIf(root_, takes, {x}, {DType::kFloat}, Function("square"),
                                    Function("halve"))[0];
  const Output slope = Slope(y, x);
  EXPECT_THAT(Run({y, slope}, {{takes, Tensor::Scalar(true)}}), ElementsAre(9, 6));
  EXPECT_THAT(Run({y, slope}, {{takes, Tensor::Scalar(false)}}), ElementsAre(1.5, 0.5));
}

TEST_F(CallGradients, OfCaseTakeTheLastBranchOutOfRange) {
  const Output x = Const(root_, 3.0f), index = ops::Placeholder(root_, DType::kInt32);
  Node* node = root_.AddOp("StatelessCase", {index, x}, [](tensorflow::NodeDef* def) {
    auto& attrs = *def->mutable_attr();
    attrs["Tin"].mutable_list()->add_type(tensorflow::DT_FLOAT);
    attrs["Tout"].mutable_list()->add_type(tensorflow::DT_FLOAT);
    for (const char* name : {"square", "halve", "local_cube"}) {
      *attrs["branches"].mutable_list()->add_func() = Function(name);
    }
  });
  const Output y(node, 0);
  const Output slope = Slope(y, x);
  EXPECT_THAT(Run({slope}, {{index, Tensor::Scalar<int32_t>(0)}}), ElementsAre(6));
  EXPECT_THAT(Run({slope}, {{index, Tensor::Scalar<int32_t>(1)}}), ElementsAre(0.5));
  EXPECT_THAT(Run({slope}, {{index, Tensor::Scalar<int32_t>(2)}}), ElementsAre(27));
  EXPECT_THAT(Run({slope}, {{index, Tensor::Scalar<int32_t>(-7)}}), ElementsAre(27));
}

TEST_F(CallGradients, OfWhileAreThoseOfAllRounds) {
  const Output x = ops::Placeholder(root_, DType::kFloat);
  const Output y = ops::StatelessWhile(root_, {x}, Function("above_one"), Function("halve"))[0];
  const Output slope = Slope(y, x);
  EXPECT_THAT(Run({y, slope}, {{x, Tensor::Scalar(12.0f)}}), ElementsAre(0.75, 0.0625));
  EXPECT_THAT(Run({y, slope}, {{x, Tensor::Scalar(0.5f)}}), ElementsAre(0.5, 1));
}

TEST_F(CallGradients, MayBeInsideADataflowLoop) {
  const Output x = Const(root_, 1.5f), n = Const(root_, int32_t{2});
  const Output y = WhileLoop(
      root_, {Const(root_, int32_t{0}), x}, {n},
      [](const Scope& s, const Outputs& v, const Outputs& c) { return ops::Less(s, v[0], c[0]); },
      [&](const Scope& s, const Outputs& v, const Outputs&) {
        return Outputs{Term(s, v[0]) + 1,
                       ops::PartitionedCall(s, {v[1]}, {DType::kFloat}, Function("square"))[0]};
      })[1];
  EXPECT_THAT(Run({Slope(y, x)}), ElementsAre(4 * 1.5f * 1.5f * 1.5f));
}

TEST_F(CallGradients, GoWhereTheBodysNodesAre) {
  const TestCluster cluster({{"ps", 1}, {"worker", 1}});
  const Scope there = root_.OnDevice("/job:worker/task:0");
  const Output x = Const(there, 2.0f);
  const Output y = ops::PartitionedCall(there, {x}, {DType::kFloat}, Function("cube"))[0];
  const Output n = Const(there, 20.0f);
  const Output z = ops::While(there, {n}, Function("above_one"), Function("halve"))[0];
  const std::unique_ptr<Session> session = cluster.Open("worker");
  EXPECT_THAT(RunIn(*session, {Slope(y, x), y, Slope(z, n)}), ElementsAre(12, 8, 0.03125));
}

TEST_F(CallGradients, AreRefusedForARecursion) {
  const Output x = Const(root_, 5.0f);
  Slope(Call("endless", x), x);
  EXPECT_EQ(root_.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Error(), HasSubstr("the function endless calls itself"));
}

TEST_F(CallGradients, AreRefusedWhereANumberDecides) {
  const Output x = Const(root_, 5.0f);
  Slope(ops::StatelessIf(root_, x, {x}, {DType::kFloat}, Function("square"), Function("halve"))[0],
        x);
  EXPECT_EQ(root_.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Error(), HasSubstr("a bool"));
}

TEST_F(CallGradients, AreRefusedToASessionThatHasTheCall) {
  const Output x = Const(root_, 2.0f), y = Call("local_cube", x);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root_, {}, {y}).ok());
  const Output slope = Slope(y, x);
  const auto refused = session->Run(root_, {}, {slope});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("the call 'call' was replaced"));
  EXPECT_THAT(Run({slope}), ElementsAre(12));  // another session
}

}  // namespace
}  // namespace tensorfleet
