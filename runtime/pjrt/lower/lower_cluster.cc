#include "runtime/pjrt/lower/lower_cluster.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/pjrt/lower/lower_graph.h"

namespace tensorfleet::pjrt {
namespace {

// Of those that a cluster calls; the master takes larger ones apart.
constexpr int kMaxNodesOfFunctions = 100'000;

class ClusterLowering {
 public:
  ClusterLowering(ClusterRequest& request, std::vector<int>* needed)
      : request_(request),
        needed_(needed),
        hlo_("cluster", request.precision),
        faults_(&hlo_, request.guards_rows),
        nodes_left_(request.body->graph().num_nodes() + kMaxNodesOfFunctions),
        lowering_({&hlo_, request.kernels, request.device, &nodes_left_}, request.body->graph(),
                  Inputs()) {
    for (const VariableState& variable : request.variables) {
      initial_shapes_.push_back(variable.shape);
    }
  }

  StatusOr<LoweredCluster> Run() {
    const Status status = lowering_.Run(request_.body->order());
    if (!status.ok()) {
      *needed_ = lowering_.needed();
      return status;
    }
    return Finish();
  }

 private:
  GraphInputs Inputs() {
    GraphInputs inputs;
    for (size_t i = 0; i < request_.arguments.size(); ++i) {
      const ClusterArgument& argument = request_.arguments[i];
      inputs.variable_of.push_back(argument.variable);
      Value& value = inputs.values.emplace_back();
      if (argument.variable >= 0) continue;
      value.dtype = argument.dtype;
      value.shape = argument.shape;
      value.constant = argument.value;
      value.argument = static_cast<int>(i);
    }
    inputs.variables = &request_.variables;
    inputs.faults = &faults_;
    inputs.parameter = &parameter_of_;
    return inputs;
  }

  // Arguments become parameters when somebody looks at their elements.
  Hlo ParameterOf(int argument) {
    Hlo& parameter = argument_parameters_[argument];
    if (!parameter.is_valid()) {
      const ClusterArgument& source = request_.arguments[argument];
      parameter_number_[argument] = hlo_.num_parameters();
      parameter = hlo_.Parameter(source.dtype, source.shape);
    }
    return parameter;
  }

  StatusOr<LoweredCluster> Finish() {
    LoweredCluster lowered;
    std::vector<Hlo> results;
    for (const Node* node : request_.body->results()) {
      Value& value = lowering_.Returned(*node);
      LoweredCluster::Result result;
      if (value.argument >= 0) {
        result.from = LoweredCluster::Result::From::kArgument;
        result.index = value.argument;
      } else if (value.constant.is_valid() && !value.hlo.is_valid()) {
        result.from = LoweredCluster::Result::From::kConstant;
        result.constant = value.constant;
      } else {
        if (!value.hlo.is_valid()) return Unimplemented("result ", node->name(), " has no value");
        result.index = static_cast<int>(results.size());
        results.push_back(value.hlo);
        lowered.program_results.emplace_back(value.dtype, value.shape);
      }
      lowered.results.push_back(std::move(result));
    }
    const bool has_fault = !faults_.empty();
    const Hlo fault = faults_.Total();
    std::vector<HloBuilder::Alias> aliases;
    for (size_t i = 0; i < request_.variables.size(); ++i) {
      const VariableState& variable = request_.variables[i];
      if (!variable.is_written) continue;
      const bool is_in_place = variable.parameter >= 0 && initial_shapes_[i] == variable.shape;
      if (is_in_place) {
        aliases.push_back({static_cast<int64_t>(results.size()), variable.parameter});
      } else if (has_fault) {
        lowered.replaced_variables.push_back(static_cast<int>(i));
      }
      lowered.written_variables.push_back(static_cast<int>(i));
      const bool is_guarded = has_fault && is_in_place && variable.needs_guard;
      results.push_back(is_guarded ? hlo_.Select(hlo_.BroadcastTo(fault, variable.shape),
                                                 variable.initial, variable.value)
                                   : variable.value);
      lowered.program_results.emplace_back(variable.dtype, variable.shape);
    }
    if (has_fault) {
      lowered.has_fault = true;
      results.push_back(fault);
      lowered.program_results.emplace_back(DType::kBool, Shape());
    }
    FillParameters(&lowered);
    if (!results.empty()) {
      TFLEET_ASSIGN_OR_RETURN(lowered.module, hlo_.Finish(results, aliases));
    }
    return lowered;
  }

  void FillParameters(LoweredCluster* lowered) {
    lowered->parameters.resize(hlo_.num_parameters());
    for (const auto& [argument, number] : parameter_number_) {
      lowered->parameters[number] = {false, argument};
    }
    for (size_t i = 0; i < request_.variables.size(); ++i) {
      const int number = request_.variables[i].parameter;
      if (number >= 0) lowered->parameters[number] = {true, static_cast<int>(i)};
    }
  }

  ClusterRequest& request_;
  std::vector<int>* const needed_;
  HloBuilder hlo_;
  Faults faults_;
  const std::function<Hlo(int)> parameter_of_ = [this](int i) { return ParameterOf(i); };
  int nodes_left_;
  GraphLowering lowering_;
  absl::flat_hash_map<int, Hlo> argument_parameters_;
  absl::flat_hash_map<int, int> parameter_number_;  // by argument
  std::vector<Shape> initial_shapes_;               // of the variables
};

}  // namespace

StatusOr<std::unique_ptr<ClusterBody>> ClusterBody::Parse(const std::string& body,
                                                          const std::vector<DType>& inputs,
                                                          const std::vector<DType>& outputs,
                                                          const OpRegistry* ops) {
  tensorflow::GraphDef def;
  if (!def.ParseFromString(body)) return InvalidArgument("the body of a cluster is no GraphDef");
  auto parsed = std::make_unique<ClusterBody>();
  TFLEET_ASSIGN_OR_RETURN(auto library, FunctionLibrary::FromProto(def.library()));
  parsed->graph_ = std::make_unique<Graph>(ops, std::move(library));
  ImportOptions import;
  import.allow_internal_ops = true;
  TFLEET_RETURN_IF_ERROR(ImportGraphDef(def, import, parsed->graph_.get()));
  TFLEET_ASSIGN_OR_RETURN(parsed->order_, TopologicalOrder(*parsed->graph_));
  parsed->arguments_.resize(inputs.size());
  parsed->results_.resize(outputs.size());
  parsed->assigned_types_.resize(inputs.size(), DType::kInvalid);
  for (const Node* node : parsed->order_) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->in_edge(i) == nullptr) {
        return InvalidArgument("{{node ", node->name(), "}}: input ", i, " is not connected");
      }
    }
    if (!node->IsArg() && !node->IsRetval()) continue;
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, GetAttr<int64_t>(node->def(), "index"));
    std::vector<const Node*>& list = node->IsArg() ? parsed->arguments_ : parsed->results_;
    const std::vector<DType>& types = node->IsArg() ? inputs : outputs;
    const DType type = node->IsArg() ? node->output_type(0) : node->input_type(0);
    if (index >= static_cast<int64_t>(types.size()) || list[index] != nullptr ||
        types[index] != type) {
      return InvalidArgument("the body of a cluster does not fit its node: {{node ", node->name(),
                             "}}");
    }
    list[index] = node;
    if (!node->IsArg()) continue;
    for (const Edge* edge : node->out_edges()) {
      if (edge->is_control()) continue;
      const StatusOr<DType> type = GetAttr<DType>(edge->dst->def(), "dtype");
      if (edge->dst->op() == "AssignVariableOp" && type.ok()) {
        parsed->assigned_types_[index] = *type;
      }
    }
  }
  for (const auto* list : {&parsed->arguments_, &parsed->results_}) {
    if (std::find(list->begin(), list->end(), nullptr) != list->end()) {
      return InvalidArgument("the body of a cluster lacks an argument or a result");
    }
  }
  return parsed;
}

StatusOr<LoweredCluster> LowerCluster(ClusterRequest request, std::vector<int>* needed) {
  ClusterRequest first = request;
  StatusOr<LoweredCluster> lowered = ClusterLowering(first, needed).Run();
  if (lowered.ok() || !absl::IsAborted(lowered.status())) return lowered;
  request.guards_rows = false;
  return ClusterLowering(request, needed).Run();
}

}  // namespace tensorfleet::pjrt
