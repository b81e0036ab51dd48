#include <cmath>
#include <limits>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using ReductionTest = OpTest;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Small whole numbers, so that sums are exact in any order.
template <typename T>
Tensor Numbers(const Shape& shape) {
  std::vector<T> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int>((i * 7) % 11) - 5);
  return Tensor::Vector<T>(values).Reshaped(shape);
}

TEST_F(ReductionTest, NanWinsWhereverItIsInALongRowButIsNeverTheLargest) {
  for (const int64_t at : {0, 15, 63, 64, 130, 600, 1537, 1999}) {
    Tensor x = Numbers<float>(Shape({2000}));
    x.mutable_values<float>()[at] = kNan;
    x.mutable_values<float>()[1538] = 7;
    x.mutable_values<float>()[1700] = 7;
    const Tensor axis = Tensor::Scalar<int32_t>(0);
    EXPECT_TRUE(std::isnan(RunOne("Max", {x, axis}).scalar<float>())) << at;
    EXPECT_EQ(RunOne("ArgMax", {x, axis}).scalar<int64_t>(), 1538) << at;
  }
}

TEST_F(ReductionTest, TheLargestOfNothingComparableIsTheFirst) {
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  ExpectSame(RunOne("ArgMax", {Tensor::Vector<float>({kNan, kNan}), axis}),
             Tensor::Scalar<int64_t>(0));
  ExpectSame(RunOne("ArgMax", {Tensor::Vector<float>({-kInf, -kInf, kNan}), axis}),
             Tensor::Scalar<int64_t>(0));
}

TEST_F(ReductionTest, AllAndAnyOfManyDependOnOne) {
  for (const int64_t at : {0, 100, 99'999}) {
    Tensor x = *Tensor::Zeros(DType::kBool, Shape({100'000}));
    const Tensor axis = Tensor::Scalar<int32_t>(0);
    EXPECT_FALSE(RunOne("Any", {x, axis}).scalar<bool>());
    x.mutable_values<bool>()[at] = true;
    EXPECT_TRUE(RunOne("Any", {x, axis}).scalar<bool>());
    const Tensor inverse = RunOne("LogicalNot", {x});
    EXPECT_FALSE(RunOne("All", {inverse, axis}).scalar<bool>());
  }
}

// Sum or Max by walking over the input element by element.
template <typename T>
Tensor Naive(const Tensor& in, const std::vector<int32_t>& axes, bool is_sum,
             const Shape& out_shape) {
  std::vector<bool> reduced(in.rank(), false);
  for (const int32_t axis : axes) reduced[axis < 0 ? axis + in.rank() : axis] = true;
  std::vector<T> out(out_shape.num_elements(), is_sum ? T(0) : std::numeric_limits<T>::lowest());
  for (int64_t at = 0; at < in.num_elements(); ++at) {
    int64_t rest = at, to = 0, size = 1;
    for (int i = in.rank() - 1; i >= 0; --i) {
      const int64_t index = rest % in.dim(i);
      rest /= in.dim(i);
      if (reduced[i]) continue;
      to += index * size;
      size *= in.dim(i);
    }
    const T value = in.values<T>()[at];
    out[to] = is_sum ? out[to] + value : std::max(out[to], value);
  }
  return Tensor::Vector<T>(out).Reshaped(out_shape);
}

TEST_F(ReductionTest, SumsAndMaximaOverAnyAxes) {
  struct Case {
    Shape in;
    std::vector<int32_t> axes;
    Shape out, kept;
  };
  const Case cases[] = {
      {{}, {}, {}, {}},
      {{5}, {0}, {}, {1}},
      {{5}, {}, {5}, {5}},
      {{3, 4}, {0}, {4}, {1, 4}},
      {{3, 4}, {-1}, {3}, {3, 1}},
      {{3, 4}, {1, 0}, {}, {1, 1}},
      {{2, 3, 4}, {1}, {2, 4}, {2, 1, 4}},
      {{2, 3, 4}, {0, 2}, {3}, {1, 3, 1}},
      {{2, 3, 4, 5}, {0, 2}, {3, 5}, {1, 3, 1, 5}},
      {{2, 3, 4, 5}, {1, 3}, {2, 4}, {2, 1, 4, 1}},
      {{2, 3, 2, 3, 2}, {0, 2, 4}, {3, 3}, {1, 3, 1, 3, 1}},
      {{1, 3, 1}, {0}, {3, 1}, {1, 3, 1}},
      {{200000}, {0}, {}, {1}},
      {{70000, 3}, {0}, {3}, {1, 3}},
      {{3, 70000}, {1}, {3}, {3, 1}},
      {{40, 5000}, {0}, {5000}, {1, 5000}},
      {{2, 50000, 4}, {1}, {2, 4}, {2, 1, 4}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.in.ToString() + " to " + c.out.ToString());
    const Tensor axes = Tensor::Vector<int32_t>(absl::MakeConstSpan(c.axes));
    const Tensor x = Numbers<float>(c.in), n = Numbers<int32_t>(c.in);
    ExpectSame(RunOne("Sum", {x, axes}), Naive<float>(x, c.axes, true, c.out));
    ExpectSame(RunOne("Max", {n, axes}), Naive<int32_t>(n, c.axes, false, c.out));
    ExpectSame(RunOne(OpNode("Sum").Attr("keep_dims", true), {n, axes}),
               Naive<int32_t>(n, c.axes, true, c.kept));
  }
}

TEST_F(ReductionTest, TakesAxesOfInt64) {
  ExpectSame(
      RunOne("Prod", {Tensor::Of<float>({2, 2}, {1, 2, 3, 4}), Tensor::Vector<int64_t>({0})}),
      Tensor::Vector<float>({3, 8}));
}

TEST_F(ReductionTest, NothingReducesToTheNeutralElement) {
  const Tensor none = Tensor::Of<float>({0}, {}), axis = Tensor::Scalar<int32_t>(0);
  ExpectSame(RunOne("Sum", {none, axis}), Tensor::Scalar(0.0f));
  ExpectSame(RunOne("Prod", {none, axis}), Tensor::Scalar(1.0f));
  ExpectSame(RunOne("Max", {none, axis}), Tensor::Scalar(-kInf));
  ExpectSame(RunOne("Mean", {none, axis}), Tensor::Scalar(kNan));
  ExpectSame(RunOne("Mean", {Tensor::Of<int32_t>({0}, {}), axis}), Tensor::Scalar<int32_t>(0));
  ExpectSame(RunOne("All", {Tensor::Of<bool>({0}, {}), axis}), Tensor::Scalar(true));
  ExpectSame(RunOne("Sum", {Tensor::Of<float>({0, 2}, {}), axis}), Tensor::Vector<float>({0, 0}));
}

TEST_F(ReductionTest, RefusesBadAxes) {
  const Tensor x = Numbers<float>({2, 2});
  EXPECT_EQ(Run("Sum", {x, Tensor::Scalar<int32_t>(2)}).status(),
            InvalidArgument("Invalid reduction dimension (2 for input with 2 dimension(s)"));
  EXPECT_EQ(Run("Sum", {x, Tensor::Vector<int32_t>({0, -2})}).status(),
            InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: 0"));
}

TEST_F(ReductionTest, MeansOfIntegersAreAddedUpIn64BitsAndTruncate) {
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  ExpectSame(RunOne("Mean", {Tensor::Vector<int8_t>({100, 100, -7, 101}), axis}),
             Tensor::Scalar<int8_t>(73));
  ExpectSame(RunOne("Mean", {Tensor::Vector<int32_t>({-7, -2}), axis}),
             Tensor::Scalar<int32_t>(-4));
}

TEST_F(ReductionTest, LongSumsStayAccurate) {
  const int64_t n = 1 << 22;
  const Tensor tenth = Tensor::Vector<float>(std::vector<float>(n, 0.1f));
  ExpectClose(RunOne("Sum", {tenth, Tensor::Scalar<int32_t>(0)}), Tensor::Scalar(0.1f * n), 1e-6);
  ExpectClose(RunOne("Mean", {tenth, Tensor::Scalar<int32_t>(0)}), Tensor::Scalar(0.1f), 1e-6);
}

TEST_F(ReductionTest, HalfIsAddedUpInFloat) {
  const Tensor ones = RunOne(OpNode("Cast").Attr("DstT", DType::kHalf),
                             {Tensor::Vector<float>(std::vector<float>(5000, 1))});
  const Tensor sum = RunOne("Sum", {ones, Tensor::Scalar<int32_t>(0)});
  ExpectSame(RunOne(OpNode("Cast").Attr("DstT", DType::kFloat), {sum}), Tensor::Scalar(5000.0f));
}

TEST_F(ReductionTest, NanIsTheLargestAndTheSmallest) {
  std::vector<float> values(100, 1);
  values[37] = kNan;
  const Tensor x = Tensor::Vector<float>(values);
  ExpectSame(RunOne("Max", {x, Tensor::Scalar<int32_t>(0)}), Tensor::Scalar(kNan));
  ExpectSame(RunOne("Min", {x, Tensor::Scalar<int32_t>(0)}), Tensor::Scalar(kNan));
}

TEST_F(ReductionTest, EuclideanNormTakesTheRootOfTheSquares) {
  ExpectClose(RunOne("EuclideanNorm",
                     {Tensor::Of<float>({2, 2}, {3, 4, 6, 8}), Tensor::Scalar<int32_t>(1)}),
              Tensor::Vector<float>({5, 10}));
}

TEST_F(ReductionTest, L2LossIsHalfTheSumOfSquares) {
  ExpectClose(RunOne("L2Loss", {Tensor::Vector<float>({1, -2, 3})}), Tensor::Scalar(7.0f));
}

TEST_F(ReductionTest, ArgMaxFindsTheFirstLargestAndSkipsNan) {
  const Tensor x = Tensor::Of<float>({2, 3}, {1, 5, 5, 9, kNan, 2});
  ExpectSame(RunOne("ArgMax", {x, Tensor::Scalar<int32_t>(1)}), Tensor::Vector<int64_t>({1, 0}));
  ExpectSame(
      RunOne(OpNode("ArgMax").Attr("output_type", DType::kInt32), {x, Tensor::Scalar<int32_t>(0)}),
      Tensor::Vector<int32_t>({1, 0, 0}));
  ExpectSame(RunOne("ArgMin", {x, Tensor::Scalar<int64_t>(-1)}), Tensor::Vector<int64_t>({0, 2}));
  EXPECT_EQ(Run("ArgMax", {Tensor::Of<float>({2, 0}, {}), Tensor::Scalar<int32_t>(1)}).status(),
            InvalidArgument("Reduction axis 1 is empty in shape [2,0]"));
}

TEST_F(ReductionTest, ScansForwardsBackwardsWithAndWithoutTheElementItself) {
  const Tensor x = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor along = Tensor::Scalar<int32_t>(1), across = Tensor::Scalar<int32_t>(0);
  ExpectSame(RunOne("Cumsum", {x, along}), Tensor::Of<int32_t>({2, 3}, {1, 3, 6, 4, 9, 15}));
  ExpectSame(RunOne("Cumsum", {x, across}), Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 5, 7, 9}));
  ExpectSame(RunOne(OpNode("Cumsum").Attr("exclusive", true).Attr("reverse", true), {x, along}),
             Tensor::Of<int32_t>({2, 3}, {5, 3, 0, 11, 6, 0}));
  ExpectSame(RunOne("Cumprod", {x, along}), Tensor::Of<int32_t>({2, 3}, {1, 2, 6, 4, 20, 120}));
  EXPECT_THAT(Run("Cumsum", {x, Tensor::Scalar<int32_t>(2)}).status().message(),
              HasSubstr("ScanOp: Expected scan axis in the range [-2, 2), but got 2"));
}

}  // namespace
}  // namespace tensorfleet
