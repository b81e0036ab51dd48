// What an operation is: its name, inputs, outputs and neighbours. TF_Operation pointers are not
// checked but for NULL: there is no graph here to look them up in.
#include <algorithm>

#include "runtime/capi/buffer.h"
#include "runtime/capi/graph.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::capi {
namespace {

// The node's edges that `wanted` says, in the order of the graph's edges, which is that in which
// they were added.
template <typename Wanted>
std::vector<const Edge*> EdgesOf(const std::vector<Edge*>& edges, Wanted&& wanted) {
  std::vector<const Edge*> found;
  for (const Edge* edge : edges) {
    if (wanted(*edge)) found.push_back(edge);
  }
  std::sort(found.begin(), found.end(), [](const Edge* a, const Edge* b) { return a->id < b->id; });
  return found;
}

std::vector<const Edge*> Consumers(TF_Output output) {
  return EdgesOf(NodeOf(output.oper)->out_edges(), [&](const Edge& edge) {
    return !edge.is_control() && edge.src_output == output.index;
  });
}

bool IsControl(const Edge& edge) { return edge.is_control(); }

bool HasInput(TF_Input input) {
  return input.oper != nullptr && input.index >= 0 &&
         input.index < NodeOf(input.oper)->num_inputs();
}

bool HasOutput(TF_Output output) {
  return output.oper != nullptr && output.index >= 0 &&
         output.index < NodeOf(output.oper)->num_outputs();
}

using RangeOf = StatusOr<ArgRange> (*)(const OpSchema&, const tensorflow::NodeDef&,
                                       absl::string_view);

int ListLength(TF_Operation* operation, const char* argument, RangeOf range_of, TF_Status* status) {
  return EnterFor<int>(status, -1, [&]() -> StatusOr<int> {
    TFLEET_RETURN_IF_ERROR(NotNull(operation, "oper"));
    TFLEET_RETURN_IF_ERROR(NotNull(argument, "arg_name"));
    const Node& node = *NodeOf(operation);
    const StatusOr<ArgRange> range = range_of(node.schema(), node.def(), argument);
    // TensorFlow's code for a name that there is not.
    if (!range.ok()) return InvalidArgument(range.status().message());
    return range->end - range->begin;
  });
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

const char* TF_OperationName(TF_Operation* oper) {
  return oper == nullptr ? "" : NodeOf(oper)->name().c_str();
}

const char* TF_OperationOpType(TF_Operation* oper) {
  return oper == nullptr ? "" : NodeOf(oper)->op().c_str();
}

const char* TF_OperationDevice(TF_Operation* oper) {
  return oper == nullptr ? "" : NodeOf(oper)->requested_device().c_str();
}

int TF_OperationNumOutputs(TF_Operation* oper) {
  return oper == nullptr ? 0 : NodeOf(oper)->num_outputs();
}

TF_DataType TF_OperationOutputType(TF_Output oper_out) {
  if (!HasOutput(oper_out)) return static_cast<TF_DataType>(0);
  return static_cast<TF_DataType>(NodeOf(oper_out.oper)->output_type(oper_out.index));
}

int TF_OperationOutputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  return ListLength(oper, arg_name, OutputRange, status);
}

int TF_OperationNumInputs(TF_Operation* oper) {
  return oper == nullptr ? 0 : NodeOf(oper)->num_inputs();
}

TF_DataType TF_OperationInputType(TF_Input oper_in) {
  if (!HasInput(oper_in)) return static_cast<TF_DataType>(0);
  return static_cast<TF_DataType>(NodeOf(oper_in.oper)->input_type(oper_in.index));
}

int TF_OperationInputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  return ListLength(oper, arg_name, InputRange, status);
}

TF_Output TF_OperationInput(TF_Input oper_in) {
  const Edge* edge = HasInput(oper_in) ? NodeOf(oper_in.oper)->in_edge(oper_in.index) : nullptr;
  if (edge == nullptr) return {nullptr, -1};
  return {OperationOf(edge->src), edge->src_output};
}

void TF_OperationAllInputs(TF_Operation* oper, TF_Output* inputs, int max_inputs) {
  if (inputs == nullptr) return;
  const int count = std::min(max_inputs, TF_OperationNumInputs(oper));
  for (int i = 0; i < count; ++i) inputs[i] = TF_OperationInput({oper, i});
}

int TF_OperationOutputNumConsumers(TF_Output oper_out) {
  return HasOutput(oper_out) ? static_cast<int>(Consumers(oper_out).size()) : 0;
}

int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input* consumers, int max_consumers) {
  if (!HasOutput(oper_out)) return 0;
  const std::vector<const Edge*> edges = Consumers(oper_out);
  const int count = static_cast<int>(edges.size());
  for (int i = 0; consumers != nullptr && i < std::min(count, max_consumers); ++i) {
    consumers[i] = {OperationOf(edges[i]->dst), edges[i]->dst_input};
  }
  return count;
}

int TF_OperationNumControlInputs(TF_Operation* oper) {
  return TF_OperationGetControlInputs(oper, nullptr, 0);
}

int TF_OperationGetControlInputs(TF_Operation* oper, TF_Operation** control_inputs,
                                 int max_control_inputs) {
  if (oper == nullptr) return 0;
  const auto edges = EdgesOf(NodeOf(oper)->in_edges(), IsControl);
  const int count = static_cast<int>(edges.size());
  for (int i = 0; control_inputs != nullptr && i < std::min(count, max_control_inputs); ++i) {
    control_inputs[i] = OperationOf(edges[i]->src);
  }
  return count;
}

int TF_OperationNumControlOutputs(TF_Operation* oper) {
  return TF_OperationGetControlOutputs(oper, nullptr, 0);
}

int TF_OperationGetControlOutputs(TF_Operation* oper, TF_Operation** control_outputs,
                                  int max_control_outputs) {
  if (oper == nullptr) return 0;
  const auto edges = EdgesOf(NodeOf(oper)->out_edges(), IsControl);
  const int count = static_cast<int>(edges.size());
  for (int i = 0; control_outputs != nullptr && i < std::min(count, max_control_outputs); ++i) {
    control_outputs[i] = OperationOf(edges[i]->dst);
  }
  return count;
}

void TF_OperationToNodeDef(TF_Operation* oper, TF_Buffer* output_node_def, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(oper);
    const Node& node = *NodeOf(oper);
    tensorflow::NodeDef def = node.def();
    def.clear_input();
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.in_edge(i);
      if (edge == nullptr) continue;
      def.add_input(edge->src_output == 0 ? edge->src->name()
                                          : absl::StrCat(edge->src->name(), ":", edge->src_output));
    }
    for (const Edge* edge : EdgesOf(node.in_edges(), IsControl)) {
      def.add_input(absl::StrCat("^", edge->src->name()));
    }
    return FillBuffer(def, output_node_def);
  });
}

}  // extern "C"
