// Every lowering against our kernel for the CPU: the same node on the same inputs, compiled by a
// plug-in and computed by the kernel.
#include "runtime/pjrt/lower/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <set>

#include <Eigen/Core>

#include "absl/strings/match.h"
#include "runtime/pjrt/lower/lowering_cases.h"
#include "runtime/pjrt/testing/compiled_test.h"

namespace tensorfleet::pjrt {
namespace {

Tensor Floats(const Shape& shape, float low = -2, float high = 2) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(shape.num_elements());
  for (float& value : values) value = uniform(random);
  return Tensor::Vector<float>(values).Reshaped(shape);
}
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Axis(int32_t axis) { return Tensor::Scalar<int32_t>(axis); }

using Case = NodeCase;

template <typename T>
Tensor Converted(const Tensor& floats) {
  std::vector<T> values;
  for (const float value : floats.values<float>()) values.push_back(static_cast<T>(value));
  return Tensor::Vector<T>(values).Reshaped(floats.shape());
}

// The same numbers as another type.
Tensor As(const Tensor& floats, DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return Converted<Eigen::half>(floats);
    case DType::kBFloat16:
      return Converted<Eigen::bfloat16>(floats);
    case DType::kDouble:
      return Converted<double>(floats);
    case DType::kInt8:
      return Converted<int8_t>(floats);
    case DType::kInt16:
      return Converted<int16_t>(floats);
    case DType::kInt32:
      return Converted<int32_t>(floats);
    case DType::kInt64:
      return Converted<int64_t>(floats);
    case DType::kUInt8:
      return Converted<uint8_t>(floats);
    case DType::kUInt16:
      return Converted<uint16_t>(floats);
    case DType::kUInt32:
      return Converted<uint32_t>(floats);
    case DType::kUInt64:
      return Converted<uint64_t>(floats);
    default:
      return floats;
  }
}

template <typename T>
Tensor ComplexOf(const Tensor& re, const Tensor& im) {
  std::vector<std::complex<T>> values;
  for (int64_t i = 0; i < re.num_elements(); ++i) {
    values.push_back(
        {static_cast<T>(re.values<float>()[i]), static_cast<T>(im.values<float>()[i])});
  }
  return Tensor::Vector<std::complex<T>>(values).Reshaped(re.shape());
}

void AddIndexCases(std::vector<Case>* cases) {
  const Tensor x = Floats(Shape({3, 4, 2}));
  const Tensor rows = Tensor::Of<int32_t>(Shape({2, 2}), {2, 0, 1, 2});
  const Tensor wide = Tensor::Of<int64_t>(Shape({3, 1}), {1, 0, 1});
  cases->push_back({"Gather", {x, rows}});
  for (const int axis : {0, 1, -1}) {
    const Tensor by = axis == -1 ? Tensor::Of<int32_t>(Shape({3}), {1, 0, 1}) : rows;
    cases->push_back({"GatherV2", {x, by, Axis(axis)}});
  }
  cases->push_back({"GatherV2", {x, Tensor::Zeros(DType::kInt32, Shape({0})).value(), Axis(0)}});
  cases->push_back({OpNode("GatherV2").Attr("batch_dims", 1), {x, wide, Axis(1)}});
  cases->push_back({OpNode("GatherV2").Attr("batch_dims", 1), {x, wide, Axis(2)}});
  cases->push_back({"GatherNd", {x, rows}});
  cases->push_back({"GatherNd", {x, Tensor::Of<int64_t>(Shape({2, 3}), {2, 3, 1, 0, 0, 0})}});
  const Tensor places = Tensor::Of<int32_t>(Shape({3, 1}), {2, 0, 2});
  cases->push_back({"ScatterNd", {places, Floats(Shape({3, 2})), Ints({4, 2})}});
  for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMin",
                         "TensorScatterMax", "TensorScatterUpdate"}) {
    cases->push_back(
        {op, {x, Tensor::Of<int32_t>(Shape({2, 2}), {2, 0, 1, 3}), Floats(Shape({2, 2}))}});
  }
  const Tensor ids = Ints({1, 0, -1});
  for (const char* op :
       {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax"}) {
    cases->push_back({op, {x, ids, Axis(4)}});
    cases->push_back({op, {As(x, DType::kHalf), ids, Axis(2)}, 1e-2});
    cases->push_back({op, {Tensor::Of<int32_t>(Shape({3}), {3, -4, 5}), ids, Axis(2)}});
  }
  for (const char* op : {"Cumsum", "Cumprod"}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        cases->push_back({OpNode(op).Attr("exclusive", exclusive).Attr("reverse", reverse),
                          {Floats(Shape({2, 7, 2})), Axis(1)}});
      }
    }
    cases->push_back({op, {Ints({5, -3, 2, 1, 9}), Axis(0)}});
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::Of<float>(Shape({2, 5}), {1, 3, nan, 3, -2, 0, -0.0f, 5, -7, 2});
  for (const int k : {0, 1, 3, 5}) cases->push_back({"TopKV2", {scores, Axis(k)}});
  cases->push_back({"TopKV2", {Tensor::Of<int64_t>(Shape({4}), {3, 9, -1, 9}), Axis(3)}});
  cases->push_back({OpNode("TopK").Attr("k", 2), {As(Floats(Shape({3, 4})), DType::kHalf)}});
  const Tensor guesses = Tensor::Of<float>(Shape({3, 3}), {1, 2, 3, nan, 2, 1, 5, 5, 4});
  cases->push_back({"InTopKV2", {guesses, Ints({1, 1, 0}), Axis(2)}});
  cases->push_back({OpNode("InTopK").Attr("k", 1), {guesses, Ints({2, 0, 7})}});
  cases->push_back({"L2Loss", {x}});
}

void AddDepthwiseCases(const Tensor& x, const char* padding, std::vector<Case>* cases) {
  const std::vector<int64_t> strides = {1, 2, 2, 1};
  const Shape out = padding[0] == 'S' ? Shape({2, 4, 3, 6}) : Shape({2, 3, 3, 6});
  const Tensor filter = Floats(Shape({3, 2, 3, 2}));
  const auto conv = [&](const char* end) {
    return OpNode(absl::StrCat("DepthwiseConv2dNative", end))
        .Attr("strides", absl::MakeConstSpan(strides))
        .Attr("padding", padding);
  };
  cases->push_back({conv(""), {x, filter}});
  cases->push_back({conv("BackpropInput"), {Ints({2, 7, 6, 3}), filter, Floats(out)}});
  cases->push_back({conv("BackpropFilter"), {x, Ints({3, 2, 3, 2}), Floats(out)}, 1e-4});
}

void AddVolumeCases(std::vector<Case>* cases) {
  const std::vector<int64_t> strides = {1, 2, 1, 2, 1};
  const Tensor x = Floats(Shape({2, 5, 4, 6, 3})), filter = Floats(Shape({3, 2, 2, 3, 4}));
  for (const char* padding : {"SAME", "VALID"}) {
    const Shape out = padding[0] == 'S' ? Shape({2, 3, 4, 3, 4}) : Shape({2, 2, 3, 3, 4});
    const auto conv = [&](const char* op) {
      return OpNode(op).Attr("strides", absl::MakeConstSpan(strides)).Attr("padding", padding);
    };
    cases->push_back({conv("Conv3D"), {x, filter}});
    cases->push_back(
        {conv("Conv3DBackpropInputV2"), {Ints({2, 5, 4, 6, 3}), filter, Floats(out)}, 1e-4});
    cases->push_back(
        {conv("Conv3DBackpropFilterV2"), {x, Ints({3, 2, 2, 3, 4}), Floats(out)}, 1e-4});
    const std::vector<int64_t> ksize = {1, 3, 2, 2, 1};
    const auto pool = [&](const char* op) {
      return conv(op).Attr("ksize", absl::MakeConstSpan(ksize));
    };
    const Shape pooled = padding[0] == 'S' ? Shape({2, 3, 4, 3, 3}) : Shape({2, 2, 3, 3, 3});
    cases->push_back({pool("AvgPool3D"), {x}});
    cases->push_back({pool("AvgPool3DGrad"), {Ints({2, 5, 4, 6, 3}), Floats(pooled)}});
  }
}

void AddDivisionCases(std::vector<Case>* cases) {
  const Tensor a = Ints({7, -7, 7, -7, 0, 6}), b = Ints({2, 2, -2, -2, 5, -3});
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod"}) {
    cases->push_back({op, {a, b}});
    cases->push_back({op, {a, Axis(3)}});
    cases->push_back(
        {op, {Tensor::Vector<int64_t>({int64_t{-1} << 63, 5}), Tensor::Vector<int64_t>({-1, 3})}});
    cases->push_back({op, {Floats(Shape({9})), Floats(Shape({9}))}});
    if (absl::string_view(op) != "Div") {
      cases->push_back(
          {op,
           {As(Floats(Shape({9})), DType::kHalf), As(Floats(Shape({9}), 1, 2), DType::kHalf)},
           1e-2});
    }
  }
  cases->push_back(
      {"FloorMod", {Tensor::Vector<uint8_t>({200, 7}), Tensor::Vector<uint8_t>({7, 3})}});
}

void AddTypeCases(std::vector<Case>* cases) {
  const Shape shape({2, 3});
  for (const DType dtype : {DType::kHalf, DType::kBFloat16, DType::kDouble}) {
    const double close = dtype == DType::kDouble ? 1e-9 : 2e-2;
    const Tensor x = As(Floats(shape), dtype), y = As(Floats(shape, 0.5f, 2), dtype);
    for (const char* op : {"Exp", "Tanh", "Sigmoid", "Relu", "Neg", "Square", "Softmax", "Abs"}) {
      cases->push_back({op, {x}, close});
    }
    for (const char* op : {"AddV2", "Mul", "RealDiv", "Maximum", "Less", "Pow"}) {
      cases->push_back({op, {y, y}, close});
    }
    cases->push_back({"MatMul", {x, As(Floats(Shape({3, 2})), dtype)}, close});
    cases->push_back({"Sum", {x, Ints({0})}, close});
    cases->push_back({"Max", {x, Ints({1})}});
    cases->push_back({"ArgMax", {x, Axis(1)}});
  }
  for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt64, DType::kUInt8,
                            DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
    const Tensor x = As(Tensor::Of<float>(shape, {1, 2, 3, 4, 5, 120}), dtype);
    for (const char* op : {"AddV2", "Mul", "Maximum", "Equal", "GreaterEqual"}) {
      cases->push_back({op, {x, x}});
    }
    for (const char* op : {"Max", "Min", "Prod", "Sum"}) cases->push_back({op, {x, Ints({1})}});
    cases->push_back({"ArgMin", {x, Axis(0)}});
    for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
      cases->push_back({op, {x, x}});
    }
    cases->push_back({"Invert", {x}});
  }
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const DType part = dtype == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    const Tensor x = Floats(shape), y = Floats(shape), re = As(x, part), im = As(y, part);
    const Tensor z = part == DType::kFloat ? ComplexOf<float>(x, y) : ComplexOf<double>(x, y);
    cases->push_back({OpNode("Complex").Attr("Tout", dtype), {re, im}});
    for (const char* op : {"Real", "Imag", "ComplexAbs", "Angle"}) {
      cases->push_back({OpNode(op).Attr("Tout", part), {z}});
    }
    for (const char* op : {"Conj", "Neg", "Square", "Exp", "Log", "Tanh", "Sqrt", "Reciprocal"}) {
      cases->push_back({op, {z}, 1e-4});
    }
    for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv", "Equal"}) {
      cases->push_back({op, {z, z}});
    }
    cases->push_back({OpNode("MatMul").Attr("transpose_b", true), {z, z}});
    cases->push_back({"Sum", {z, Ints({0})}});
    cases->push_back({OpNode("Cast").Attr("DstT", part), {z}});
    cases->push_back({OpNode("Cast").Attr("DstT", dtype), {re}});
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor floats = Tensor::Vector<float>({1.9f, -1.9f, 0, 3e9f, -3e9f, 1e30f, nan, -0x1p31f});
  for (const DType to : {DType::kInt32, DType::kInt64}) {
    for (const DType from : {DType::kFloat, DType::kDouble, DType::kHalf}) {
      cases->push_back({OpNode("Cast").Attr("DstT", to), {As(floats, from)}});
    }
  }
  for (const char* op : {"Xlogy", "Xdivy"}) {
    cases->push_back({op, {Tensor::Vector<float>({0, 2, 3}), Tensor::Vector<float>({0, 4, 0.5})}});
  }
  const float infinity = std::numeric_limits<float>::infinity();
  cases->push_back({"IsInf", {Tensor::Vector<float>({1, infinity, -infinity})}});
  cases->push_back({"Tan", {Floats(shape, -1, 1)}});
}

void AddNormalizationCases(std::vector<Case>* cases) {
  const Tensor scale = Floats(Shape({3})), offset = Floats(Shape({3}));
  const Tensor mean = Floats(Shape({3})), variance = Floats(Shape({3}), 0.5f, 2);
  for (const char* version : {"", "V2", "V3"}) {
    for (const bool is_training : {true, false}) {
      for (const char* format : {"NHWC", "NCHW"}) {
        const Shape shape = format[1] == 'H' ? Shape({2, 4, 5, 3}) : Shape({2, 3, 4, 5});
        const auto node = [&](const char* op) {
          return OpNode(absl::StrCat(op, version))
              .Attr("is_training", is_training)
              .Attr("data_format", format);
        };
        const bool mixes = version[0] != 0 && is_training;
        OpNode forward = node("FusedBatchNorm");
        if (mixes) forward.Attr("exponential_avg_factor", 0.25f);
        cases->push_back({forward, {Floats(shape), scale, offset, mean, variance}, 1e-4});
        std::vector<Tensor> inputs = {Floats(shape), Floats(shape), scale, mean, variance};
        if (version[0] == 'V' && version[1] == '3') inputs.push_back(Tensor::Scalar(0.f));
        cases->push_back({node("FusedBatchNormGrad"), inputs, 2e-4});
      }
    }
  }
}

void AddRandomCases(std::vector<Case>* cases) {
  const Tensor key = Tensor::Vector<uint64_t>({0x123456789abcdef1});
  const Tensor counter = Tensor::Vector<uint64_t>({~uint64_t{0} - 2, 7});  // which overflows
  const Tensor seed = Tensor::Vector<int64_t>({-3, 12345678901});
  const auto add = [&](const char* op, DType dtype, double close) {
    for (const char* version : {"", "V2"}) {
      std::vector<Tensor> inputs = {Ints({5, 3})};
      if (version[0] == 0) {
        inputs.push_back(seed);
      } else {
        inputs.insert(inputs.end(), {key, counter, Axis(1)});
      }
      if (absl::string_view(op) == "StatelessRandomUniformInt") {
        inputs.insert(inputs.end(),
                      {As(Tensor::Scalar(-5.f), dtype), As(Tensor::Scalar(90.f), dtype)});
      }
      cases->push_back({OpNode(absl::StrCat(op, version)).Attr("dtype", dtype), inputs, close});
    }
  };
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
    const bool is_small = dtype == DType::kHalf || dtype == DType::kBFloat16;
    add("StatelessRandomUniform", dtype, 0);
    add("StatelessRandomNormal", dtype, is_small ? 1e-2 : 1e-5);
    add("StatelessTruncatedNormal", dtype, is_small ? 1e-2 : 1e-5);
  }
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    add("StatelessRandomUniformInt", dtype, 0);
    add("StatelessRandomUniformFullInt", dtype, 0);
  }
  add("StatelessRandomUniformFullInt", DType::kUInt32, 0);
  add("StatelessRandomUniformFullInt", DType::kUInt64, 0);
  cases->push_back({"StatelessRandomGetKeyCounter", {seed}});
  cases->push_back({"StatelessRandomGetKeyCounterAlg", {seed}});
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const Shape shape({3, 4});
  for (const char* op : {"Abs",      "Ceil",      "Cos",      "Exp",          "Expm1",
                         "Floor",    "IsFinite",  "IsNan",    "Neg",          "Rint",
                         "Round",    "Sigmoid",   "Sign",     "Sin",          "Square",
                         "Tanh",     "Relu",      "Relu6",    "LeakyRelu",    "Elu",
                         "Softsign", "Softplus",  "Identity", "StopGradient", "PreventGradient",
                         "Snapshot", "ZerosLike", "OnesLike", "Softmax",      "LogSoftmax",
                         "Shape",    "Size",      "Rank"}) {
    cases.emplace_back(op, std::vector<Tensor>{Floats(shape)});
  }
  for (const char* op : {"Log", "Log1p", "Rsqrt", "Sqrt", "Inv", "Reciprocal"}) {
    cases.emplace_back(op, std::vector<Tensor>{Floats(shape, 0.1f, 3)});
  }
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "RealDiv", "Div",
                         "FloorDiv", "Greater", "GreaterEqual", "Less", "LessEqual", "Equal",
                         "NotEqual", "SquaredDifference", "Atan2", "DivNoNan"}) {
    cases.emplace_back(op, std::vector<Tensor>{Floats(shape), Floats(shape)});
    cases.emplace_back(op, std::vector<Tensor>{Floats(Shape({2, 3, 1})), Floats(Shape({4}))});
    cases.emplace_back(op, std::vector<Tensor>{Floats(Shape({2, 0})), Floats(Shape())});
  }
  cases.emplace_back("Pow", std::vector<Tensor>{Floats(shape, 0.1f, 3), Floats(shape)});
  cases.emplace_back("DivNoNan", std::vector<Tensor>{Floats(shape), Tensor::Scalar<float>(0)});
  for (const char* op :
       {"SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad", "ReluGrad",
        "Relu6Grad", "LeakyReluGrad", "EluGrad", "SoftplusGrad"}) {
    cases.emplace_back(op, std::vector<Tensor>{Floats(shape, 0.2f, 0.9f), Floats(shape)}, 1e-4);
  }
  const Tensor yes = Tensor::Of<bool>(Shape({2, 2}), {true, false, true, true});
  const Tensor no = Tensor::Of<bool>(Shape({2, 1}), {false, true});
  for (const char* op : {"LogicalAnd", "LogicalOr"}) cases.push_back({op, {yes, no}});
  cases.push_back({"LogicalNot", {yes}});
  cases.push_back({"Select", {yes, Floats(Shape({2, 2})), Floats(Shape({2, 2}))}});
  cases.push_back(
      {"Select",
       {Tensor::Vector<bool>({true, false}), Floats(Shape({2, 2})), Floats(Shape({2, 2}))}});
  cases.push_back({"SelectV2", {no, Floats(Shape({2, 2})), Floats(Shape({2}))}});
  cases.push_back({"AddN", {Floats(shape), Floats(shape), Floats(shape)}});
  cases.push_back({"ClipByValue", {Floats(shape), Tensor::Scalar(-0.5f), Tensor::Scalar(0.5f)}});
  cases.push_back({OpNode("Cast").Attr("DstT", DType::kDouble), {Floats(shape)}});
  cases.push_back({OpNode("Cast").Attr("DstT", DType::kFloat), {yes}});
  cases.push_back({OpNode("Cast").Attr("DstT", DType::kBool), {Ints({0, 2, -1})}});

  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod"}) {
    cases.push_back({op, {Floats(Shape({2, 3, 4})), Ints({0, -1})}});
    cases.push_back({OpNode(op).Attr("keep_dims", true), {Floats(Shape({2, 3, 4})), Axis(1)}});
    cases.push_back({op, {Floats(Shape({2, 3})), Ints({})}});
  }
  cases.push_back({"Sum", {Tensor::Of<int32_t>(Shape({2, 2}), {1, 2, 3, 4}), Ints({1})}});
  for (const char* op : {"All", "Any"}) cases.push_back({op, {yes, Ints({1})}});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    cases.push_back({op, {Floats(Shape({3, 5})), Axis(1)}});
    cases.push_back({op, {Tensor::Vector<float>({1, 3, 3, 1}), Axis(0)}});
  }

  cases.push_back({"MatMul", {Floats(Shape({3, 4})), Floats(Shape({4, 5}))}});
  cases.push_back({OpNode("MatMul").Attr("transpose_a", true).Attr("transpose_b", true),
                   {Floats(Shape({4, 3})), Floats(Shape({5, 4}))}});
  cases.push_back({"BatchMatMul", {Floats(Shape({2, 3, 4})), Floats(Shape({2, 4, 5}))}});
  cases.push_back({OpNode("BatchMatMulV2").Attr("adj_x", true),
                   {Floats(Shape({2, 1, 4, 3})), Floats(Shape({3, 4, 5}))}});
  cases.push_back({OpNode("BatchMatMulV2").Attr("adj_y", true),
                   {Floats(Shape({3, 4})), Floats(Shape({2, 5, 4}))}});

  cases.push_back({OpNode("Const").Attr("value", Floats(shape)).Attr("dtype", DType::kFloat), {}});
  cases.push_back({"ShapeN", {Floats(shape), Floats(Shape({7}))}});
  cases.push_back({"Reshape", {Floats(shape), Ints({2, -1})}});
  cases.push_back({"ExpandDims", {Floats(shape), Axis(-1)}});
  cases.push_back({"Squeeze", {Floats(Shape({1, 3, 1}))}});
  cases.push_back({OpNode("Squeeze").Attr("squeeze_dims", std::vector<int64_t>{-1}),
                   {Floats(Shape({1, 3, 1}))}});
  cases.push_back({"Transpose", {Floats(Shape({2, 3, 4})), Ints({2, 0, 1})}});
  cases.push_back({"Fill", {Ints({2, 3}), Tensor::Scalar(1.5f)}});
  cases.push_back({"BroadcastTo", {Floats(Shape({3, 1})), Ints({2, 3, 4})}});
  cases.push_back({"Tile", {Floats(shape), Ints({2, 3})}});
  cases.push_back({"ConcatV2", {Floats(shape), Floats(Shape({3, 2})), Axis(-1)}});
  cases.push_back({"Concat", {Axis(0), Floats(shape), Floats(Shape({1, 4}))}});
  cases.push_back({OpNode("Pack").Attr("axis", 1), {Floats(shape), Floats(shape)}});
  cases.push_back({OpNode("Unpack").Attr("axis", -1).Attr("num", 4), {Floats(shape)}});
  cases.push_back(
      {"OneHot", {Ints({1, -1, 2}), Axis(3), Tensor::Scalar(2.f), Tensor::Scalar(-1.f)}});
  cases.push_back({OpNode("OneHot").Attr("axis", 0),
                   {Ints({1, 0}), Axis(3), Tensor::Scalar(1.f), Tensor::Scalar(0.f)}});
  cases.push_back({"BroadcastGradientArgs", {Ints({2, 3, 1}), Ints({3, 4})}});
  cases.push_back({"BroadcastArgs", {Ints({2, 1}), Ints({3})}});
  cases.push_back({"ConcatOffset", {Axis(0), Ints({2, 3}), Ints({4, 3})}});
  cases.push_back({"InvertPermutation", {Ints({2, 0, 1})}});
  cases.push_back({"Range", {Axis(2), Axis(8), Axis(3)}});

  cases.push_back({"Slice", {Floats(shape), Ints({1, 0}), Ints({2, -1})}});
  cases.push_back({OpNode("StridedSlice").Attr("shrink_axis_mask", 1),
                   {Floats(Shape({3, 5})), Ints({1, 4}), Ints({2, 0}), Ints({1, -2})}});
  cases.push_back({OpNode("StridedSlice").Attr("new_axis_mask", 2).Attr("end_mask", 1),
                   {Floats(Shape({5, 2})), Ints({1, 0, 0}), Ints({0, 0, 1}), Ints({2, 1, 1})}});
  cases.push_back({OpNode("StridedSliceGrad").Attr("shrink_axis_mask", 1),
                   {Ints({3, 5}), Ints({1, 4}), Ints({2, 0}), Ints({1, -2}), Floats(Shape({2}))}});
  cases.push_back({OpNode("Split").Attr("num_split", 2), {Axis(1), Floats(shape)}});
  cases.push_back(
      {OpNode("SplitV").Attr("num_split", 3), {Floats(shape), Ints({1, -1, 1}), Axis(1)}});
  cases.push_back({"Pad", {Floats(shape), Tensor::Of<int32_t>(Shape({2, 2}), {1, 0, 2, 1})}});
  cases.push_back(
      {"PadV2",
       {Floats(shape), Tensor::Of<int32_t>(Shape({2, 2}), {0, 1, 0, 0}), Tensor::Scalar(9.f)}});
  cases.push_back({"ReverseV2", {Floats(shape), Ints({-1})}});

  const Shape image({2, 7, 6, 3});
  cases.push_back({"BiasAdd", {Floats(image), Floats(Shape({3}))}});
  cases.push_back({"BiasAddV1", {Floats(shape), Floats(Shape({4}))}});
  cases.push_back(
      {OpNode("BiasAdd").Attr("data_format", "NCHW"), {Floats(image), Floats(Shape({7}))}});
  cases.push_back({"BiasAddGrad", {Floats(image)}});
  cases.push_back({"SoftmaxCrossEntropyWithLogits", {Floats(shape), Floats(shape, 0, 1)}});
  cases.push_back({"SparseSoftmaxCrossEntropyWithLogits", {Floats(shape), Ints({3, 0, 2})}});
  for (const char* padding : {"SAME", "VALID"}) {
    const std::vector<int64_t> strides = {1, 2, 1, 1};
    const Tensor x = Floats(image), w = Floats(Shape({3, 2, 3, 4}));
    const Shape out = padding[0] == 'S' ? Shape({2, 4, 6, 4}) : Shape({2, 3, 5, 4});
    const auto conv = [&](const char* op) {
      return OpNode(op).Attr("strides", absl::MakeConstSpan(strides)).Attr("padding", padding);
    };
    cases.push_back({conv("Conv2D"), {x, w}});
    cases.push_back({conv("Conv2DBackpropInput"), {Ints({2, 7, 6, 3}), w, Floats(out)}});
    cases.push_back({conv("Conv2DBackpropFilter"), {x, Ints({3, 2, 3, 4}), Floats(out)}, 1e-4});
    AddDepthwiseCases(x, padding, &cases);
    const std::vector<int64_t> ksize = {1, 3, 2, 1};
    const auto pool = [&](const char* op) {
      return conv(op).Attr("ksize", absl::MakeConstSpan(ksize));
    };
    const Shape pooled = padding[0] == 'S' ? Shape({2, 4, 6, 3}) : Shape({2, 3, 5, 3});
    cases.push_back({pool("MaxPool"), {x}});
    cases.push_back({pool("AvgPool"), {x}});
    cases.push_back({pool("AvgPoolGrad"), {Ints({2, 7, 6, 3}), Floats(pooled)}});
  }
  const std::vector<int64_t> two = {1, 2, 2, 1};
  const Tensor x = Floats(Shape({1, 4, 4, 2}));
  cases.push_back({OpNode("MaxPoolGrad")
                       .Attr("ksize", absl::MakeConstSpan(two))
                       .Attr("strides", absl::MakeConstSpan(two))
                       .Attr("padding", "VALID"),
                   {x, Floats(Shape({1, 2, 2, 2})), Floats(Shape({1, 2, 2, 2}))}});
  const std::vector<int64_t> ones = {1, 1, 1, 1}, wide = {1, 2, 1, 1};
  cases.push_back({OpNode("Conv2D")
                       .Attr("strides", absl::MakeConstSpan(ones))
                       .Attr("dilations", absl::MakeConstSpan(wide))
                       .Attr("padding", "SAME"),
                   {Floats(image), Floats(Shape({3, 2, 3, 4}))}});
  AddVolumeCases(&cases);
  AddIndexCases(&cases);
  AddDivisionCases(&cases);
  AddTypeCases(&cases);
  AddNormalizationCases(&cases);
  AddRandomCases(&cases);
  return cases;
}

// Ops whose tests are elsewhere: those of variables in state_lowering_test.cc; those that have no
// value.
bool IsTestedElsewhere(const std::string& op) {
  if (op == "NoOp" || absl::StartsWith(op, "Assign") || op == "ReadVariableOp") return true;
  return absl::StartsWith(op, "Resource") || absl::StrContains(op, "Apply") ||
         (absl::StartsWith(op, "Scatter") && op != "ScatterNd");
}

TEST(LoweringTable, HasEveryLowering) {
  std::set<std::string> tested;
  std::vector<Case> cases = Cases();
  AddFunctionCases(&cases);
  AddEinsumCases(&cases);
  AddSpaceCases(&cases);
  for (const Case& c : cases) tested.insert(c.node.def().op());
  for (const auto& [op, entry] : Lowerings().entries()) {
    if (IsTestedElsewhere(op)) continue;
    EXPECT_TRUE(tested.count(op)) << op << " has a lowering and no test";
  }
}

using LoweringTest = CompiledTest;

TEST_P(LoweringTest, GivesWhatTheKernelGives) {
  for (const Case& c : Cases()) ExpectSameAsKernel(c);
}
TEST_P(LoweringTest, GivesWhatTheKernelGivesForFunctions) {
  std::vector<Case> cases;
  AddFunctionCases(&cases);
  for (const Case& c : cases) ExpectSameAsKernel(c);
}
TEST_P(LoweringTest, GivesWhatTheKernelGivesForEinsum) {
  std::vector<Case> cases;
  AddEinsumCases(&cases);
  for (const Case& c : cases) ExpectSameAsKernel(c);
}
TEST_P(LoweringTest, GivesWhatTheKernelGivesForSpaceAndImages) {
  std::vector<Case> cases;
  AddSpaceCases(&cases);
  for (const Case& c : cases) ExpectSameAsKernel(c);
}
INSTANTIATE_TEST_SUITE_P(Plugins, LoweringTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace tensorfleet::pjrt
