#include "runtime/pjrt/testing/compiled_test.h"

#include <algorithm>
#include <future>
#include <map>

#include "absl/strings/match.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/lower/lower_cluster.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::pjrt {
namespace {

// One client for each plug-in and process.
const Client* ClientOf(const std::string& path) {
  static auto* const clients = new std::map<std::string, std::unique_ptr<Client>>;
  std::unique_ptr<Client>& client = (*clients)[path];
  if (client == nullptr) {
    PluginSpec spec;
    spec.type = "GPU";
    spec.path = path;
    if (absl::StrContains(path, "cpu")) spec.options.push_back({"cpu_device_count", int64_t{1}});
    spec.precision = 2;  // as the kernels compute
    StatusOr<std::unique_ptr<Client>> opened = Client::Open(spec);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) client = *std::move(opened);
  }
  return client.get();
}

bool IsState(DType type) { return IsRef(type) || type == DType::kResource; }

// The node alone, its inputs and outputs as a cluster has them.
tensorflow::GraphDef BodyOf(const Node& node, std::vector<DType>* results) {
  tensorflow::GraphDef body;
  *body.add_node() = node.def();
  body.mutable_node(0)->clear_input();
  for (int i = 0; i < node.num_inputs(); ++i) {
    tensorflow::NodeDef* const arg = body.add_node();
    arg->set_name(absl::StrCat("arg", i));
    arg->set_op("_Arg");
    SetAttr(arg, "T", node.input_type(i));
    SetAttr(arg, "index", static_cast<int64_t>(i));
    body.mutable_node(0)->add_input(arg->name());
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (IsState(node.output_type(i))) continue;
    tensorflow::NodeDef* const result = body.add_node();
    result->set_name(absl::StrCat("result", i));
    result->set_op("_Retval");
    SetAttr(result, "T", node.output_type(i));
    SetAttr(result, "index", static_cast<int64_t>(results->size()));
    result->add_input(absl::StrCat(node.name(), ":", i));
    results->push_back(node.output_type(i));
  }
  return body;
}

StatusOr<Tensor> OnHost(const Client& client, const Tensor& tensor) {
  std::promise<StatusOr<Tensor>> copy;
  client.ToHost(tensor, [&](StatusOr<Tensor> value) { copy.set_value(std::move(value)); });
  return copy.get_future().get();
}

}  // namespace

void CompiledTest::SetUp() {
  const std::vector<std::string> plugins = TestPlugins();
  if (GetParam() >= static_cast<int>(plugins.size())) {
    GTEST_SKIP() << "there is no plug-in: ./dev setup --accelerators fetches it";
  }
  client_ = ClientOf(plugins[GetParam()]);
  ASSERT_NE(client_, nullptr);
}

StatusOr<std::vector<OpInput>> CompiledTest::InputsOf(
    const NodeCase& c, std::vector<ResourceRef<Variable>>* variables) {
  const bool by_handle = absl::StartsWith(c.node.def().op(), "Resource") ||
                         absl::StrContains(c.node.def().op(), "VariableOp");
  std::vector<OpInput> inputs;
  for (const Tensor& value : c.variables) {
    const std::string name = absl::StrCat("variable", next_variable_++);
    TFLEET_ASSIGN_OR_RETURN(ResourceRef<Variable> variable,
                            resources().FindOrMake<Variable>(
                                "localhost", name, [&]() -> StatusOr<ResourceRef<Variable>> {
                                  return ResourceRef<Variable>::Adopt(new Variable(value.dtype()));
                                }));
    {
      TFLEET_ASSIGN_OR_RETURN(Tensor copy, value.Clone());
      MutexLock lock(&variable->mu());
      variable->mutable_tensor() = std::move(copy);
    }
    ResourceHandle handle;
    handle.device = step().device->name();
    handle.container = "localhost";
    handle.name = name;
    if (by_handle) {
      inputs.push_back(Tensor::Scalar<ResourceHandle>(handle));
    } else {
      inputs.push_back(variable);
    }
    variables->push_back(std::move(variable));
  }
  inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.end());
  return inputs;
}

StatusOr<NodeRun> CompiledTest::ByKernel(const NodeCase& c) {
  std::vector<ResourceRef<Variable>> variables;
  TFLEET_ASSIGN_OR_RETURN(const std::vector<OpInput> inputs, InputsOf(c, &variables));
  OpOutputs outputs;
  TFLEET_RETURN_IF_ERROR(RunInto(c.node, inputs, &outputs));
  NodeRun run;
  for (const EdgeValue& output : outputs) {
    if (!output.ref) run.results.push_back(output.tensor);
  }
  for (const auto& variable : variables) run.variables.push_back(variable->Read());
  return run;
}

StatusOr<NodeRun> CompiledTest::Compiled(const NodeCase& c) {
  std::vector<ResourceRef<Variable>> unused;
  TFLEET_ASSIGN_OR_RETURN(const std::vector<OpInput> made_for, InputsOf(c, &unused));
  TFLEET_ASSIGN_OR_RETURN(const auto made, Make(c.node, made_for));
  const Node& node = made->node();
  std::vector<DType> result_types;
  const tensorflow::GraphDef body = BodyOf(node, &result_types);
  return CompiledCluster(body, node.input_types(), result_types, c.variables, c.inputs);
}

StatusOr<NodeRun> CompiledTest::CompiledCluster(const tensorflow::GraphDef& body,
                                                const std::vector<DType>& argument_types,
                                                const std::vector<DType>& result_types,
                                                const std::vector<Tensor>& variables,
                                                const std::vector<Tensor>& inputs) {
  TFLEET_ASSIGN_OR_RETURN(
      const auto parsed,
      ClusterBody::Parse(body.SerializeAsString(), argument_types, result_types, &BuiltinOps()));
  // What each argument is the next of: the variables, or the inputs.
  std::vector<int> place;
  int states = 0;
  for (const DType type : argument_types) {
    place.push_back(IsState(type) ? states : static_cast<int>(place.size()) - states);
    if (IsState(type)) ++states;
  }
  std::vector<int> needed;
  StatusOr<LoweredCluster> lowered = Unimplemented("not tried");
  for (int attempt = 0; attempt < 2 && !lowered.ok(); ++attempt) {
    ClusterRequest request;
    request.body = parsed.get();
    request.kernels = &CpuKernels();
    request.device = step().device;
    request.precision = client().spec().precision;
    for (int i = 0; i < static_cast<int>(argument_types.size()); ++i) {
      ClusterArgument& argument = request.arguments.emplace_back();
      if (IsState(argument_types[i])) {
        argument.variable = place[i];
        VariableState& state = request.variables.emplace_back();
        state.dtype = variables[place[i]].dtype();
        state.shape = variables[place[i]].shape();
        state.is_initialized = true;
        state.name = absl::StrCat("variable ", place[i]);
        continue;
      }
      const Tensor& input = inputs[place[i]];
      argument.dtype = input.dtype();
      argument.shape = input.shape();
      if (std::find(needed.begin(), needed.end(), i) != needed.end()) argument.value = input;
    }
    lowered = LowerCluster(std::move(request), &needed);
  }
  TFLEET_RETURN_IF_ERROR(lowered.status());
  NodeRun run;
  run.variables = variables;
  std::vector<Tensor> computed;
  if (!lowered->module.empty()) {
    TFLEET_ASSIGN_OR_RETURN(const auto executable, client().Compile(lowered->module));
    std::vector<Tensor> arguments;
    for (const auto& parameter : lowered->parameters) {
      const Tensor& value =
          parameter.is_variable ? variables[parameter.index] : inputs[place[parameter.index]];
      TFLEET_ASSIGN_OR_RETURN(arguments.emplace_back(), client().ToDevice(value, 0));
    }
    Client::Launch launch;
    launch.arguments = arguments;
    launch.results = lowered->program_results;
    TFLEET_ASSIGN_OR_RETURN(computed, client().Start(*executable, std::move(launch)));
    for (Tensor& tensor : computed) {
      TFLEET_ASSIGN_OR_RETURN(tensor, OnHost(client(), tensor));
    }
  }
  for (const LoweredCluster::Result& result : lowered->results) {
    switch (result.from) {
      case LoweredCluster::Result::From::kConstant:
        run.results.push_back(result.constant);
        break;
      case LoweredCluster::Result::From::kArgument:
        run.results.push_back(inputs[place[result.index]]);
        break;
      case LoweredCluster::Result::From::kProgram:
        run.results.push_back(computed[result.index]);
        break;
    }
  }
  if (lowered->has_fault) {
    run.is_refused = computed.back().scalar<bool>();
    computed.pop_back();
  }
  const size_t first = computed.size() - lowered->written_variables.size();
  for (size_t i = 0; i < lowered->written_variables.size(); ++i) {
    run.variables[lowered->written_variables[i]] = computed[first + i];
  }
  return run;
}

void CompiledTest::ExpectSameAsKernel(const NodeCase& c) {
  SCOPED_TRACE(c.node.def().ShortDebugString().substr(0, 300));
  const StatusOr<NodeRun> wanted = ByKernel(c);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const StatusOr<NodeRun> got = Compiled(c);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_FALSE(got->is_refused);
  ASSERT_EQ(got->results.size(), wanted->results.size());
  for (size_t i = 0; i < wanted->results.size(); ++i) {
    ExpectClose(got->results[i], wanted->results[i], c.tolerance);
  }
  for (size_t i = 0; i < wanted->variables.size(); ++i) {
    ExpectClose(got->variables[i], wanted->variables[i], c.tolerance);
  }
}

}  // namespace tensorfleet::pjrt
