#include "runtime/pjrt/lower/lower_cluster.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::pjrt {
namespace {

// What is worth computing while a cluster is lowered: shapes and what is made of them.
constexpr int64_t kMaxFoldedElements = 4096;

bool IsState(DType type) { return IsRef(type) || type == DType::kResource; }

class ClusterLowering {
 public:
  ClusterLowering(ClusterRequest& request, std::vector<int>* needed)
      : request_(request),
        graph_(request.body->graph()),
        needed_(needed),
        hlo_("cluster", request.precision),
        faults_(&hlo_, request.guards_rows),
        values_(graph_.num_node_ids()) {
    for (const VariableState& variable : request.variables) {
      initial_shapes_.push_back(variable.shape);
    }
  }

  StatusOr<LoweredCluster> Run() {
    for (const Node* node : request_.body->order()) {
      values_[node->id()].resize(node->num_outputs());
      if (node->IsRetval()) continue;
      hlo_.SetSource(node->op(), node->name());
      const Status status = node->IsArg() ? LowerArgument(*node) : LowerNode(*node);
      if (!status.ok()) return WithNode(status, node->name());
    }
    return Finish();
  }

 private:
  Status LowerArgument(const Node& node) {
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, GetAttr<int64_t>(node.def(), "index"));
    const ClusterArgument& argument = request_.arguments[index];
    if (argument.variable >= 0) return OkStatus();
    Value& value = values_[node.id()][0];
    value.dtype = argument.dtype;
    value.shape = argument.shape;
    value.constant = argument.value;
    value.argument = static_cast<int>(index);
    return OkStatus();
  }

  Status LowerNode(const Node& node) {
    std::vector<Value*> inputs(node.num_inputs(), nullptr);
    std::vector<VariableState*> variables(node.num_inputs(), nullptr);
    bool all_constant = node.num_inputs() > 0;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge& edge = *node.in_edge(i);
      if (IsState(edge.src->output_type(edge.src_output))) {
        TFLEET_ASSIGN_OR_RETURN(variables[i], VariableOf(*edge.src));
        all_constant = false;
        if (!IsState(node.input_type(i))) {
          TFLEET_ASSIGN_OR_RETURN(inputs[i], ReadReference(variables[i]));
        }
        continue;
      }
      inputs[i] = &values_[edge.src->id()][edge.src_output];
      all_constant &= inputs[i]->constant.is_valid();
    }
    if (all_constant && Fold(node, inputs)) return OkStatus();
    TFLEET_RETURN_IF_ERROR(CheckTypes(node));
    const LoweringRegistry::Entry* const entry = Lowerings().Find(node.op());
    if (entry == nullptr) return Unimplemented("there is no lowering of ", node.op());
    LoweringContext context(node, &hlo_, &faults_, &parameter_of_, inputs, variables,
                            absl::MakeSpan(values_[node.id()]));
    Status status = entry->lower(context);
    if (absl::IsUnimplemented(status)) FindNeeded(node);
    TFLEET_RETURN_IF_ERROR(status);
    return CheckOutputs(node);
  }

  // Lowerings take for granted that what they are given has a form in a program.
  static Status CheckTypes(const Node& node) {
    for (const auto& types : {node.input_types(), node.output_types()}) {
      for (const DType type : types) {
        if (IsState(type) || HloBuilder::HasType(type)) continue;
        return Unimplemented(node.op(), " of type ", DTypeName(type), " is not compiled");
      }
    }
    return OkStatus();
  }

  Status CheckOutputs(const Node& node) const {
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Value& value = values_[node.id()][i];
      if (IsState(node.output_type(i)) || value.dtype == node.output_type(i)) continue;
      return Internal("the lowering of ", node.op(), " gives ", DTypeName(value.dtype),
                      " as output ", i, " of type ", DTypeName(node.output_type(i)));
    }
    return OkStatus();
  }

  // A variable that passes through members is followed to the argument.
  StatusOr<VariableState*> VariableOf(const Node& source) {
    if (!source.IsArg()) return Unimplemented("a reference from ", source.op());
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, GetAttr<int64_t>(source.def(), "index"));
    const int variable = request_.arguments[index].variable;
    if (variable < 0) return Unimplemented("argument ", index, " is no variable");
    return &request_.variables[variable];
  }

  StatusOr<Value*> ReadReference(VariableState* variable) {
    if (!HloBuilder::HasType(variable->dtype)) {
      return Unimplemented("variables of type ", DTypeName(variable->dtype), " are not compiled");
    }
    if (!variable->value.is_valid()) {
      if (!variable->is_initialized) {
        return FailedPrecondition("Attempting to use uninitialized value ", variable->name);
      }
      variable->parameter = hlo_.num_parameters();
      variable->initial = hlo_.Parameter(variable->dtype, variable->shape);
      variable->value = variable->initial;
    }
    reads_.push_back(std::make_unique<Value>());
    reads_.back()->dtype = variable->dtype;
    reads_.back()->shape = variable->shape;
    reads_.back()->hlo = variable->value;
    return reads_.back().get();
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

  // Computes the node by its CPU kernel when its inputs are known and small.
  bool Fold(const Node& node, const std::vector<Value*>& inputs) {
    if (node.schema().is_stateful) return false;
    std::vector<EdgeValue> in(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->shape.num_elements() > kMaxFoldedElements) return false;
      in[i].tensor = inputs[i]->constant;
    }
    // Of what makes much of little, only numbers that describe shapes are wanted here.
    static const auto* const kGrowing = new absl::flat_hash_set<std::string>{
        "Fill", "BroadcastTo", "Tile", "Range", "LinSpace", "OneHot", "Pad", "PadV2", "MirrorPad"};
    if (kGrowing->contains(node.op()) && node.output_type(0) != DType::kInt32) return false;
    if (absl::StartsWith(node.op(), "Stateless") && Lowerings().Find(node.op()) != nullptr &&
        node.output_type(0) != DType::kUInt64) {
      return false;
    }
    KernelInit init(node, request_.device, /*resources=*/nullptr, /*functions=*/nullptr);
    const StatusOr<std::unique_ptr<Kernel>> kernel = request_.kernels->Make(init, kCpu);
    if (!kernel.ok() || (*kernel)->AsAsync() != nullptr) return false;
    std::vector<EdgeValue> out(node.num_outputs());
    StepContext step;
    step.device = request_.device;
    KernelContext context(&node, &step, absl::MakeSpan(in), absl::MakeSpan(out));
    if (!(*kernel)->Compute(context).ok()) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (!out[i].tensor.is_valid()) return false;
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      Value& value = values_[node.id()][i];
      value.dtype = out[i].tensor.dtype();
      value.shape = out[i].tensor.shape();
      value.constant = std::move(out[i].tensor);
    }
    return true;
  }

  // A lowering was refused, perhaps for want of a value: the arguments that small inputs of the
  // node come from.
  void FindNeeded(const Node& node) {
    absl::flat_hash_set<const Node*> seen;
    std::vector<const Node*> open;
    const auto visit = [&](const Node& user) {
      for (int i = 0; i < user.num_inputs(); ++i) {
        const Edge& edge = *user.in_edge(i);
        if (edge.src_output >= static_cast<int>(values_[edge.src->id()].size())) continue;
        const Value& value = values_[edge.src->id()][edge.src_output];
        const bool is_index = value.dtype == DType::kInt32 || value.dtype == DType::kInt64;
        if (!is_index || value.constant.is_valid()) continue;
        if (value.shape.num_elements() > kMaxFoldedElements) continue;
        if (seen.insert(edge.src).second) open.push_back(edge.src);
      }
    };
    visit(node);
    while (!open.empty()) {
      const Node* const source = open.back();
      open.pop_back();
      if (source->IsArg()) {
        needed_->push_back(values_[source->id()][0].argument);
      } else {
        visit(*source);
      }
    }
    std::sort(needed_->begin(), needed_->end());
  }

  StatusOr<LoweredCluster> Finish() {
    LoweredCluster lowered;
    std::vector<Hlo> results;
    for (const Node* node : request_.body->results()) {
      const Edge& edge = *node->in_edge(0);
      Value& value = values_[edge.src->id()][edge.src_output];
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
  const Graph& graph_;
  std::vector<int>* const needed_;
  HloBuilder hlo_;
  Faults faults_;
  const std::function<Hlo(int)> parameter_of_ = [this](int i) { return ParameterOf(i); };
  std::vector<std::vector<Value>> values_;  // by node id and output
  std::vector<std::unique_ptr<Value>> reads_;
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
  parsed->graph_ = std::make_unique<Graph>(ops, std::make_shared<const FunctionLibrary>());
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
