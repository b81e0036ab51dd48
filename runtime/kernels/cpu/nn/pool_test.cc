#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using PoolTest = OpTest;

OpNode Pool(const char* op, std::vector<int64_t> ksize, std::vector<int64_t> strides,
            const char* padding = "VALID") {
  return OpNode(op)
      .Attr("ksize", absl::MakeConstSpan(ksize))
      .Attr("strides", absl::MakeConstSpan(strides))
      .Attr("padding", padding);
}
const std::vector<int64_t> kTwo = {1, 2, 2, 1}, kOne = {1, 1, 1, 1}, kThree = {1, 3, 3, 1};

// 3 x 3 pixels of two channels; the second is the first, negative.
Tensor Image() {
  return Tensor::Of<float>({1, 3, 3, 2},
                           {1, -1, 2, -2, 3, -3, 6, -6, 5, -5, 4, -4, 7, -7, 8, -8, 9, -9});
}

TEST_F(PoolTest, MaxPoolTakesTheLargestOfEachWindow) {
  ExpectSame(RunOne(Pool("MaxPool", kTwo, kOne), {Image()}),
             Tensor::Of<float>({1, 2, 2, 2}, {6, -1, 5, -2, 8, -5, 9, -4}));
  ExpectSame(RunOne(Pool("MaxPool", kTwo, kTwo, "SAME"), {Image()}),
             Tensor::Of<float>({1, 2, 2, 2}, {6, -1, 4, -3, 8, -7, 9, -9}));
}

TEST_F(PoolTest, MaxPoolTakesItsWindowAsInputs) {
  const Tensor two = Tensor::Vector<int32_t>({1, 2, 2, 1}),
               one = Tensor::Vector<int32_t>({1, 1, 1, 1});
  ExpectSame(RunOne(OpNode("MaxPoolV2").Attr("padding", "VALID"), {Image(), two, one}),
             RunOne(Pool("MaxPool", kTwo, kOne), {Image()}));
  EXPECT_THAT(Run(OpNode("MaxPoolV2").Attr("padding", "VALID"),
                  {Image(), two, Tensor::Vector<int32_t>({1, 1})})
                  .status()
                  .message(),
              HasSubstr("strides field must specify 4"));
}

TEST_F(PoolTest, PaddingCountsForNothing) {
  const std::vector<int64_t> paddings = {0, 0, 1, 0, 1, 0, 0, 0};
  const Tensor out = RunOne(Pool("MaxPool", kTwo, kTwo, "EXPLICIT")
                                .Attr("explicit_paddings", absl::MakeConstSpan(paddings)),
                            {Image()});
  ExpectSame(out, Tensor::Of<float>({1, 2, 2, 2}, {1, -1, 3, -2, 7, -6, 9, -4}));
  ExpectSame(RunOne(Pool("AvgPool", kTwo, kTwo, "SAME"), {Image()}),
             Tensor::Of<float>({1, 2, 2, 2}, {3.5, -3.5, 3.5, -3.5, 7.5, -7.5, 9, -9}));
}

TEST_F(PoolTest, MaxPoolOverChannels) {
  ExpectSame(RunOne(Pool("MaxPool", {1, 1, 1, 2}, {1, 1, 1, 2}), {Image()}),
             Tensor::Of<float>({1, 3, 3, 1}, {1, 2, 3, 6, 5, 4, 7, 8, 9}));
  EXPECT_THAT(Run(Pool("MaxPool", {1, 2, 2, 2}, {1, 2, 2, 2}), {Image()}).status().message(),
              HasSubstr("exactly one of pooling across depth"));
  EXPECT_THAT(Run(Pool("AvgPool", {1, 1, 1, 2}, {1, 1, 1, 2}), {Image()}).status().message(),
              HasSubstr("Non-spatial pooling is not yet supported"));
}

TEST_F(PoolTest, ChannelsFirstGivesTheSame) {
  const auto first = [&](const Tensor& t) {
    return RunOne("Transpose", {t, Tensor::Vector<int32_t>({0, 3, 1, 2})});
  };
  for (const char* op : {"MaxPool", "AvgPool"}) {
    const Tensor want = RunOne(Pool(op, kTwo, kOne, "SAME"), {Image()});
    ExpectSame(
        RunOne(Pool(op, {1, 1, 2, 2}, kOne, "SAME").Attr("data_format", "NCHW"), {first(Image())}),
        first(want));
  }
}

TEST_F(PoolTest, MaxPoolGradGivesToTheFirstOfEquals) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 1}, {5, 5, 1, 5, 2, 7});
  const Tensor y = RunOne(Pool("MaxPool", kTwo, kOne), {x});
  const Tensor g = Tensor::Of<float>({1, 1, 2, 1}, {10, 100});
  ExpectSame(RunOne(Pool("MaxPoolGrad", kTwo, kOne), {x, y, g}),
             Tensor::Of<float>({1, 2, 3, 1}, {10, 0, 0, 0, 0, 100}));
  ExpectSame(RunOne(OpNode("MaxPoolGradV2").Attr("padding", "VALID"),
                    {x, y, g, Tensor::Vector<int32_t>({1, 2, 2, 1}),
                     Tensor::Vector<int32_t>({1, 1, 1, 1})}),
             Tensor::Of<float>({1, 2, 3, 1}, {10, 0, 0, 0, 0, 100}));
}

TEST_F(PoolTest, MaxPoolGradAddsUpWhereWindowsOverlap) {
  const Tensor x = Tensor::Of<float>({1, 1, 3, 1}, {1, 9, 2});
  const Tensor g = Tensor::Of<float>({1, 1, 3, 1}, {1, 10, 100});
  const Tensor y = RunOne(Pool("MaxPool", kThree, kOne, "SAME"), {x});
  ExpectSame(RunOne(Pool("MaxPoolGrad", kThree, kOne, "SAME"), {x, y, g}),
             Tensor::Of<float>({1, 1, 3, 1}, {0, 111, 0}));
}

// Large enough for several bands of rows, blocks of channels and threads.
TEST_F(PoolTest, MaxPoolGradOfLargeImagesGivesToWhereArgmaxPoints) {
  struct Case {
    Shape image;
    std::vector<int64_t> ksize, strides;
    const char* padding;
  };
  const Case cases[] = {
      {{2, 61, 60, 70}, kThree, kTwo, "SAME"},
      {{1, 90, 40, 64}, kTwo, kTwo, "VALID"},
      {{1, 75, 64, 33}, kTwo, {1, 3, 3, 1}, "VALID"},  // pixels that no window sees
      {{1, 64, 64, 20}, {1, 5, 4, 1}, kOne, "SAME"},
      {{3, 64, 64, 3}, {1, 64, 64, 1}, kOne, "VALID"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.image.ToString());
    Tensor x = *Tensor::Allocate(DType::kFloat, c.image);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.mutable_values<float>()[i] = static_cast<float>(i * i % 101 + i % 7);  // with equals
    }
    const auto pooled = *Run(Pool("MaxPoolWithArgmax", c.ksize, c.strides, c.padding)
                                 .Attr("Targmax", DType::kInt64)
                                 .Attr("include_batch_in_index", true),
                             {x});
    ExpectSame(RunOne(Pool("MaxPool", c.ksize, c.strides, c.padding), {x}), pooled[0]);
    Tensor g = *Tensor::Allocate(DType::kFloat, pooled[0].shape());
    Tensor want = *Tensor::Zeros(DType::kFloat, c.image);
    for (int64_t i = 0; i < g.num_elements(); ++i) {
      const int64_t place = pooled[1].values<int64_t>()[i];
      EXPECT_EQ(x.values<float>()[place], pooled[0].values<float>()[i]);
      g.mutable_values<float>()[i] = static_cast<float>(i % 9 + 1);
      want.mutable_values<float>()[place] += static_cast<float>(i % 9 + 1);
    }
    ExpectSame(RunOne(Pool("MaxPoolGrad", c.ksize, c.strides, c.padding), {x, pooled[0], g}), want);
    ExpectSame(RunOne(Pool("MaxPoolGradGrad", c.ksize, c.strides, c.padding), {x, pooled[0], x}),
               pooled[0]);
  }
}

TEST_F(PoolTest, MaxPoolGradGradTakesFromThere) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 1}, {5, 5, 1, 5, 2, 7});
  const Tensor y = RunOne(Pool("MaxPool", kTwo, kOne), {x});
  const Tensor g = Tensor::Of<float>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  ExpectSame(RunOne(Pool("MaxPoolGradGrad", kTwo, kOne), {x, y, g}),
             Tensor::Of<float>({1, 1, 2, 1}, {1, 6}));
  // By the value that it is told, not by the largest.
  const Tensor other = Tensor::Of<float>({1, 1, 2, 1}, {2, 9});
  ExpectSame(RunOne(Pool("MaxPoolGradGrad", kTwo, kOne), {x, other, g}),
             Tensor::Of<float>({1, 1, 2, 1}, {5, 0}));
}

TEST_F(PoolTest, MaxPoolGradNamesShapesThatDiffer) {
  const Tensor x = Tensor::Of<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  const Tensor one = Tensor::Of<float>({1, 1, 1, 1}, {4}),
               two = Tensor::Of<float>({1, 1, 2, 1}, {4, 4});
  EXPECT_EQ(Run(Pool("MaxPoolGrad", kTwo, kTwo), {x, two, one}).status(),
            InvalidArgument("Expected orig_output shape to be [1,1,1,1], but got [1,1,2,1]"));
  EXPECT_EQ(Run(Pool("MaxPoolGrad", kTwo, kTwo), {x, one, two}).status(),
            InvalidArgument("Expected grad shape to be [1,1,1,1], but got [1,1,2,1]"));
}

TEST_F(PoolTest, ArgmaxCountsWithinTheImageOrTheBatch) {
  const Tensor x = Tensor::Of<int32_t>({2, 2, 2, 1}, {1, 2, 3, 4, 9, 8, 7, 6});
  const auto pool = [&](bool with_batch) {
    return *Run(Pool("MaxPoolWithArgmax", kTwo, kTwo)
                    .Attr("Targmax", DType::kInt64)
                    .Attr("include_batch_in_index", with_batch),
                {x});
  };
  ExpectSame(pool(false)[0], Tensor::Of<int32_t>({2, 1, 1, 1}, {4, 9}));
  ExpectSame(pool(false)[1], Tensor::Of<int64_t>({2, 1, 1, 1}, {3, 0}));
  ExpectSame(pool(true)[1], Tensor::Of<int64_t>({2, 1, 1, 1}, {3, 4}));
  const Tensor g = Tensor::Of<int32_t>({2, 1, 1, 1}, {5, 6});
  for (const bool with_batch : {false, true}) {
    ExpectSame(
        RunOne(Pool("MaxPoolGradWithArgmax", kTwo, kTwo).Attr("include_batch_in_index", with_batch),
               {x, g, pool(with_batch)[1]}),
        Tensor::Of<int32_t>({2, 2, 2, 1}, {0, 0, 0, 5, 6, 0, 0, 0}));
  }
  EXPECT_EQ(Run(Pool("MaxPoolGradWithArgmax", kTwo, kTwo),
                {x, g, Tensor::Of<int64_t>({2, 1, 1, 1}, {3, 4})})
                .status(),
            InvalidArgument("argmax 4 is not in [0, 4)"));
}

TEST_F(PoolTest, AvgPoolGradSpreadsOverWhatWasInside) {
  const Tensor g = Tensor::Of<float>({1, 2, 2, 1}, {4, 2, 2, 1});
  ExpectSame(
      RunOne(Pool("AvgPoolGrad", kTwo, kTwo, "SAME"), {Tensor::Vector<int32_t>({1, 3, 3, 1}), g}),
      Tensor::Of<float>({1, 3, 3, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_THAT(Run(Pool("AvgPoolGrad", kTwo, kTwo), {Tensor::Vector<int32_t>({1, 9, 9, 1}), g})
                  .status()
                  .message(),
              HasSubstr("Expected grad shape to be [1,4,4,1], but got [1,2,2,1]"));
}

TEST_F(PoolTest, RefusesWhatIsNoPool) {
  EXPECT_THAT(Run(Pool("MaxPool", {2, 2, 2, 1}, kTwo), {Image()}).status().message(),
              HasSubstr("not yet supported on the batch dimension"));
  EXPECT_THAT(Run(Pool("MaxPool", {1, 0, 2, 1}, kTwo), {Image()}).status().message(),
              HasSubstr("ksize must be > 0"));
  EXPECT_THAT(Run(Pool("MaxPool", kTwo, kTwo), {Image().Reshaped({3, 3, 2})}).status().message(),
              HasSubstr("must be 4-dimensional"));
  EXPECT_THAT(Run(Pool("MaxPool", kTwo, kTwo).Attr("data_format", "NCHW_VECT_C"), {Image()})
                  .status()
                  .message(),
              HasSubstr("NCHW_VECT_C of MaxPool is not supported"));
}

TEST_F(PoolTest, EmptyImagesGiveEmptyPools) {
  EXPECT_EQ(RunOne(Pool("MaxPool", kTwo, kTwo), {Tensor::Of<float>({0, 4, 4, 2}, {})}).shape(),
            Shape({0, 2, 2, 2}));
  EXPECT_EQ(RunOne(Pool("AvgPool", kTwo, kTwo), {Tensor::Of<float>({2, 4, 4, 0}, {})}).shape(),
            Shape({2, 2, 2, 0}));
}

}  // namespace
}  // namespace tensorfleet
