#include "runtime/pjrt/lower/lowering_cases.h"

#include <limits>
#include <random>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"

namespace tensorfleet::pjrt {
namespace {

Tensor Floats(const Shape& shape, float low = -2, float high = 2) {
  static std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(shape.num_elements());
  for (float& value : values) value = uniform(random);
  return Tensor::Vector<float>(values).Reshaped(shape);
}
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Pairs(const std::vector<int32_t>& values) {
  return Tensor::Vector<int32_t>(values).Reshaped(
      Shape({static_cast<int64_t>(values.size() / 2), 2}));
}
template <typename T>
Tensor Converted(const Tensor& floats) {
  std::vector<T> values;
  for (const float value : floats.values<float>()) values.push_back(static_cast<T>(value));
  return Tensor::Vector<T>(values).Reshaped(floats.shape());
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

void AddFunctionCases(std::vector<NodeCase>* cases) {
  const Tensor everything = Tensor::Vector<float>(
      {0,  -0.0f, 1e-20f, -1e-4f, 0.3f,  -0.999999f, 0.999999f, 1,         -1,         1.5f, -3,
       20, -20,   88,     -88,    1e10f, -1e10f,     3e38f,     kInfinity, -kInfinity, kNan});
  for (const char* op :
       {"Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Selu"}) {
    cases->push_back({op, {everything}, 1e-5});
    cases->push_back({op, {Converted<double>(everything)}, 1e-13});
    cases->push_back({op, {Converted<Eigen::half>(Floats(Shape({9}), 1, 3))}, 1e-2});
    cases->push_back({op, {Converted<Eigen::bfloat16>(Floats(Shape({9}), -1, 1))}, 2e-2});
  }
  const Tensor x = Floats(Shape({3, 4})), dy = Floats(Shape({3, 4}));
  for (const char* op : {"SeluGrad", "SoftsignGrad"}) {
    cases->push_back({op, {dy, x}});
    cases->push_back({op, {Converted<Eigen::half>(dy), Converted<Eigen::half>(x)}, 1e-2});
  }
  cases->push_back(
      {"SqrtGrad", {Tensor::Vector<float>({0, 0, 2}), Tensor::Vector<float>({0, 1, 3})}});
  for (const char* op : {"MulNoNan", "Xlog1py"}) {
    cases->push_back({op, {x, Floats(Shape({4}), 0, 2)}});
    cases->push_back({op,
                      {Tensor::Vector<float>({kNan, 2, 0, kInfinity}),
                       Tensor::Vector<float>({0, 3, kInfinity, 0})}});
  }
  cases->push_back({"CheckNumerics", {x}});
  cases->back().node.Attr("message", "x");
  cases->push_back({"CheckNumericsV2", {x}});
  cases->back().node.Attr("message", "x");
  cases->push_back({OpNode("AccumulateNV2").Attr("shape", Shape({3, 4})), {x, dy, x}});
  for (const bool keeps : {false, true}) {
    cases->push_back({OpNode("EuclideanNorm").Attr("keep_dims", keeps), {x, Ints({1})}});
  }
  const Tensor bits = Tensor::Vector<float>({1, 0, 100, 77, 3, 120, 5}),
               by = Tensor::Vector<float>({0, 3, 1, 7, 31, 2, 100});
  for (const char* op : {"LeftShift", "RightShift"}) {
    cases->push_back({op, {Converted<uint8_t>(bits), Converted<uint8_t>(by)}});
    cases->push_back({op, {Converted<int8_t>(bits), Converted<int8_t>(by)}});
    cases->push_back({op, {Converted<uint64_t>(bits), Converted<uint64_t>(by)}});
    cases->push_back({op, {Ints({-1, -2147483647 - 1, 7, -9}), Ints({31, 40, -3, 1})}});
    cases->push_back({op, {Tensor::Vector<int64_t>({-1, 1}), Tensor::Scalar<int64_t>(63)}});
  }
  cases->push_back({"Pow", {Ints({3, -2, 0, 7, -1, 2}), Ints({4, 31, 0, 33, 5, 31})}});
  cases->push_back({"Pow", {Tensor::Vector<int64_t>({3, -5}), Tensor::Scalar<int64_t>(40)}});
  cases->push_back({"Pow", {Tensor::Vector<int8_t>({3, -5}), Tensor::Vector<int8_t>({6, 9})}});
}

void AddEinsumCases(std::vector<NodeCase>* cases) {
  const struct {
    const char* equation;
    std::vector<Shape> shapes;
  } kRows[] = {
      {"ab,bc->ac", {Shape({3, 4}), Shape({4, 5})}},
      {"abc,cde->abde", {Shape({2, 3, 4}), Shape({4, 2, 3})}},          // keys of attention
      {"aecd,abcd->acbe", {Shape({2, 5, 3, 4}), Shape({2, 6, 3, 4})}},  // its scores
      {"acbe,aecd->abcd", {Shape({2, 3, 6, 5}), Shape({2, 5, 3, 4})}},  // what it gives
      {"abcd,cde->abe", {Shape({2, 3, 4, 2}), Shape({4, 2, 5})}},
      {"a,b->ab", {Shape({3}), Shape({4})}},
      {"a,a->", {Shape({3}), Shape({3})}},
      {",->", {Shape(), Shape()}},
      {"ab,ab->ab", {Shape({3, 4}), Shape({3, 4})}},
      {"ab,cd->b", {Shape({3, 4}), Shape({2, 5})}},
      {"aab,b->a", {Shape({3, 3, 4}), Shape({4})}},
      {"ab->ba", {Shape({3, 4})}},
      {"ab->", {Shape({3, 4})}},
      {"aa->a", {Shape({4, 4})}},
      {"a->aa", {Shape({4})}},
      {"ab->bab", {Shape({2, 3})}},
      {"...ab,...bc->...ac", {Shape({2, 1, 3, 4}), Shape({5, 4, 2})}},
      {"...a->...", {Shape({2, 3, 4})}},
      {"a...,a...->a...", {Shape({2, 1, 4}), Shape({2, 3, 1})}},
      {"ab,bc->ac", {Shape({3, 0}), Shape({0, 5})}},
      {"ab,bc->ac", {Shape({0, 2}), Shape({2, 5})}},
  };
  for (const auto& [equation, shapes] : kRows) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : shapes) inputs.push_back(Floats(shape));
    cases->push_back({OpNode("Einsum").Attr("equation", equation), inputs});
  }
  const Tensor a = Floats(Shape({3, 4})), b = Floats(Shape({4, 2}));
  const OpNode product = OpNode("Einsum").Attr("equation", "ab,bc->ca");
  cases->push_back({product, {Converted<Eigen::half>(a), Converted<Eigen::half>(b)}, 2e-2});
  cases->push_back({product, {Converted<int32_t>(a), Converted<int32_t>(b)}});
  cases->push_back({product, {Converted<double>(a), Converted<double>(b)}, 1e-12});
  cases->push_back({OpNode("BatchMatMulV3").Attr("Tout", DType::kFloat).Attr("adj_y", true),
                    {Floats(Shape({3, 4})), Floats(Shape({2, 5, 4}))}});
}

namespace {

void AddResizeCases(std::vector<NodeCase>* cases) {
  const Tensor image = Floats(Shape({2, 3, 5, 2}));
  const std::pair<int32_t, int32_t> kSizes[] = {{3, 5}, {6, 10}, {2, 7}};
  for (const char* attr : {"", "align_corners", "half_pixel_centers"}) {
    for (const auto& [height, width] : kSizes) {
      const auto node = [&](const char* op) {
        OpNode made(op);
        if (attr[0] != 0) made.Attr(attr, true);
        return made;
      };
      const Tensor size = Ints({height, width}), original = Ints({3, 5});
      const Tensor gradient = Floats(Shape({2, height, width, 2}));
      cases->push_back({node("ResizeNearestNeighbor"), {image, size}, 0});
      cases->push_back({node("ResizeNearestNeighborGrad"), {gradient, original}, 1e-5});
      cases->push_back({node("ResizeBilinear"), {image, size}, 1e-5});
      cases->push_back({node("ResizeBilinearGrad"), {gradient, image}, 1e-5});
    }
  }
  const Tensor bytes = Converted<uint8_t>(Floats(Shape({1, 4, 4, 3}), 0, 255));
  cases->push_back({"ResizeBilinear", {bytes, Ints({7, 9})}, 1e-5});
  cases->push_back({"ResizeNearestNeighbor", {bytes, Ints({7, 9})}});
  const Tensor half = Converted<Eigen::half>(Floats(Shape({1, 4, 4, 3})));
  cases->push_back({"ResizeNearestNeighborGrad", {half, Ints({2, 3})}, 1e-2});
  cases->push_back({"ResizeBilinearGrad", {Floats(Shape({1, 8, 8, 3})), half}, 1e-2});
}

}  // namespace

void AddSpaceCases(std::vector<NodeCase>* cases) {
  for (const char* format : {"NHWC", "NCHW"}) {
    const auto node = [&](const char* op) {
      return OpNode(op).Attr("block_size", 2).Attr("data_format", format);
    };
    const bool is_last = format[1] == 'H';
    cases->push_back(
        {node("SpaceToDepth"), {Floats(is_last ? Shape({2, 4, 6, 3}) : Shape({2, 3, 4, 6}))}, 0});
    cases->push_back(
        {node("DepthToSpace"), {Floats(is_last ? Shape({2, 2, 3, 12}) : Shape({2, 12, 2, 3}))}, 0});
  }
  cases->push_back(
      {"SpaceToBatchND", {Floats(Shape({2, 5, 3, 2})), Ints({2, 3}), Pairs({1, 0, 2, 1})}, 0});
  cases->push_back({"SpaceToBatchND", {Floats(Shape({2, 6})), Ints({3}), Pairs({0, 0})}, 0});
  cases->push_back(
      {"BatchToSpaceND", {Floats(Shape({12, 3, 2, 2})), Ints({2, 3}), Pairs({1, 0, 2, 1})}, 0});
  cases->push_back({OpNode("SpaceToBatch").Attr("block_size", 2),
                    {Floats(Shape({1, 3, 4, 2})), Pairs({0, 1, 1, 1})},
                    0});
  cases->push_back({OpNode("BatchToSpace").Attr("block_size", 2),
                    {Floats(Shape({4, 3, 4, 2})), Pairs({0, 1, 1, 1})},
                    0});

  const Tensor x = Floats(Shape({3, 4, 5}));
  cases->push_back({"Roll", {x, Ints({2, -7}), Ints({0, -1})}, 0});
  cases->push_back({"Roll", {x, Tensor::Scalar<int32_t>(9), Tensor::Scalar<int32_t>(1)}, 0});
  const Tensor truth = Tensor::Vector<bool>({true, false, false});
  cases->push_back({"Roll", {truth, Ints({1, 1}), Ints({0, 0})}});
  for (const bool is_batch_first : {true, false}) {
    const OpNode node = OpNode("ReverseSequence")
                            .Attr("seq_dim", is_batch_first ? 2 : 0)
                            .Attr("batch_dim", is_batch_first ? 0 : 1);
    cases->push_back({node, {x, is_batch_first ? Ints({5, 0, 3}) : Ints({1, 2, 3, 0})}, 0});
  }
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    const Tensor paddings = Pairs({0, 0, 3, 1, 2, 4});
    cases->push_back({OpNode("MirrorPad").Attr("mode", mode), {x, paddings}, 0});
    cases->push_back(
        {OpNode("MirrorPadGrad").Attr("mode", mode), {Floats(Shape({3, 8, 11})), paddings}, 1e-5});
  }
  for (const auto& [lower, upper] : {std::pair<int64_t, int64_t>{-1, 0}, {0, -1}, {1, 2}, {0, 0}}) {
    const Tensor low = Tensor::Scalar<int64_t>(lower), high = Tensor::Scalar<int64_t>(upper);
    cases->push_back({"MatrixBandPart", {x, low, high}, 0});
    cases->push_back({"MatrixBandPart", {Converted<int32_t>(Floats(Shape({4, 3}))), low, high}});
    const Tensor grid = Tensor::Of<bool>(Shape({2, 2}), {true, true, true, true});
    cases->push_back({"MatrixBandPart", {grid, low, high}});
  }
  AddResizeCases(cases);
}

}  // namespace tensorfleet::pjrt
