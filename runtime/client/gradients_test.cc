#include "runtime/client/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/gradients/registry.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/term.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Fetched(const Scope& scope, const Output& fetch) {
  const auto session = *Session::Open("");
  const auto values = session->Run(scope, {}, {fetch});
  return values.ok() ? (*values)[0].ToString() : values.status().ToString();
}

TEST(Gradients, OfSeveralUsesOfOneValueAddUp) {
  Scope root;
  const Output x = Const(root, 3.0f);
  const Output y = ops::Add(root, ops::Square(root, x), ops::Mul(root, x, x));
  EXPECT_EQ(Fetched(root, AddSymbolicGradients(root, {y}, {x})[0].dense()), "float []: 12");
}

TEST(Gradients, OfSeveralYsAddUp) {
  Scope root;
  const Output x = Const(root, 3.0f);
  const auto grads = AddSymbolicGradients(root, {ops::Square(root, x), ops::Neg(root, x)}, {x});
  EXPECT_EQ(Fetched(root, grads[0].dense()), "float []: 5");
}

TEST(Gradients, PassThroughAnXToAnEarlierOne) {
  Scope root;
  const Output a = Const(root, 3.0f), b = ops::Square(root, a), y = ops::Square(root, b);
  const auto grads = AddSymbolicGradients(root, {y}, {a, b});
  EXPECT_EQ(Fetched(root, grads[0].dense()), "float []: 108");
  EXPECT_EQ(Fetched(root, grads[1].dense()), "float []: 18");
}

TEST(Gradients, AreAbsentWhereNothingDependsOnTheX) {
  Scope root;
  const Output x = Const(root, 3.0f), other = Const(root, 1.0f);
  const Output counted = ops::Cast(root, ops::Cast(root, x, DType::kInt32), DType::kFloat);
  const auto grads = AddSymbolicGradients(root, {ops::Neg(root, x)}, {other, ops::Square(root, x)});
  EXPECT_TRUE(grads[0].is_absent());
  EXPECT_TRUE(grads[1].is_absent());
  EXPECT_TRUE(AddSymbolicGradients(root, {counted}, {x})[0].is_absent());
  EXPECT_TRUE(root.status().ok());
}

TEST(Gradients, StopWhereAskedTo) {
  Scope root;
  const Output x = Const(root, 3.0f);
  const Output y = ops::Mul(root, ops::StopGradient(root, ops::Square(root, x)), x);
  EXPECT_EQ(Fetched(root, AddSymbolicGradients(root, {y}, {x})[0].dense()), "float []: 9");

  const Output square = ops::Square(root, x);
  GradientOptions options;
  options.stop_gradients = {square};
  const auto grads =
      AddSymbolicGradients(root, {ops::Mul(root, square, x)}, {x, square}, {}, options);
  EXPECT_EQ(Fetched(root, grads[0].dense()), "float []: 9");
  EXPECT_EQ(Fetched(root, grads[1].dense()), "float []: 3");
}

TEST(Gradients, AreWeighedByGradYs) {
  Scope root;
  const Output x = Const(root, Tensor::Vector<float>({1, 2}));
  const Output weight = Const(root, Tensor::Vector<float>({10, 100}));
  const auto grads = AddSymbolicGradients(root, {ops::Square(root, x)}, {x}, {weight});
  EXPECT_EQ(Fetched(root, grads[0].dense()), "float [2]: 20 400");
}

TEST(Gradients, OfGathersStayRows) {
  Scope root;
  const Output table = Const(root, Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6}));
  const Output first = ops::Gather(root, table, Const(root, Tensor::Vector<int32_t>({2, 0})));
  const Output second = ops::Gather(root, table, Const(root, Tensor::Vector<int64_t>({2})));
  const Gradient one = AddSymbolicGradients(root, {first}, {table})[0];
  ASSERT_TRUE(one.is_sparse());
  EXPECT_EQ(Fetched(root, one.slices().indices), "int32 [2]: 2 0");
  EXPECT_EQ(Fetched(root, one.slices().dense_shape), "int64 [2]: 3 2");
  // Two sparse ones are joined, with a dense one they become dense.
  const Gradient both = AddSymbolicGradients(root, {first, second}, {table})[0];
  ASSERT_TRUE(both.is_sparse());
  EXPECT_EQ(both.slices().indices.dtype(), DType::kInt64);
  EXPECT_EQ(Fetched(root, ToDense(root, both)), "float [3,2]: 1 1 0 0 2 2");
  const Gradient mixed = AddSymbolicGradients(root, {first, ops::Neg(root, table)}, {table})[0];
  EXPECT_EQ(Fetched(root, mixed.dense()), "float [3,2]: 0 0 -1 -1 0 0");
}

TEST(Gradients, OfAResourceVariableAreThoseOfItsHandle) {
  Scope root;
  const Output table = ops::VarHandleOp(root.Named("table"), DType::kFloat, PartialShape({3, 2}));
  const Operation init = ops::AssignVariableOp(
      root, table, Const(root, Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6})));
  const Output read = ops::ReadVariableOp(root, table, DType::kFloat);
  const Output row =
      ops::ResourceGather(root, table, Const(root, Tensor::Vector<int32_t>({1})), DType::kFloat);
  EXPECT_EQ(root.ShapeOf(row), PartialShape({1, 2}));
  const Gradient rows = AddSymbolicGradients(root, {ops::Square(root, row)}, {table})[0];
  const Gradient all = AddSymbolicGradients(root, {ops::Square(root, read)}, {table})[0];
  ASSERT_TRUE(rows.is_sparse());
  const Output dense = ToDense(root, rows);
  const auto session = *Session::Open("");
  ASSERT_TRUE(session->Run(root, {}, {}, {init}).ok());
  const auto values = session->Run(root, {}, {dense, all.dense()});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].ToString(), "float [3,2]: 0 0 6 8 0 0");
  EXPECT_EQ((*values)[1].ToString(), "float [3,2]: 2 4 6 8 10 12");
}

TEST(Gradients, OfGradientsAreSecondDerivatives) {
  Scope root;
  const Output x = Const(root, 2.0f);
  const Output y = ops::Mul(root, ops::Square(root, x), x);
  const Output first = AddSymbolicGradients(root, {y}, {x})[0].dense();
  EXPECT_EQ(Fetched(root, AddSymbolicGradients(root, {first}, {x})[0].dense()), "float []: 12");
}

TEST(Gradients, HaveTensorFlowsNames) {
  Scope root;
  const Output x = Const(root.Named("x"), 2.0f);
  const Output y = ops::Tanh(root.Named("layer/y"), x);
  const Gradient g = AddSymbolicGradients(root, {y}, {x})[0];
  EXPECT_EQ(g.dense().name(), "gradients/layer/y_grad/TanhGrad:0");
  EXPECT_TRUE(root.FindOutput("gradients/grad_ys_0").ok());
}

TEST(Gradients, GoWhereTheirOpsAreWhenAskedTo) {
  Scope root;
  const Output x = Const(root.Named("x"), 2.0f);
  const Output y = ops::Tanh(root.Named("y"), x);
  GradientOptions options;
  options.colocate_with_ops = true;
  const Gradient g = AddSymbolicGradients(root, {y}, {x}, {}, options)[0];
  EXPECT_THAT(*GetAttr<std::vector<std::string>>(g.dense().node()->def(), "_class"),
              testing::ElementsAre("loc:@y"));
}

TEST(Gradients, ThatAreNotThereAreRefusedByName) {
  Scope root;
  const Output x = Const(root, Tensor::Of<float>(Shape({1, 1, 1, 4}), {1, 2, 3, 4}));
  const Output y = ops::LRNGrad(root.Named("normalized"), x, x, x);
  AddSymbolicGradients(root, {y}, {x});
  EXPECT_EQ(root.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("LRNGrad (node 'normalized')"));
}

TEST(Gradients, AreNotLostInListsOfTensorsThatHaveNone) {
  Scope root;
  const Output x = Const(root, Tensor::Vector<float>({3, 4}));
  const Output shape = Const(root, Tensor::Vector<int32_t>({}));
  const Output list = ops::TensorListFromTensor(root, x, shape);
  const Output both = ops::TensorListConcatLists(root.Named("joined"), list, list, DType::kFloat);
  AddSymbolicGradients(root, {ops::TensorListStack(root, both, shape, DType::kFloat)}, {x});
  EXPECT_EQ(root.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(root.status().message()),
              HasSubstr("TensorListConcatLists (node 'joined')"));
}

TEST(Gradients, OfAListOfTensorsAreAList) {
  Scope root;
  const Output x = Const(root, Tensor::Vector<float>({3, 4, 5}));
  const Output shape = Const(root, Tensor::Vector<int32_t>({}));
  const Output list = ops::TensorListFromTensor(root, x, shape);
  const Output second =
      ops::TensorListGetItem(root, list, ScalarConst(root, DType::kInt32, 1), shape, DType::kFloat);
  const Gradient g = AddSymbolicGradients(root, {ops::Square(root, second)}, {list})[0];
  const Output rows = ops::TensorListStack(root, g.dense(), shape, DType::kFloat);
  EXPECT_EQ(Fetched(root, rows), "float [3]: 0 8 0");
}

TEST(Gradients, OfAListOfTheRowsOfAScalarAreRefused) {
  Scope root;
  const Output x = Const(root, 3.0f), any = ScalarConst(root, DType::kInt32, -1);
  const Output list = ops::TensorListFromTensor(root.Named("rows"), x, any);
  AddSymbolicGradients(root, {ops::TensorListStack(root, list, any, DType::kFloat)}, {x});
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(root.status().message()),
              HasSubstr("TensorListFromTensor (node 'rows') wants a tensor with rows"));
}

TEST(Gradients, RefuseWhatHasNone) {
  Scope root;
  const Output x = Const(root.Named("count"), int32_t{1});
  AddSymbolicGradients(root, {x}, {x});
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("'count:0' has type int32"));
  Scope prevented;
  const Output y = Const(prevented, 1.0f);
  AddSymbolicGradients(prevented, {ops::PreventGradient(prevented, y, {.message = "not here"})},
                       {y});
  EXPECT_THAT(std::string(prevented.status().message()), HasSubstr("not here"));
}

TEST(Gradients, MayComeFromARegistryOfTheCaller) {
  GradientRegistry registry;
  registry.Add("Neg", [](GradientContext& ctx) {});
  Scope root;
  const Output x = Const(root, 2.0f);
  GradientOptions options;
  options.registry = &registry;
  EXPECT_TRUE(AddSymbolicGradients(root, {ops::Neg(root, x)}, {x}, {}, options)[0].is_absent());
  EXPECT_FALSE(AddSymbolicGradients(root, {ops::Abs(root, x)}, {x}, {}, options)[0].is_sparse());
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("Abs"));
}

}  // namespace
}  // namespace tensorfleet
