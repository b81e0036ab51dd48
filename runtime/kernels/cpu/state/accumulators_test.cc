// Accumulators through their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/kernels/cpu/state/accumulator.h"
#include "runtime/kernels/testing/op_test.h"
#include "runtime/kernels/testing/waiting.h"

namespace tensorfleet::cpu {
namespace {

using ::testing::ElementsAre;

class AccumulatorTest : public OpTest {
 protected:
  Tensor Handle(const char* reduction = "MEAN", PartialShape shape = {2}) {
    return RunOne(OpNode("ResourceConditionalAccumulator")
                      .Attr("dtype", DType::kFloat)
                      .Attr("shape", shape)
                      .Attr("shared_name", reduction)
                      .Attr("reduction_type", reduction),
                  {});
  }
  Status Apply(const Tensor& handle, int64_t step, const Tensor& gradient) {
    return Run("ResourceAccumulatorApplyGradient",
               {handle, Tensor::Scalar<int64_t>(step), gradient})
        .status();
  }
  StatusOr<Tensor> Take(const Tensor& handle, int32_t required) {
    TFLEET_ASSIGN_OR_RETURN(
        std::vector<Tensor> out,
        Run(OpNode("ResourceAccumulatorTakeGradient").Attr("dtype", DType::kFloat),
            {handle, Tensor::Scalar<int32_t>(required)}));
    return out[0];
  }
  int32_t Count(const Tensor& handle) {
    return RunOne("ResourceAccumulatorNumAccumulated", {handle}).scalar<int32_t>();
  }

  ResourceRef<Variable> Sparse(PartialShape shape = {3, 2}) {
    OpOutputs outputs;
    EXPECT_EQ(RunInto(OpNode("SparseConditionalAccumulator")
                          .Attr("dtype", DType::kFloat)
                          .Attr("shape", shape)
                          .Attr("shared_name", "s"),
                      {}, &outputs),
              OkStatus());
    return outputs[0].ref;
  }
  Status ApplySparse(const ResourceRef<Variable>& handle, int64_t step, const Tensor& indices,
                     const Tensor& values, const std::vector<int64_t>& shape = {}) {
    return Run(OpNode("SparseAccumulatorApplyGradient").Attr("has_known_shape", !shape.empty()),
               {handle, Tensor::Scalar<int64_t>(step), indices, values,
                Tensor::Vector<int64_t>(shape)})
        .status();
  }
  StatusOr<std::vector<Tensor>> TakeSparse(const ResourceRef<Variable>& handle, int32_t required) {
    return Run(OpNode("SparseAccumulatorTakeGradient").Attr("dtype", DType::kFloat),
               {handle, Tensor::Scalar<int32_t>(required)});
  }
};

TEST_F(AccumulatorTest, TakesTheMeanOfAllThereAre) {
  const Tensor handle = Handle();
  for (const auto& g : {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({3, 6}),
                        Tensor::Vector<float>({5, 10})}) {
    ASSERT_EQ(Apply(handle, 0, g), OkStatus());
  }
  EXPECT_EQ(Count(handle), 3);
  ExpectClose(Take(handle, 2).value(), Tensor::Vector<float>({3, 6}));
  EXPECT_EQ(Count(handle), 0);
}

TEST_F(AccumulatorTest, TakesTheSumWhenAsked) {
  const Tensor handle = Handle("SUM", PartialShape::Unknown());
  ASSERT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 2})), OkStatus());
  ASSERT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 5})), OkStatus());
  EXPECT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 5, 6})),
            InvalidArgument("Shape mismatch: expected [2], got [3]"));
  ExpectClose(Take(handle, 2).value(), Tensor::Vector<float>({2, 7}));
  EXPECT_EQ(Apply(handle, 3, Tensor::Vector<float>({1, 5, 6})), OkStatus())
      << "a new step, a new shape";
}

TEST_F(AccumulatorTest, DropsStaleGradientsSilently) {
  const Tensor handle = Handle();
  ASSERT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 1})), OkStatus());
  ASSERT_EQ(Take(handle, 1).status(), OkStatus());
  ASSERT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 1})), OkStatus());
  EXPECT_EQ(Count(handle), 0);
  ASSERT_EQ(Run("ResourceAccumulatorSetGlobalStep", {handle, Tensor::Scalar<int64_t>(10)}).status(),
            OkStatus());
  ASSERT_EQ(Apply(handle, 9, Tensor::Vector<float>({1, 1})), OkStatus());
  EXPECT_EQ(Count(handle), 0);
  ASSERT_EQ(Apply(handle, 10, Tensor::Vector<float>({1, 1})), OkStatus());
  EXPECT_EQ(Count(handle), 1);
}

TEST_F(AccumulatorTest, AnAppliedGradientIsNotChangedUnderItsOwner) {
  const Tensor handle = Handle();
  const Tensor mine = Tensor::Vector<float>({1, 2});
  ASSERT_EQ(Apply(handle, 0, mine), OkStatus());
  ASSERT_EQ(Apply(handle, 0, mine), OkStatus());
  ASSERT_EQ(Take(handle, 2).status(), OkStatus());
  ExpectSame(mine, Tensor::Vector<float>({1, 2}));
}

TEST_F(AccumulatorTest, ATakeWaitsForEnoughGradients) {
  const Tensor handle = Handle();
  WhenTheNextKernelWaits([&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Apply(handle, 0, Tensor::Vector<float>({3, 3})), OkStatus());
    }
  });
  const StatusOr<Tensor> taken = Take(handle, 3);
  ASSERT_EQ(taken.status(), OkStatus());
  ExpectClose(*taken, Tensor::Vector<float>({3, 3}));
}

TEST_F(AccumulatorTest, AWaitingTakeEndsWithItsStep) {
  const Tensor handle = Handle();
  WhenTheNextKernelWaits([&] { cancellation().StartCancel(); });
  EXPECT_EQ(Take(handle, 1).status(), Cancelled("TakeGrad operation was cancelled"));
  EXPECT_EQ(Take(handle, 1).status().code(), absl::StatusCode::kCancelled) << "the step is over";
}

TEST_F(AccumulatorTest, BadRequestsAreRefused) {
  const Tensor handle = Handle();
  EXPECT_EQ(Apply(handle, 0, Tensor::Vector<float>({1, 2, 3})),
            InvalidArgument("Shape mismatch: expected [2], got [3]"));
  EXPECT_EQ(Apply(handle, 0, Tensor::Vector<double>({1, 2})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Take(handle, 0).status(),
            InvalidArgument("Argument num_required must be positive, but was 0"));
}

TEST_F(AccumulatorTest, SparseRowsAreAveragedOverTheGradientsThatHaveThem) {
  const ResourceRef<Variable> handle = Sparse();
  ASSERT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0, 2}),
                        Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4}), {3, 2}),
            OkStatus());
  ASSERT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({2, 1}),
                        Tensor::Of<float>(Shape({2, 2}), {10, 20, 30, 40}), {3, 2}),
            OkStatus());
  const std::vector<Tensor> taken = TakeSparse(handle, 2).value();
  ExpectSame(taken[0], Tensor::Vector<int64_t>({0, 1, 2}));
  ExpectClose(taken[1], Tensor::Of<float>(Shape({3, 2}), {1, 2, 30, 40, 6.5, 12}));
  ExpectSame(taken[2], Tensor::Vector<int64_t>({3, 2}));
}

// SyncReplicasOptimizer makes them so.
TEST_F(AccumulatorTest, ASparseOneOfShapeScalarTakesGradientsOfAnyShape) {
  const ResourceRef<Variable> handle = Sparse(PartialShape({}));
  for (const std::vector<int64_t>& known : {std::vector<int64_t>{3, 2}, std::vector<int64_t>{}}) {
    ASSERT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0, 2}),
                          Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4}), known),
              OkStatus());
  }
  EXPECT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0}), Tensor::Vector<float>({1})),
            InvalidArgument("Shape mismatch: expected rows of shape [2], got []"));
  const std::vector<Tensor> taken = TakeSparse(handle, 2).value();
  ExpectSame(taken[0], Tensor::Vector<int64_t>({0, 2}));
  ExpectClose(taken[1], Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4}));
  ExpectSame(taken[2], Tensor::Vector<int64_t>({-1, 2}));
}

TEST_F(AccumulatorTest, ARowThatComesTwiceInOneGradientIsSummed) {
  const ResourceRef<Variable> handle = Sparse();
  ASSERT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({1, 1}),
                        Tensor::Of<float>(Shape({2, 2}), {1, 2, 5, 6})),
            OkStatus());
  const std::vector<Tensor> taken = TakeSparse(handle, 1).value();
  ExpectSame(taken[0], Tensor::Vector<int64_t>({1}));
  ExpectClose(taken[1], Tensor::Of<float>(Shape({1, 2}), {6, 8}));
}

TEST_F(AccumulatorTest, BadSparseGradientsAreRefused) {
  const ResourceRef<Variable> handle = Sparse();
  const Tensor row = Tensor::Of<float>(Shape({1, 2}), {1, 2});
  EXPECT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0}), row, {4, 2}),
            InvalidArgument("Shape mismatch: expected shape dim 0 to be 3, got 4"));
  EXPECT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0, 1}), row),
            InvalidArgument("Expected 2 non-empty input values, got 1"));
  EXPECT_EQ(
      ApplySparse(handle, 0, Tensor::Vector<int64_t>({7}), row),
      InvalidArgument(
          "Shape mismatch: index of slice 0 exceeded limits of shape; index is 7 exceeded 3"));
  EXPECT_FALSE(ApplySparse(handle, 0, Tensor::Vector<int64_t>({-1}), row).ok());
  EXPECT_EQ(ApplySparse(handle, 0, Tensor::Vector<int64_t>({0}),
                        Tensor::Of<float>(Shape({1, 3}), {1, 2, 3})),
            InvalidArgument("Shape mismatch: expected values dim 1 to be 2, got 3"));
}

}  // namespace
}  // namespace tensorfleet::cpu
