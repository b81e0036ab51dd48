#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Pair(float a, float b) { return Tensor::Vector<float>({a, b}); }

class TensorArrayTest : public OpTest {
 protected:
  static OpNode Array() {
    return OpNode("TensorArrayV3").Attr("dtype", DType::kFloat).Attr("tensor_array_name", "ta");
  }
  // Keeps the handle for the following.
  void MakeArray(const OpNode& node, int32_t size) { handle_ = RunOne(node, {Int(size)}); }
  Status Write(int32_t index, const Tensor& value) {
    return Run("TensorArrayWriteV3", {handle_, Int(index), value, Flow()}).status();
  }
  StatusOr<Tensor> Read(int32_t index) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                            Run(OpNode("TensorArrayReadV3").Attr("dtype", DType::kFloat),
                                {handle_, Int(index), Flow()}));
    return out[0];
  }
  Tensor Gather(std::initializer_list<int32_t> indices) {
    return RunOne(OpNode("TensorArrayGatherV3").Attr("dtype", DType::kFloat),
                  {handle_, Tensor::Vector<int32_t>(indices), Flow()});
  }
  static Tensor Flow() { return Tensor::Scalar(0.0f); }

  Tensor handle_;
};

TEST_F(TensorArrayTest, WhatIsWrittenCanBeReadOnce) {
  MakeArray(Array(), 2);
  ASSERT_TRUE(Write(1, Pair(1, 2)).ok());
  ExpectSame(*Read(1), Pair(1, 2));
  EXPECT_THAT(Read(1).status().message(), HasSubstr("twice because it was cleared"));
  MakeArray(Array().Attr("clear_after_read", false), 2);
  ASSERT_TRUE(Write(1, Pair(1, 2)).ok());
  ExpectSame(*Read(1), Pair(1, 2));
  ExpectSame(*Read(1), Pair(1, 2));
}

TEST_F(TensorArrayTest, AnElementIsWrittenOnce) {
  MakeArray(Array(), 3);
  ASSERT_TRUE(Write(1, Pair(1, 2)).ok());
  EXPECT_THAT(Write(1, Pair(3, 4)).message(),
              HasSubstr("Could not write to TensorArray index 1 because it has already been "
                        "written to."));
  EXPECT_THAT(Write(0, Tensor::Scalar<int32_t>(1)).message(),
              HasSubstr("the value dtype is int32 but TensorArray dtype is float"));
}

TEST_F(TensorArrayTest, OnlyADynamicArrayGrows) {
  MakeArray(Array(), 1);
  EXPECT_THAT(Write(3, Pair(1, 2)).message(), HasSubstr("not resizeable and size is: 1"));
  EXPECT_THAT(Read(3).status().message(), HasSubstr("read from index 3 but array size is: 1"));
  MakeArray(Array().Attr("dynamic_size", true), 1);
  EXPECT_TRUE(Write(3, Pair(1, 2)).ok());
  ExpectSame(RunOne("TensorArraySizeV3", {handle_, Flow()}), Int(4));
}

TEST_F(TensorArrayTest, WhatWasNeverWrittenIsZeroIfTheShapeIsKnown) {
  MakeArray(Array(), 2);
  EXPECT_THAT(Read(0).status().message(), HasSubstr("element shape is not fully defined"));
  MakeArray(Array().Attr("identical_element_shapes", true), 2);
  ASSERT_TRUE(Write(1, Pair(1, 2)).ok());
  ExpectSame(Gather({1, 0}), Tensor::Of<float>({2, 2}, {1, 2, 0, 0}));
  EXPECT_THAT(Write(0, Tensor::Scalar(1.0f)).message(), HasSubstr("inferred element shape: [2]"));
}

TEST_F(TensorArrayTest, RowsScatterAndGather) {
  MakeArray(Array(), 3);
  const Tensor rows = Tensor::Of<float>({3, 1}, {1, 2, 3});
  RunOne("TensorArrayScatterV3", {handle_, Tensor::Vector<int32_t>({2, 0, 1}), rows, Flow()});
  ExpectSame(Gather({0, 1, 2}), Tensor::Of<float>({3, 1}, {2, 3, 1}));
  EXPECT_THAT(Run("TensorArrayScatterV3", {handle_, Tensor::Vector<int32_t>({2}), rows, Flow()})
                  .status()
                  .message(),
              HasSubstr("len(indices) == values.shape[0], but saw: 1 vs. 3"));
}

TEST_F(TensorArrayTest, GatheredRowsAreOfTheShapeThatIsAskedFor) {
  MakeArray(Array(), 1);
  ASSERT_TRUE(Write(0, Pair(1, 2)).ok());
  const OpNode gather = OpNode("TensorArrayGatherV3")
                            .Attr("dtype", DType::kFloat)
                            .Attr("element_shape", PartialShape({1}));
  EXPECT_THAT(
      Run(gather, {handle_, Tensor::Vector<int32_t>({0}), Flow()}).status().message(),
      HasSubstr("passed element_shape [1] which does not match the Tensor at index 0: [2]"));
}

TEST_F(TensorArrayTest, PartsSplitAndConcat) {
  MakeArray(Array(), 2);
  const Tensor rows = Tensor::Of<float>({3, 1}, {1, 2, 3}),
               lengths = Tensor::Vector<int64_t>({1, 2});
  RunOne("TensorArraySplitV3", {handle_, rows, lengths, Flow()});
  const std::vector<Tensor> out =
      *Run(OpNode("TensorArrayConcatV3").Attr("dtype", DType::kFloat), {handle_, Flow()});
  ExpectSame(out[0], rows);
  ExpectSame(out[1], lengths);
}

TEST_F(TensorArrayTest, GradientsAddUp) {
  MakeArray(Array(), 2);
  const OpNode grad = OpNode("TensorArrayGradV3").Attr("source", "gradients");
  const Tensor forward = handle_;
  handle_ = RunOne(grad, {forward, Flow()});
  ASSERT_TRUE(Write(0, Pair(1, 2)).ok());
  handle_ = RunOne(grad, {forward, Flow()});  // the same array
  ASSERT_TRUE(Write(0, Pair(10, 20)).ok());
  ExpectSame(*Read(0), Pair(11, 22));
}

TEST_F(TensorArrayTest, AClosedArrayIsGone) {
  MakeArray(Array(), 2);
  ASSERT_TRUE(Run("TensorArrayCloseV3", {handle_}).ok());
  EXPECT_EQ(Write(0, Pair(1, 2)).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensorfleet
