#include <numeric>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

// Small whole numbers: sums of their products are exact in every type.
template <typename T = float>
Tensor Whole(const Shape& shape, int seed) {
  Tensor t = *Tensor::Allocate(kDTypeOf<T>, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    t.mutable_values<T>()[i] = static_cast<T>((i * 7 + seed * 5 + i * i % 11) % 5 - 2);
  }
  return t;
}

Tensor ShapeVector(const Shape& shape) {
  Tensor t = *Tensor::Allocate(DType::kInt32, Shape({shape.rank()}));
  std::copy(shape.dims().begin(), shape.dims().end(), t.mutable_values<int32_t>().begin());
  return t;
}

struct Case {
  Shape image, filter;
  std::vector<int64_t> strides = {1, 1, 1, 1}, dilations = {1, 1, 1, 1}, paddings = {};
  const char* padding = "VALID";

  OpNode Node(const char* op) const {
    OpNode node(op);
    node.Attr("strides", absl::MakeConstSpan(strides)).Attr("padding", padding);
    node.Attr("dilations", absl::MakeConstSpan(dilations));
    if (!paddings.empty()) node.Attr("explicit_paddings", absl::MakeConstSpan(paddings));
    return node;
  }
};

std::vector<Case> Cases() {
  return {
      {{1, 4, 4, 1}, {2, 2, 1, 1}},
      {{2, 5, 7, 3}, {3, 2, 3, 4}, {1, 2, 1, 1}, {1, 1, 1, 1}, {}, "SAME"},
      {{3, 6, 6, 2}, {3, 3, 2, 5}, {1, 2, 2, 1}, {1, 1, 1, 1}, {}, "SAME"},
      {{2, 9, 8, 2}, {3, 3, 2, 3}, {1, 1, 1, 1}, {1, 2, 3, 1}, {}, "SAME"},
      {{2, 9, 8, 2}, {3, 2, 2, 3}, {1, 2, 1, 1}, {1, 2, 2, 1}},
      {{1, 3, 3, 2},
       {2, 2, 2, 3},
       {1, 2, 2, 1},
       {1, 1, 1, 1},
       {0, 0, 3, 1, 0, 2, 0, 0},
       "EXPLICIT"},
      {{2, 4, 3, 6}, {2, 2, 2, 9}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}, "SAME"},  // three groups
      {{4, 5, 3, 6}, {1, 1, 6, 7}},
      {{1, 5, 5, 3}, {1, 1, 3, 2}, {1, 2, 2, 1}},
      {{8, 12, 12, 16}, {3, 3, 16, 8}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}, "SAME"},
      {{0, 5, 5, 3}, {2, 2, 3, 2}},
      {{2, 5, 5, 3}, {2, 2, 3, 0}},
      {{2, 1, 1, 3}, {2, 2, 3, 4}, {1, 2, 2, 1}},  // no output at all
  };
}

// The definition: calls visit(at_out, at_image, at_filter) for all elements that are multiplied.
template <typename Visit>
void ForProducts(const Case& c, const Shape& o, const Visit& visit) {
  const int64_t depth = c.filter.dim(2), groups = c.image.dim(3) / depth;
  int64_t before[2] = {0, 0};
  for (int s = 0; s < 2; ++s) {
    if (std::string(c.padding) == "SAME") {
      const int64_t reach = (c.filter.dim(s) - 1) * c.dilations[1 + s] + 1;
      const int64_t over = (o.dim(1 + s) - 1) * c.strides[1 + s] + reach - c.image.dim(1 + s);
      before[s] = std::max<int64_t>(0, over) / 2;
    } else if (!c.paddings.empty()) {
      before[s] = c.paddings[2 * (1 + s)];
    }
  }
  for (int64_t i = 0; i < o.num_elements(); ++i) {
    const int64_t k = i % o.dim(3), ox = i / o.dim(3) % o.dim(2),
                  oy = i / o.dim(3) / o.dim(2) % o.dim(1), n = i / o.dim(3) / o.dim(2) / o.dim(1);
    const int64_t first = k / (o.dim(3) / groups) * depth;
    for (int64_t fy = 0; fy < c.filter.dim(0); ++fy) {
      for (int64_t fx = 0; fx < c.filter.dim(1); ++fx) {
        const int64_t y = oy * c.strides[1] - before[0] + fy * c.dilations[1];
        const int64_t x = ox * c.strides[2] - before[1] + fx * c.dilations[2];
        if (y < 0 || y >= c.image.dim(1) || x < 0 || x >= c.image.dim(2)) continue;
        const int64_t pixel = ((n * c.image.dim(1) + y) * c.image.dim(2) + x) * c.image.dim(3);
        const int64_t tap = (fy * c.filter.dim(1) + fx) * depth;
        for (int64_t d = 0; d < depth; ++d) visit(i, pixel + first + d, (tap + d) * o.dim(3) + k);
      }
    }
  }
}

Tensor Zeros(const Shape& shape) { return *Tensor::Zeros(DType::kFloat, shape); }

Tensor Convolved(const Case& c, const Tensor& image, const Tensor& filter, const Shape& shape) {
  Tensor out = Zeros(shape);
  const float *x = image.values<float>().data(), *f = filter.values<float>().data();
  float* y = out.mutable_values<float>().data();
  ForProducts(c, shape, [&](int64_t i, int64_t j, int64_t k) { y[i] += x[j] * f[k]; });
  return out;
}

Tensor ImageGradient(const Case& c, const Tensor& filter, const Tensor& g) {
  Tensor image = Zeros(c.image);
  const float *f = filter.values<float>().data(), *y = g.values<float>().data();
  float* x = image.mutable_values<float>().data();
  ForProducts(c, g.shape(), [&](int64_t i, int64_t j, int64_t k) { x[j] += y[i] * f[k]; });
  return image;
}

Tensor FilterGradient(const Case& c, const Tensor& image, const Tensor& g) {
  Tensor filter = Zeros(c.filter);
  const float *x = image.values<float>().data(), *y = g.values<float>().data();
  float* f = filter.mutable_values<float>().data();
  ForProducts(c, g.shape(), [&](int64_t i, int64_t j, int64_t k) { f[k] += y[i] * x[j]; });
  return filter;
}

// Large enough to be divided among threads, and for oneDNN.
std::vector<Case> LargeCases() {
  const std::vector<int64_t> one = {1, 1, 1, 1}, two = {1, 2, 2, 1};
  return {
      {{1, 24, 20, 16}, {3, 3, 16, 16}, one, one, {}, "SAME"},  // one image: rows are divided
      {{5, 12, 12, 16}, {3, 3, 16, 32}, one, one, {}, "SAME"},  // images divide unevenly
      {{3, 17, 15, 10}, {3, 2, 10, 20}, two, one, {}, "SAME"},
      {{3, 18, 16, 12}, {3, 3, 12, 9}, {1, 2, 3, 1}},  // the last rows meet no window
      {{2, 20, 19, 8}, {5, 5, 8, 16}, one, two, {}, "SAME"},
      {{1, 20, 19, 8}, {5, 3, 8, 16}, {1, 3, 1, 1}},
      {{4, 16, 16, 1}, {5, 5, 1, 33}, one, one, {}, "SAME"},
      {{4, 30, 30, 3}, {7, 7, 3, 16}, two, one, {}, "SAME"},
      {{8, 16, 16, 32}, {1, 1, 32, 16}, two},
      {{16, 2, 2, 64}, {3, 3, 64, 64}, one, one, {}, "SAME"},
      {{2, 12, 12, 16}, {3, 3, 16, 16}, one, one, {0, 0, 3, 1, 0, 4, 0, 0}, "EXPLICIT"},
      {{1, 8, 8, 32}, {3, 3, 32, 32}, one, one, {0, 0, 9, 12, 3, 3, 0, 0}, "EXPLICIT"},
      {{2, 16, 16, 32}, {3, 3, 16, 32}, one, one, {}, "SAME"},  // two groups
      {{4, 40, 40, 6}, {3, 3, 2, 9}, two, one, {}, "SAME"},     // three groups
  };
}

class ConvTest : public OpTest {
 protected:
  Tensor Transposed(const Tensor& t, std::initializer_list<int32_t> perm) {
    return RunOne("Transpose", {t, Tensor::Vector<int32_t>(perm)});
  }
};

TEST_F(ConvTest, SlidesTheFilterOverTheImage) {
  const Tensor image = Tensor::Of<float>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor filter = Tensor::Of<float>({2, 2, 1, 1}, {1, 10, 100, 1000});
  ExpectSame(RunOne(Case().Node("Conv2D"), {image, filter}),
             Tensor::Of<float>({1, 2, 2, 1}, {5421, 6532, 8754, 9865}));
}

TEST_F(ConvTest, AgreesWithTheDefinition) {
  std::vector<Case> cases = Cases();
  for (const Case& c : LargeCases()) cases.push_back(c);
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.image.ToString(), " * ", c.filter.ToString()));
    const Tensor image = Whole(c.image, 1), filter = Whole(c.filter, 2);
    const Tensor out = RunOne(c.Node("Conv2D"), {image, filter});
    ASSERT_TRUE(out.is_valid());
    ExpectSame(out, Convolved(c, image, filter, out.shape()));
    const Tensor g = Whole(out.shape(), 3);
    ExpectSame(RunOne(c.Node("Conv2DBackpropInput"), {ShapeVector(c.image), filter, g}),
               ImageGradient(c, filter, g));
    ExpectSame(RunOne(c.Node("Conv2DBackpropFilter"), {image, ShapeVector(c.filter), g}),
               FilterGradient(c, image, g));
  }
}

TEST_F(ConvTest, OtherTypesAgreeWithFloat) {
  const Case c = {{2, 5, 7, 3}, {3, 2, 3, 4}, {1, 2, 1, 1}, {1, 1, 1, 1}, {}, "SAME"};
  const Tensor image = Whole(c.image, 1), filter = Whole(c.filter, 2);
  const Tensor want = RunOne(c.Node("Conv2D"), {image, filter});
  for (const DType type : {DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt32}) {
    const auto cast = [&](const Tensor& t) {
      return RunOne(OpNode("Cast").Attr("DstT", type), {t});
    };
    ExpectSame(RunOne(c.Node("Conv2D"), {cast(image), cast(filter)}), cast(want));
  }
}

TEST_F(ConvTest, TakesChannelsFirst) {
  Case c = {{2, 5, 7, 3}, {3, 2, 3, 4}, {1, 2, 1, 1}, {1, 1, 1, 1}, {}, "SAME"};
  const Tensor image = Whole(c.image, 1), filter = Whole(c.filter, 2);
  const Tensor out = RunOne(c.Node("Conv2D"), {image, filter}), g = Whole(out.shape(), 3);
  const Tensor image_gradient =
      RunOne(c.Node("Conv2DBackpropInput"), {ShapeVector(c.image), filter, g});
  const Tensor filter_gradient =
      RunOne(c.Node("Conv2DBackpropFilter"), {image, ShapeVector(c.filter), g});
  c.strides = {1, 1, 2, 1};
  const auto first = [&](const Tensor& t) { return Transposed(t, {0, 3, 1, 2}); };
  const auto node = [&](const char* op) { return c.Node(op).Attr("data_format", "NCHW"); };
  ExpectSame(RunOne(node("Conv2D"), {first(image), filter}), first(out));
  ExpectSame(
      RunOne(node("Conv2DBackpropInput"), {ShapeVector(first(image).shape()), filter, first(g)}),
      first(image_gradient));
  ExpectSame(RunOne(node("Conv2DBackpropFilter"), {first(image), ShapeVector(c.filter), first(g)}),
             filter_gradient);
}

TEST_F(ConvTest, TheImagesSpacesAloneSayItsShapeToo) {
  const Case c = {{2, 4, 5, 3}, {2, 2, 3, 2}};
  const Tensor filter = Whole(c.filter, 2), g = Whole({2, 3, 4, 2}, 3);
  ExpectSame(RunOne(c.Node("Conv2DBackpropInput"), {Tensor::Vector<int32_t>({4, 5}), filter, g}),
             RunOne(c.Node("Conv2DBackpropInput"), {ShapeVector(c.image), filter, g}));
}

TEST_F(ConvTest, NamesWhatDoesNotFit) {
  const Tensor image = Whole({1, 4, 4, 3}, 1);
  const auto message = [&](const Tensor& x, const Shape& filter, const Case& c = {}) {
    return std::string(Run(c.Node("Conv2D"), {x, Whole(filter, 2)}).status().message());
  };
  EXPECT_EQ(message(Whole({1, 3, 4}, 1), {2, 2, 3, 1}),
            "convolution input must be 4-dimensional: [1,3,4]");
  EXPECT_EQ(message(image, {2, 3, 1}), "convolution filter must be 4-dimensional: [2,3,1]");
  EXPECT_EQ(message(image, {2, 2, 2, 1}),
            "input depth must be evenly divisible by filter depth: 3 vs 2");
  EXPECT_EQ(message(image, {2, 2, 1, 2}),
            "output depth must be evenly divisible by number of groups: 2 vs 3");
  EXPECT_THAT(message(image, {6, 2, 3, 1}), HasSubstr("Computed output size would be negative"));
  Case c;
  c.strides = {2, 1, 1, 1};
  EXPECT_THAT(message(image, {2, 2, 3, 1}, c), HasSubstr("strides in the batch and depth"));
  c.strides = {1, 1, 1};
  EXPECT_THAT(message(image, {2, 2, 3, 1}, c), HasSubstr("strides field must specify 4"));
  c.strides = {1, 1, 1, 1};
  c.padding = "EXPLICIT";
  EXPECT_THAT(message(image, {2, 2, 3, 1}, c), HasSubstr("must contain 8 values, but got: 0"));
}

TEST_F(ConvTest, GradientsNameWhatDoesNotFit) {
  const Case c;
  const Tensor filter = Whole({2, 2, 3, 1}, 2);
  const auto message = [&](const Shape& image, const Shape& g) {
    return std::string(Run(c.Node("Conv2DBackpropInput"), {ShapeVector(image), filter, Whole(g, 3)})
                           .status()
                           .message());
  };
  EXPECT_THAT(message({1, 4, 4, 3}, {1, 2, 3, 1}),
              HasSubstr("Size of out_backprop doesn't match computed: actual = 2, computed = 3"));
  EXPECT_THAT(message({2, 4, 4, 3}, {1, 3, 3, 1}), HasSubstr("must have the same batch size"));
  EXPECT_THAT(message({1, 4, 4, 3}, {1, 3, 3, 2}), HasSubstr("must have the same out_depth"));
  EXPECT_THAT(message({1, 4, 4}, {1, 3, 3, 1}), HasSubstr("4 values or 2 values"));
}

// A depthwise convolution is one in as many groups as there are channels.
TEST_F(ConvTest, DepthwiseAgreesWithGroups) {
  for (const int64_t multiplier : {1, 3}) {
    for (Case c :
         {Case{{2, 6, 5, 4}, {3, 2, 4, multiplier}},
          Case{{3, 9, 9, 4}, {3, 3, 4, multiplier}, {1, 2, 2, 1}, {1, 1, 1, 1}, {}, "SAME"},
          Case{{1, 9, 8, 4}, {2, 3, 4, multiplier}, {1, 1, 1, 1}, {1, 2, 2, 1}},
          Case{{2, 9, 9, 4},
               {3, 3, 4, multiplier},
               {1, 2, 2, 1},
               {1, 1, 1, 1},
               {0, 0, 2, 1, 0, 3, 0, 0},
               "EXPLICIT"},
          Case{{3, 60, 60, 4}, {3, 3, 4, multiplier}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}, "SAME"},
          Case{{1, 90, 90, 4}, {3, 5, 4, multiplier}, {1, 2, 1, 1}},
          Case{{2, 30, 31, 40}, {3, 3, 40, multiplier}, {1, 2, 2, 1}, {1, 1, 1, 1}, {}, "SAME"}}) {
      SCOPED_TRACE(absl::StrCat(c.image.ToString(), " * ", c.filter.ToString()));
      const Tensor image = Whole(c.image, 1), filter = Whole(c.filter, 2);
      const Tensor grouped =
          filter.Reshaped({c.filter.dim(0), c.filter.dim(1), 1, c.image.dim(3) * multiplier});
      Case same = c;
      same.filter = grouped.shape();
      const Tensor out = RunOne(c.Node("DepthwiseConv2dNative"), {image, filter});
      ExpectSame(out, Convolved(same, image, grouped, out.shape()));
      const Tensor g = Whole(out.shape(), 3);
      ExpectSame(
          RunOne(c.Node("DepthwiseConv2dNativeBackpropInput"), {ShapeVector(c.image), filter, g}),
          ImageGradient(same, grouped, g));
      ExpectSame(
          RunOne(c.Node("DepthwiseConv2dNativeBackpropFilter"), {image, ShapeVector(c.filter), g})
              .Reshaped(grouped.shape()),
          FilterGradient(same, image, g));
    }
  }
}

TEST_F(ConvTest, DepthwiseTakesChannelsFirst) {
  const Case c = {{2, 6, 5, 4}, {3, 2, 4, 2}};
  const Tensor image = Whole(c.image, 1), filter = Whole(c.filter, 2);
  ExpectSame(RunOne(c.Node("DepthwiseConv2dNative").Attr("data_format", "NCHW"),
                    {Transposed(image, {0, 3, 1, 2}), filter}),
             Transposed(RunOne(c.Node("DepthwiseConv2dNative"), {image, filter}), {0, 3, 1, 2}));
}

TEST_F(ConvTest, DepthwiseNamesChannelsThatDiffer) {
  EXPECT_EQ(
      Run(Case().Node("DepthwiseConv2dNative"), {Whole({1, 4, 4, 3}, 1), Whole({2, 2, 2, 1}, 2)})
          .status(),
      InvalidArgument("input and filter must have the same depth: 3 vs 2"));
}

}  // namespace
}  // namespace tensorfleet
