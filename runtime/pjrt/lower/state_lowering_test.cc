// Ops that change variables, against our kernels for the CPU; and launches that are refused because
// only the host's kernels can say what is wrong with their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/lower/lowering.h"
#include "runtime/pjrt/testing/compiled_test.h"

namespace tensorfleet::pjrt {
namespace {

using ::testing::HasSubstr;

Tensor Floats(const Shape& shape, float low = -2, float high = 2) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(shape.num_elements());
  for (float& value : values) value = uniform(random);
  return Tensor::Vector<float>(values).Reshaped(shape);
}
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }

using StateLoweringTest = CompiledTest;

// Every optimizer that has a lowering, with its flag on and off, dense and sparse.
TEST_P(StateLoweringTest, OptimizersStepAsTheirKernelsDo) {
  int tried = 0;
  for (const auto& [op, entry] : Lowerings().entries()) {
    if (!absl::StrContains(op, "Apply")) continue;
    const StatusOr<const OpSchema*> found = BuiltinOps().Find(op);
    ASSERT_TRUE(found.ok()) << found.status();
    const OpSchema* const schema = *found;
    const bool is_sparse = absl::StrContains(op, "Sparse");
    const Shape shape({4, 3});
    const Shape gradient = is_sparse ? Shape({2, 3}) : shape;
    for (const bool flag : {false, true}) {
      NodeCase c(op, {}, 2e-5);
      for (const char* attr : {"use_nesterov", "update_slots", "multiply_linear_by_lr"}) {
        if (schema->FindAttr(attr) != nullptr) c.node.Attr(attr, flag);
      }
      for (const ArgSpec& input : schema->inputs) {
        const bool is_state =
            absl::StartsWith(op, "Resource") ? input.type == DType::kResource : input.is_ref;
        if (is_state) {
          c.variables.push_back(Floats(shape, 0.3f, 1));
        } else if (input.name == "grad" || input.name == "delta") {
          c.inputs.push_back(Floats(gradient, -0.4f, 0.4f));
        } else if (input.name == "indices") {
          c.inputs.push_back(Ints({3, 1}));
        } else if (input.name == "global_step") {
          c.inputs.push_back(Tensor::Scalar<int64_t>(3));
        } else {
          c.inputs.push_back(Tensor::Scalar<float>(input.name == "lr_power" ? -0.5f : 0.05f));
        }
      }
      // The mean of squares is no smaller than the square of the mean.
      if (absl::StrContains(op, "Centered")) c.variables[1] = Floats(shape, 0, 0.2f);
      ExpectSameAsKernel(c);
      ++tried;
    }
  }
  EXPECT_GE(tried, 80);
}

TEST_P(StateLoweringTest, VariablesAreChangedAsByTheirKernels) {
  const Tensor value = Floats(Shape({4, 3}));
  const Tensor rows = Ints({2, 0}), updates = Floats(Shape({2, 3}), 0.5f, 2);
  const Tensor tuples = Tensor::Of<int32_t>(Shape({2, 2}), {3, 1, 0, 2});
  for (const char* what : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Update"}) {
    for (const char* form : {"Scatter", "ResourceScatter"}) {
      ExpectSameAsKernel({OpNode(absl::StrCat(form, what)), {value}, {rows, updates}, 1e-6});
      ExpectSameAsKernel(
          {OpNode(absl::StrCat(form, what)), {value}, {rows, Tensor::Scalar(2.f)}, 1e-6});
    }
    if (what[0] == 'D' || absl::string_view(what) == "Mul") continue;
    for (const char* form : {"ScatterNd", "ResourceScatterNd"}) {
      ExpectSameAsKernel(
          {OpNode(absl::StrCat(form, what)), {value}, {tuples, Floats(Shape({2}))}, 1e-6});
    }
  }
  // The same row twice.
  ExpectSameAsKernel({"ScatterAdd", {value}, {Ints({1, 1}), updates}, 1e-6});
  for (const char* op : {"AssignAdd", "AssignSub", "Assign", "AssignAddVariableOp",
                         "AssignSubVariableOp", "AssignVariableOp"}) {
    ExpectSameAsKernel({op, {value}, {Floats(Shape({4, 3}))}, 1e-6});
  }
  ExpectSameAsKernel({OpNode("ReadVariableOp").Attr("dtype", DType::kFloat), {value}, {}, 0});
  ExpectSameAsKernel(
      {OpNode("ResourceGather").Attr("dtype", DType::kFloat), {value}, {Ints({3, 3, 0})}, 0});
  ExpectSameAsKernel(
      {OpNode("ResourceGatherNd").Attr("dtype", DType::kFloat), {value}, {tuples}, 0});
}

// What a kernel refuses is refused by the program, and its variables stay as they were.
TEST_P(StateLoweringTest, ALaunchThatIsRefusedChangesNothing) {
  const Tensor value = Floats(Shape({4, 3})), updates = Floats(Shape({2, 3}));
  const Tensor lr = Tensor::Scalar(0.1f);
  const NodeCase kCases[] = {
      {"Gather", {value, Ints({0, 4})}},
      {"GatherNd", {value, Tensor::Of<int32_t>(Shape({1, 2}), {0, -1})}},
      {"UnsortedSegmentSum", {value, Ints({0, 1, 2, 0}), Tensor::Scalar<int32_t>(2)}},
      {"FloorMod", {Ints({4, 5}), Ints({2, 0})}},
      {"Pow", {Ints({4, 5}), Ints({2, -1})}},
      {OpNode("CheckNumerics").Attr("message", "x"),
       {Tensor::Vector<float>({1, std::numeric_limits<float>::infinity()})}},
      {OpNode("ReverseSequence").Attr("seq_dim", 1), {value, Ints({1, 4, 0, 2})}},
      {OpNode("ReverseSequence").Attr("seq_dim", 1), {value, Ints({1, -1, 0, 2})}},
      {"MatrixBandPart", {value, Tensor::Scalar<int64_t>(5), Tensor::Scalar<int64_t>(0)}},
      {OpNode("ResourceGather").Attr("dtype", DType::kFloat), {value}, {Ints({-1})}, 0},
      {"ScatterAdd", {value}, {Ints({1, 4}), updates}, 0},
      {"ResourceScatterUpdate", {value}, {Ints({1, 4}), updates}, 0},
      {"ScatterNdAdd",
       {value},
       {Tensor::Of<int32_t>(Shape({2, 2}), {3, 1, 0, 3}), Floats(Shape({2}))},
       0},
      {"SparseApplyMomentum", {value, value}, {lr, updates, Ints({3, 7}), Tensor::Scalar(0.9f)}, 0},
      {"ApplyProximalAdagrad", {value, value}, {Tensor::Scalar(-1.f), lr, lr, value}, 0}};
  for (const NodeCase& c : kCases) {
    SCOPED_TRACE(c.node.def().op());
    EXPECT_EQ(ByKernel(c).status().code(), absl::StatusCode::kInvalidArgument);
    const StatusOr<NodeRun> run = Compiled(c);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->is_refused);
    for (size_t i = 0; i < c.variables.size(); ++i) ExpectSame(run->variables[i], c.variables[i]);
  }
}

// The kernel goes through the rows one after the other, which a program cannot.
TEST_P(StateLoweringTest, ASparseStepOfOneRowTwiceIsLeftToTheKernel) {
  const Tensor value = Floats(Shape({4, 3}));
  const NodeCase c(
      "SparseApplyMomentum", {value, value},
      {Tensor::Scalar(0.1f), Floats(Shape({2, 3})), Ints({3, 3}), Tensor::Scalar(0.9f)}, 0);
  EXPECT_TRUE(ByKernel(c).ok());
  const StatusOr<NodeRun> run = Compiled(c);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->is_refused);
  ExpectSame(run->variables[0], value);
}

INSTANTIATE_TEST_SUITE_P(Plugins, StateLoweringTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace tensorfleet::pjrt
