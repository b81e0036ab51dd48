// Every lowering against our kernel for the CPU: the same node on the same inputs, compiled by a
// plug-in and computed by the kernel.
#include "runtime/pjrt/lower/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <set>

#include "runtime/graph/graph_import.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/kernels/testing/op_test.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/client.h"
#include "runtime/pjrt/lower/lower_cluster.h"
#include "runtime/pjrt/testing/test_plugin.h"

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

struct Case {
  OpNode node;
  std::vector<Tensor> inputs;
  double tolerance = 2e-5;
  Case(OpNode n, std::vector<Tensor> in, double close = 2e-5)
      : node(std::move(n)), inputs(std::move(in)), tolerance(close) {}
};

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
  return cases;
}

// Ops whose tests are elsewhere: they work on variables (e2e/cases/device_cases.py), or have no
// value.
const std::set<std::string>& TestedElsewhere() {
  static const auto* const ops = new std::set<std::string>{"NoOp",
                                                           "ReadVariableOp",
                                                           "AssignVariableOp",
                                                           "Assign",
                                                           "AssignAdd",
                                                           "AssignSub",
                                                           "AssignAddVariableOp",
                                                           "AssignSubVariableOp",
                                                           "ResourceApplyKerasMomentum"};
  return *ops;
}

TEST(LoweringTable, HasEveryLowering) {
  std::set<std::string> tested = TestedElsewhere();
  for (const Case& c : Cases()) tested.insert(c.node.def().op());
  for (const auto& [op, entry] : Lowerings().entries()) {
    if (absl::StartsWith(op, "Apply") || absl::StartsWith(op, "ResourceApply")) continue;
    EXPECT_TRUE(tested.count(op)) << op << " has a lowering and no test";
  }
}

class LoweringTest : public OpTest, public ::testing::WithParamInterface<int> {
 protected:
  static const Client* ClientOf(const std::string& path) {
    static auto* const clients = new std::map<std::string, std::unique_ptr<Client>>;
    std::unique_ptr<Client>& client = (*clients)[path];
    if (client == nullptr) {
      PluginSpec spec;
      spec.type = "GPU";
      spec.path = path;
      spec.options.push_back({"cpu_device_count", int64_t{1}});
      StatusOr<std::unique_ptr<Client>> opened = Client::Open(spec);
      EXPECT_TRUE(opened.ok()) << opened.status();
      if (opened.ok()) client = *std::move(opened);
    }
    return client.get();
  }

  // The node alone as a cluster, compiled for these inputs.
  StatusOr<std::vector<Tensor>> Compiled(const Client& client, const Node& node,
                                         const std::vector<Tensor>& inputs) {
    tensorflow::GraphDef body;
    *body.add_node() = node.def();
    tensorflow::NodeDef* const def = body.mutable_node(0);
    def->clear_input();
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensorflow::NodeDef* const arg = body.add_node();
      arg->set_name(absl::StrCat("arg", i));
      arg->set_op("_Arg");
      SetAttr(arg, "T", inputs[i].dtype());
      SetAttr(arg, "index", static_cast<int64_t>(i));
      body.mutable_node(0)->add_input(arg->name());
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      tensorflow::NodeDef* const result = body.add_node();
      result->set_name(absl::StrCat("result", i));
      result->set_op("_Retval");
      SetAttr(result, "T", node.output_type(i));
      SetAttr(result, "index", static_cast<int64_t>(i));
      result->add_input(absl::StrCat(node.name(), ":", i));
    }
    TFLEET_ASSIGN_OR_RETURN(const auto parsed,
                            ClusterBody::Parse(body.SerializeAsString(), node.input_types(),
                                               node.output_types(), &BuiltinOps()));
    std::vector<int> needed;
    StatusOr<LoweredCluster> lowered = Unimplemented("not tried");
    for (int attempt = 0; attempt < 2 && !lowered.ok(); ++attempt) {
      ClusterRequest request;
      request.body = parsed.get();
      request.kernels = &CpuKernels();
      request.device = step().device;
      for (size_t i = 0; i < inputs.size(); ++i) {
        ClusterArgument& argument = request.arguments.emplace_back();
        argument.dtype = inputs[i].dtype();
        argument.shape = inputs[i].shape();
        const bool by_value = std::find(needed.begin(), needed.end(), i) != needed.end();
        if (by_value) argument.value = inputs[i];
      }
      lowered = LowerCluster(std::move(request), &needed);
    }
    TFLEET_RETURN_IF_ERROR(lowered.status());
    std::vector<Tensor> computed;
    if (!lowered->module.empty()) {
      TFLEET_ASSIGN_OR_RETURN(const auto executable, client.Compile(lowered->module));
      std::vector<Tensor> arguments;
      for (const auto& parameter : lowered->parameters) {
        TFLEET_ASSIGN_OR_RETURN(arguments.emplace_back(),
                                client.ToDevice(inputs[parameter.index], 0));
      }
      Client::Launch launch;
      launch.arguments = arguments;
      launch.results = lowered->program_results;
      TFLEET_ASSIGN_OR_RETURN(computed, client.Start(*executable, std::move(launch)));
    }
    std::vector<Tensor> results;
    for (const LoweredCluster::Result& result : lowered->results) {
      switch (result.from) {
        case LoweredCluster::Result::From::kConstant:
          results.push_back(result.constant);
          break;
        case LoweredCluster::Result::From::kArgument:
          results.push_back(inputs[result.index]);
          break;
        case LoweredCluster::Result::From::kProgram: {
          std::promise<StatusOr<Tensor>> copy;
          client.ToHost(computed[result.index],
                        [&](StatusOr<Tensor> value) { copy.set_value(std::move(value)); });
          TFLEET_ASSIGN_OR_RETURN(results.emplace_back(), copy.get_future().get());
        }
      }
    }
    return results;
  }
};

TEST_P(LoweringTest, GivesWhatTheKernelGives) {
  const std::vector<std::string> plugins = TestPlugins();
  if (GetParam() >= static_cast<int>(plugins.size())) {
    GTEST_SKIP() << "there is no plug-in: ./dev setup --accelerators fetches it";
  }
  const Client* const client = ClientOf(plugins[GetParam()]);
  ASSERT_NE(client, nullptr);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.node.def().ShortDebugString().substr(0, 300));
    std::vector<OpInput> inputs(c.inputs.begin(), c.inputs.end());
    const auto made = Make(c.node, inputs);
    ASSERT_TRUE(made.ok()) << made.status();
    const StatusOr<std::vector<Tensor>> wanted = Run(c.node, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const StatusOr<std::vector<Tensor>> got = Compiled(*client, (*made)->node(), c.inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; got.ok() && i < wanted->size(); ++i) {
      ExpectClose((*got)[i], (*wanted)[i], c.tolerance);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Plugins, LoweringTest, ::testing::Values(0, 1));

}  // namespace
}  // namespace tensorfleet::pjrt
