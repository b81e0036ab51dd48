// Tests of the kernels that every graph has: constants, placeholders, identities, assertions.
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;
using BasicKernels = OpTest;

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST_F(BasicKernels, ConstGivesTheSameBufferEveryTime) {
  const OpNode node = OpNode("Const").Attr("value", Floats({1, 2})).Attr("dtype", DType::kFloat);
  auto instance = Make(node, {});
  ASSERT_TRUE(instance.ok()) << instance.status();
  OpOutputs first, second;
  ASSERT_TRUE(RunInstance(**instance, {}, &first).ok());
  ASSERT_TRUE(RunInstance(**instance, {}, &second).ok());
  ExpectSame(first[0].tensor, Floats({1, 2}));
  EXPECT_TRUE(first[0].tensor.SharesBufferWith(second[0].tensor));
  first.clear();
  EXPECT_FALSE(second[0].tensor.buffer_is_unique());  // so nobody writes over the constant
}

TEST_F(BasicKernels, ConstRefusesAValueOfAnotherType) {
  const OpNode node = OpNode("Const").Attr("value", Floats({1})).Attr("dtype", DType::kInt32);
  EXPECT_THAT(Run(node, {}).status().message(), HasSubstr("its dtype is int32"));
}

TEST_F(BasicKernels, UnfedPlaceholderSaysWhatItWants) {
  const auto error = [&](const PartialShape& shape) {
    return std::string(
        Run(OpNode("Placeholder").Name("p").Attr("dtype", DType::kFloat).Attr("shape", shape), {})
            .status()
            .message());
  };
  EXPECT_EQ(error(PartialShape::Unknown()),
            "You must feed a value for placeholder tensor 'p' with dtype float");
  EXPECT_EQ(error(Shape()), "You must feed a value for placeholder tensor 'p' with dtype float");
  EXPECT_EQ(error(PartialShape({2, -1})),
            "You must feed a value for placeholder tensor 'p' with dtype float and shape [2,?]");
}

TEST_F(BasicKernels, IdentitiesHandTheirInputsOn) {
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient"}) {
    ExpectSame(RunOne(op, {Floats({3})}), Floats({3}));
  }
  ExpectSame(RunOne("Identity", {Tensor::Vector<std::string>({"a", ""})}),
             Tensor::Vector<std::string>({"a", ""}));
  const auto both = Run("IdentityN", {Floats({1}), Tensor::Scalar<int32_t>(2)});
  ASSERT_TRUE(both.ok()) << both.status();
  ExpectSame((*both)[0], Floats({1}));
  ExpectSame((*both)[1], Tensor::Scalar<int32_t>(2));
  EXPECT_TRUE(Run("NoOp", {}).ok());
}

TEST_F(BasicKernels, DeepCopyDoesNotShareItsInput) {
  const Tensor input = Floats({1, 2});
  const Tensor output = RunOne("DeepCopy", {input});
  ExpectSame(output, input);
  EXPECT_FALSE(output.SharesBufferWith(input));
}

TEST_F(BasicKernels, EnsureShapeComparesWithTheExpectedShape) {
  const OpNode node = OpNode("EnsureShape").Name("n").Attr("shape", PartialShape({-1, 2}));
  EXPECT_TRUE(Run(node, {Tensor::Of<float>(Shape({1, 2}), {1, 2})}).ok());
  EXPECT_EQ(Run(node, {Floats({1, 2, 3})}).status().message(),
            "Shape of tensor n [3] is not compatible with expected shape [?,2].");
}

TEST_F(BasicKernels, AssertShowsItsData) {
  EXPECT_TRUE(Run("Assert", {Tensor::Scalar(true), Floats({1})}).ok());
  const Tensor matrix = Tensor::Of<float>(Shape({2, 2}), {1.5, 2, 3, 4});
  const Status failed =
      Run("Assert", {Tensor::Scalar(false), matrix, Tensor::Vector<std::string>({"a", "b"}),
                     Tensor::Scalar<int32_t>(3), Tensor::Vector<bool>({true, false}),
                     Floats({1, 2, 3, 4, 5})})
          .status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(failed.message(), "assertion failed: [[1.5 2][3...]...] [a b] [3] [1 0] [1 2 3...]");
  EXPECT_EQ(Run(OpNode("Assert").Attr("summarize", -1), {Tensor::Scalar(false), matrix})
                .status()
                .message(),
            "assertion failed: [[1.5 2][3 4]]");
  EXPECT_EQ(Run("Assert", {Tensor::Vector<bool>({false}), matrix}).status().message(),
            "In[0] should be a scalar: [1]");
}

TEST_F(BasicKernels, PrintWritesAtMostFirstNLines) {
  const OpNode node = OpNode("Print").Attr("message", "hi ").Attr("first_n", 1);
  const std::vector<OpInput> inputs = {Floats({7}), Floats({1, 2, 3, 4}),
                                       Tensor::Vector<std::string>({"a"})};
  auto instance = Make(node, inputs);
  ASSERT_TRUE(instance.ok()) << instance.status();
  CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    OpOutputs outputs;
    ASSERT_TRUE(RunInstance(**instance, inputs, &outputs).ok());
    ExpectSame(outputs[0].tensor, Floats({7}));
  }
  EXPECT_EQ(GetCapturedStderr(), "hi [1 2 3...][a]\n");
}

TEST_F(BasicKernels, PrintV2EndsItsLineAsAsked) {
  CaptureStderr();
  EXPECT_TRUE(Run(OpNode("PrintV2").Attr("end", "!"), {Tensor::Scalar("text")}).ok());
  EXPECT_TRUE(Run("PrintV2", {Tensor::Scalar("line")}).ok());
  EXPECT_EQ(GetCapturedStderr(), "text!line\n");
  EXPECT_THAT(Run(OpNode("PrintV2").Attr("output_stream", "nowhere"), {Tensor::Scalar("x")})
                  .status()
                  .message(),
              HasSubstr("Unknown output stream: nowhere"));
}

TEST_F(BasicKernels, TimestampIsNow) {
  const double seconds = RunOne("Timestamp", {}).scalar<double>();
  EXPECT_GT(seconds, 1.7e9);
  EXPECT_LT(seconds, 1e11);
}

}  // namespace
}  // namespace tensorfleet
