#include "runtime/pjrt/lower/lower_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/pjrt/lower/lower_call.h"
#include "runtime/place/expand/function_calls.h"

namespace tensorfleet::pjrt {
namespace {

// What is worth computing while a cluster is lowered: shapes and what is made of them.
constexpr int64_t kMaxFoldedElements = 4096;

bool IsState(DType type) { return IsRef(type) || type == DType::kResource; }

// Lowerings take for granted that what they are given has a form in a program.
Status CheckTypes(const Node& node) {
  for (const auto& types : {node.input_types(), node.output_types()}) {
    for (const DType type : types) {
      if (IsState(type) || HloBuilder::HasType(type)) continue;
      return Unimplemented(node.op(), " of type ", DTypeName(type), " is not compiled");
    }
  }
  return OkStatus();
}

Status CheckOutputs(const Node& node, absl::Span<const Value> values) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (IsState(node.output_type(i)) || values[i].dtype == node.output_type(i)) continue;
    return Internal("the lowering of ", node.op(), " gives ", DTypeName(values[i].dtype),
                    " as output ", i, " of type ", DTypeName(node.output_type(i)));
  }
  return OkStatus();
}

}  // namespace

GraphLowering::GraphLowering(const ProgramContext& program, const Graph& graph, GraphInputs inputs)
    : program_(program), graph_(graph), inputs_(std::move(inputs)), values_(graph.num_node_ids()) {}

Status GraphLowering::Run(const std::vector<Node*>& order) {
  *program_.nodes_left -= static_cast<int>(order.size());
  if (*program_.nodes_left < 0) return Unimplemented("too many nodes in functions");
  for (const Node* node : order) {
    values_[node->id()].resize(node->num_outputs());
    if (node->IsRetval()) continue;
    program_.hlo->SetSource(node->op(), node->name());
    const Status status = node->IsArg() ? LowerArgument(*node) : LowerNode(*node);
    if (!status.ok()) return WithNode(status, node->name());
  }
  return OkStatus();
}

Value& GraphLowering::Returned(const Node& retval) {
  const Edge& edge = *retval.in_edge(0);
  return values_[edge.src->id()][edge.src_output];
}

Hlo GraphLowering::Emitted(Value& value) {
  if (!value.hlo.is_valid()) {
    value.hlo = value.constant.is_valid() ? program_.hlo->Constant(value.constant).value()
                                          : (*inputs_.parameter)(value.argument);
  }
  return value.hlo;
}

Status GraphLowering::LowerArgument(const Node& node) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t index, GetAttr<int64_t>(node.def(), "index"));
  if (inputs_.variable_of[index] < 0) values_[node.id()][0] = inputs_.values[index];
  return OkStatus();
}

Status GraphLowering::LowerNode(const Node& node) {
  std::vector<Value*> inputs(node.num_inputs(), nullptr);
  std::vector<VariableState*> variables(node.num_inputs(), nullptr);
  // A handle that is passed on is followed by its users (VariableOf).
  if (node.num_outputs() > 0 && node.output_type(0) == DType::kResource &&
      node.op() == "Identity") {
    return OkStatus();
  }
  bool all_constant = node.num_inputs() > 0;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge& edge = *node.in_edge(i);
    if (IsState(edge.src->output_type(edge.src_output))) {
      TFLEET_ASSIGN_OR_RETURN(const int variable, VariableOf(*edge.src));
      variables[i] = &(*inputs_.variables)[variable];
      all_constant = false;
      if (!IsState(node.input_type(i))) {
        TFLEET_ASSIGN_OR_RETURN(inputs[i], ReadReference(variables[i]));
      }
      continue;
    }
    inputs[i] = &values_[edge.src->id()][edge.src_output];
    all_constant &= inputs[i]->constant.is_valid();
  }
  if (IsFunctionCall(node, graph_)) {
    TFLEET_RETURN_IF_ERROR(CheckTypes(node));
    std::vector<int> needed;
    const Status status =
        LowerCall(*this, node, inputs, absl::MakeSpan(values_[node.id()]), &needed);
    if (absl::IsUnimplemented(status) && !needed.empty()) FindNeeded(node, &needed);
    return status;
  }
  if (all_constant && Fold(node, inputs)) return OkStatus();
  TFLEET_RETURN_IF_ERROR(CheckTypes(node));
  const LoweringRegistry::Entry* const entry = Lowerings().Find(node.op());
  if (entry == nullptr) return Unimplemented("there is no lowering of ", node.op());
  LoweringContext context(node, program_.hlo, inputs_.faults, inputs_.parameter, inputs, variables,
                          absl::MakeSpan(values_[node.id()]));
  const Status status = entry->lower(context);
  if (absl::IsUnimplemented(status)) FindNeeded(node, nullptr);
  TFLEET_RETURN_IF_ERROR(status);
  return CheckOutputs(node, values_[node.id()]);
}

// A variable that passes through members is followed to the argument.
StatusOr<int> GraphLowering::VariableOf(const Node& source) const {
  const Node* at = &source;
  while (at->op() == "Identity" && at->output_type(0) == DType::kResource) {
    at = at->in_edge(0)->src;
  }
  if (!at->IsArg()) return Unimplemented("a reference from ", at->op());
  TFLEET_ASSIGN_OR_RETURN(const int64_t index, GetAttr<int64_t>(at->def(), "index"));
  const int variable = inputs_.variable_of[index];
  if (variable < 0) return Unimplemented("argument ", index, " is no variable");
  return variable;
}

StatusOr<Value*> GraphLowering::ReadReference(VariableState* variable) {
  if (!HloBuilder::HasType(variable->dtype)) {
    return Unimplemented("variables of type ", DTypeName(variable->dtype), " are not compiled");
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ReadVariable(variable, program_.hlo));
  reads_.push_back(std::make_unique<Value>());
  reads_.back()->dtype = variable->dtype;
  reads_.back()->shape = variable->shape;
  reads_.back()->hlo = value;
  return reads_.back().get();
}

// Computes the node by its CPU kernel when its inputs are known and small.
bool GraphLowering::Fold(const Node& node, const std::vector<Value*>& inputs) {
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
  KernelInit init(node, program_.device, /*resources=*/nullptr, /*functions=*/nullptr);
  const StatusOr<std::unique_ptr<Kernel>> kernel = program_.kernels->Make(init, kCpu);
  if (!kernel.ok() || (*kernel)->AsAsync() != nullptr) return false;
  std::vector<EdgeValue> out(node.num_outputs());
  StepContext step;
  step.device = program_.device;
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
// node come from; of its inputs `only`, unless that is null.
void GraphLowering::FindNeeded(const Node& node, const std::vector<int>* only) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node& user, const std::vector<int>* wanted) {
    for (int i = 0; i < user.num_inputs(); ++i) {
      if (wanted != nullptr && !std::binary_search(wanted->begin(), wanted->end(), i)) continue;
      const Edge& edge = *user.in_edge(i);
      if (edge.src_output >= static_cast<int>(values_[edge.src->id()].size())) continue;
      const Value& value = values_[edge.src->id()][edge.src_output];
      const bool is_index = value.dtype == DType::kInt32 || value.dtype == DType::kInt64;
      if (!is_index || value.constant.is_valid()) continue;
      if (value.shape.num_elements() > kMaxFoldedElements) continue;
      if (seen.insert(edge.src).second) open.push_back(edge.src);
    }
  };
  visit(node, only);
  while (!open.empty()) {
    const Node* const source = open.back();
    open.pop_back();
    if (source->IsArg()) {
      const StatusOr<int64_t> index = GetAttr<int64_t>(source->def(), "index");
      if (index.ok()) needed_.push_back(static_cast<int>(*index));
    } else {
      visit(*source, nullptr);
    }
  }
  std::sort(needed_.begin(), needed_.end());
}

}  // namespace tensorfleet::pjrt
