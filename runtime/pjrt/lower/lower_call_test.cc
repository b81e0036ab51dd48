// Branches and loops that are compiled as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "runtime/pjrt/testing/compiled_test.h"

namespace tensorfleet::pjrt {
namespace {

using ::testing::HasSubstr;

constexpr char kFunctions[] = R"(
  function {
    signature { name: "IsBelow" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "less" op: "Less" input: "i" input: "n" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "r" value: "less:z:0" } }
  function {
    signature { name: "Double" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "m" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "twice" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "same" op: "Identity" input: "n" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "j" value: "next:z:0" } ret { key: "y" value: "twice:z:0" } ret { key: "m" value: "same:output:0" } }
  function {
    signature { name: "Grow" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "m" type: DT_INT32 } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
    node_def { name: "both" op: "ConcatV2" input: "x" input: "x" input: "zero:output:0"
               attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } }
               attr { key: "Tidx" value { type: DT_INT32 } } }
    ret { key: "j" value: "i" } ret { key: "y" value: "both:output:0" } ret { key: "m" value: "n" } }
  function {
    signature { name: "Repeat" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "m" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "start" op: "Sub" input: "n" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "inner" op: "While" input: "start:z:0" input: "x" input: "n"
               attr { key: "T" value { list { type: [DT_INT32, DT_FLOAT, DT_INT32] } } }
               attr { key: "cond" value { func { name: "IsBelow" } } }
               attr { key: "body" value { func { name: "Double" } } } }
    ret { key: "j" value: "next:z:0" } ret { key: "y" value: "inner:output:1" } ret { key: "m" value: "n" } }
  function {
    signature { name: "Follow" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "m" type: DT_INT32 } }
    node_def { name: "links" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: [1, 7, 0] } } } }
    node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
    node_def { name: "next" op: "GatherV2" input: "links:output:0" input: "i" input: "axis:output:0"
               attr { key: "Tparams" value { type: DT_INT32 } } attr { key: "Tindices" value { type: DT_INT32 } }
               attr { key: "Taxis" value { type: DT_INT32 } } }
    ret { key: "j" value: "next:output:0" } ret { key: "y" value: "x" } ret { key: "m" value: "n" } }
  function {
    signature { name: "Always" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "yes" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
               attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
    ret { key: "r" value: "yes:output:0" } }
  function {
    signature { name: "Tiled" input_arg { name: "i" type: DT_INT32 } input_arg { name: "x" type: DT_FLOAT }
                input_arg { name: "n" type: DT_INT32 } output_arg { name: "j" type: DT_INT32 }
                output_arg { name: "y" type: DT_FLOAT } output_arg { name: "m" type: DT_INT32 } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
    node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "sum" op: "Sum" input: "x" input: "axis:output:0" attr { key: "T" value { type: DT_FLOAT } }
               attr { key: "Tidx" value { type: DT_INT32 } } }
    node_def { name: "dims" op: "Reshape" input: "n" input: "shape:output:0" attr { key: "T" value { type: DT_INT32 } }
               attr { key: "Tshape" value { type: DT_INT32 } } }
    node_def { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 } } } }
    node_def { name: "fill" op: "Fill" input: "dims:output:0" input: "sum:output:0" attr { key: "T" value { type: DT_FLOAT } }
               attr { key: "index_type" value { type: DT_INT32 } } }
    ret { key: "j" value: "next:z:0" } ret { key: "y" value: "fill:output:0" } ret { key: "m" value: "n" } }
  function {
    signature { name: "Count" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "w" type: DT_RESOURCE } output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
    node_def { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "read" op: "ReadVariableOp" input: "v" input: "^add" attr { key: "dtype" value { type: DT_FLOAT } } }
    ret { key: "w" value: "v" } ret { key: "y" value: "read:value:0" } }
  function {
    signature { name: "IsSmall" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "r" type: DT_BOOL } is_stateful: true }
    node_def { name: "read" op: "ReadVariableOp" input: "v" attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "ten" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 10 } } } }
    node_def { name: "less" op: "Less" input: "read:value:0" input: "ten:output:0" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "r" value: "less:z:0" } }
  function {
    signature { name: "Negated" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "neg:y:0" } }
  function {
    signature { name: "Squared" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "square" op: "Square" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "square:y:0" } }
  function {
    signature { name: "Bumped" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
    node_def { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "read" op: "ReadVariableOp" input: "v" input: "^add" attr { key: "dtype" value { type: DT_FLOAT } } }
    ret { key: "y" value: "read:value:0" } }
  function {
    signature { name: "Kept" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
    node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "neg:y:0" } }
)";

class LowerCallTest : public CompiledTest {
 protected:
  // A cluster of one call: arguments of types `in`, results of types `out`, of which handles are
  // left out. `attrs` are the call's, as text.
  StatusOr<NodeRun> Run(const std::string& op, const std::vector<DType>& in,
                        const std::vector<DType>& out, const std::string& attrs,
                        const std::vector<Tensor>& variables, const std::vector<Tensor>& inputs) {
    tensorflow::GraphDef body;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFunctions, body.mutable_library()));
    tensorflow::NodeDef* const call = body.add_node();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(attrs, call));
    call->set_name("call");
    call->set_op(op);
    for (size_t i = 0; i < in.size(); ++i) {
      tensorflow::NodeDef* const arg = body.add_node();
      arg->set_name(absl::StrCat("arg", i));
      arg->set_op("_Arg");
      SetAttr(arg, "T", in[i]);
      SetAttr(arg, "index", static_cast<int64_t>(i));
      body.mutable_node(0)->add_input(arg->name());
    }
    std::vector<DType> results;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] == DType::kResource) continue;
      tensorflow::NodeDef* const result = body.add_node();
      result->set_name(absl::StrCat("result", i));
      result->set_op("_Retval");
      SetAttr(result, "T", out[i]);
      SetAttr(result, "index", static_cast<int64_t>(results.size()));
      result->add_input(absl::StrCat("call:", i));
      results.push_back(out[i]);
    }
    return CompiledCluster(body, in, results, variables, inputs);
  }

  // From 0, while i is below n, or as `condition` says: i, x, n = body(i, x, n).
  StatusOr<NodeRun> Loop(const std::string& body, const Tensor& x, int n,
                         const std::string& condition = "IsBelow") {
    const std::vector<DType> types = {DType::kInt32, DType::kFloat, DType::kInt32};
    const std::string attrs = absl::StrCat(
        "attr { key: 'T' value { list { type: [DT_INT32, DT_FLOAT, DT_INT32] } } } "
        "attr { key: 'cond' value { func { name: '",
        condition, "' } } } attr { key: 'body' value { func { name: '", body, "' } } }");
    return Run("While", types, types, attrs, {},
               {Tensor::Scalar<int32_t>(0), x, Tensor::Scalar<int32_t>(n)});
  }
};

TEST_P(LowerCallTest, ALoopGoesRoundAsOftenAsItsConditionSays) {
  for (const int n : {0, 1, 5}) {
    const StatusOr<NodeRun> run = Loop("Double", Tensor::Vector<float>({1, -3}), n);
    ASSERT_TRUE(run.ok()) << run.status();
    const float factor = static_cast<float>(1 << n);
    ExpectSame(run->results[0], Tensor::Scalar<int32_t>(n));
    ExpectSame(run->results[1], Tensor::Vector<float>({factor, -3 * factor}));
    ExpectSame(run->results[2], Tensor::Scalar<int32_t>(n));
  }
}

TEST_P(LowerCallTest, ALoopInALoop) {
  const StatusOr<NodeRun> run = Loop("Repeat", Tensor::Vector<float>({1, -3}), 4);
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectSame(run->results[1], Tensor::Vector<float>({16, -48}));
}

TEST_P(LowerCallTest, ALoopWhoseShapesChangeIsRefused) {
  const Status status = Loop("Grow", Tensor::Vector<float>({1}), 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("shapes change"));
}

// The shape is known when the loop is lowered, since no iteration changes what it comes from.
TEST_P(LowerCallTest, WhatALoopDoesNotChangeMayDescribeAShape) {
  const StatusOr<NodeRun> run = Loop("Tiled", Tensor::Vector<float>({1, 2, 3}), 3);
  ASSERT_TRUE(run.ok()) << run.status();
  ExpectSame(run->results[1], Tensor::Vector<float>({54, 54, 54}));
}

// The index 7 is outside: the host's kernel says so. The loop would go on for ever otherwise.
TEST_P(LowerCallTest, ALoopEndsWithItsFirstFault) {
  const StatusOr<NodeRun> run = Loop("Follow", Tensor::Vector<float>({1}), 0, "Always");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->is_refused);
}

TEST_P(LowerCallTest, ALoopChangesAVariable) {
  const std::vector<DType> types = {DType::kResource, DType::kFloat};
  const StatusOr<NodeRun> run =
      Run("While", types, types,
          "attr { key: 'T' value { list { type: [DT_RESOURCE, DT_FLOAT] } } } "
          "attr { key: 'cond' value { func { name: 'IsSmall' } } } "
          "attr { key: 'body' value { func { name: 'Count' } } }",
          {Tensor::Scalar(1.f)}, {Tensor::Scalar(2.f)});
  ASSERT_TRUE(run.ok()) << run.status();
  // 1, 3, then by what was read: 6, 12.
  ExpectSame(run->variables[0], Tensor::Scalar(12.f));
  ExpectSame(run->results[0], Tensor::Scalar(12.f));
}

TEST_P(LowerCallTest, ABranchIsTakenByTheValueOfTheCondition) {
  for (const bool condition : {false, true}) {
    const StatusOr<NodeRun> run =
        Run("If", {DType::kBool, DType::kFloat}, {DType::kFloat},
            "attr { key: 'Tcond' value { type: DT_BOOL } } attr { key: 'Tin' value { list { type: "
            "[DT_FLOAT] } } } "
            "attr { key: 'Tout' value { list { type: [DT_FLOAT] } } } "
            "attr { key: 'then_branch' value { func { name: 'Negated' } } } "
            "attr { key: 'else_branch' value { func { name: 'Squared' } } }",
            {}, {Tensor::Scalar(condition), Tensor::Vector<float>({3, -2})});
    ASSERT_TRUE(run.ok()) << run.status();
    ExpectSame(run->results[0],
               condition ? Tensor::Vector<float>({-3, 2}) : Tensor::Vector<float>({9, 4}));
  }
}

TEST_P(LowerCallTest, OnlyTheBranchThatIsTakenChangesAVariable) {
  for (const bool condition : {false, true}) {
    const StatusOr<NodeRun> run =
        Run("If", {DType::kBool, DType::kResource, DType::kFloat}, {DType::kFloat},
            "attr { key: 'Tcond' value { type: DT_BOOL } } "
            "attr { key: 'Tin' value { list { type: [DT_RESOURCE, DT_FLOAT] } } } "
            "attr { key: 'Tout' value { list { type: [DT_FLOAT] } } } "
            "attr { key: 'then_branch' value { func { name: 'Bumped' } } } "
            "attr { key: 'else_branch' value { func { name: 'Kept' } } }",
            {Tensor::Scalar(1.f)}, {Tensor::Scalar(condition), Tensor::Scalar(2.f)});
    ASSERT_TRUE(run.ok()) << run.status();
    ExpectSame(run->results[0], Tensor::Scalar(condition ? 3.f : -2.f));
    ExpectSame(run->variables[0], Tensor::Scalar(condition ? 3.f : 1.f));
  }
}

TEST_P(LowerCallTest, ACaseTakesItsLastBranchForANumberThatNamesNone) {
  for (const int which : {-1, 0, 1, 2, 9}) {
    const StatusOr<NodeRun> run = Run("Case", {DType::kInt32, DType::kFloat}, {DType::kFloat},
                                      "attr { key: 'Tin' value { list { type: [DT_FLOAT] } } } "
                                      "attr { key: 'Tout' value { list { type: [DT_FLOAT] } } } "
                                      "attr { key: 'branches' value { list { func { name: "
                                      "'Negated' } func { name: 'Squared' } } } }",
                                      {}, {Tensor::Scalar<int32_t>(which), Tensor::Scalar(3.f)});
    ASSERT_TRUE(run.ok()) << run.status();
    ExpectSame(run->results[0], Tensor::Scalar(which == 0 ? -3.f : 9.f));
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, LowerCallTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace tensorfleet::pjrt
