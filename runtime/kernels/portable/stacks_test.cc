#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

class StackTest : public OpTest {
 protected:
  Tensor Make(int32_t max_size) {
    return RunOne(OpNode("StackV2").Name("s").Attr("elem_type", DType::kFloat),
                  {Tensor::Scalar<int32_t>(max_size)});
  }
  StatusOr<Tensor> Pop(const Tensor& handle) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                            Run(OpNode("StackPopV2").Attr("elem_type", DType::kFloat), {handle}));
    return out[0];
  }
};

TEST_F(StackTest, GivesBackTheLastFirst) {
  const Tensor stack = Make(-1);
  for (const float x : {1.f, 2.f, 3.f}) {
    ExpectSame(RunOne("StackPushV2", {stack, Tensor::Scalar<float>(x)}), Tensor::Scalar<float>(x));
  }
  for (const float x : {3.f, 2.f, 1.f}) ExpectSame(Pop(stack).value(), Tensor::Scalar<float>(x));
  EXPECT_EQ(Pop(stack).status(), InvalidArgument("Stack[s] is empty when calling Pop()."));
}

TEST_F(StackTest, EveryRunOfTheNodeMakesAStackOfItsOwn) {
  const Tensor one = Make(-1), two = Make(-1);
  RunOne("StackPushV2", {one, Tensor::Scalar<float>(1)});
  EXPECT_FALSE(Pop(two).ok());
}

TEST_F(StackTest, RefusesWhatDoesNotFit) {
  const Tensor stack = Make(1);
  RunOne("StackPushV2", {stack, Tensor::Scalar<float>(1)});
  EXPECT_EQ(Run("StackPushV2", {stack, Tensor::Scalar<float>(1)}).status(),
            InvalidArgument("Stack[s] overflowed its max_size (1)"));
  EXPECT_EQ(Run("StackPushV2", {stack, Tensor::Scalar<int32_t>(1)}).status(),
            InvalidArgument("Must have type float but got int32"));
}

TEST_F(StackTest, AClosedStackIsGone) {
  const Tensor stack = Make(-1);
  ASSERT_EQ(Run("StackCloseV2", {stack}).status(), OkStatus());
  EXPECT_EQ(Pop(stack).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensorfleet
