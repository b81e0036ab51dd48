#include "runtime/place/passes/late_reads.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/graph/attr.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {

bool IsLateRead(const Edge& edge) {
  if (edge.is_control() || !IsRef(edge.src->output_type(edge.src_output))) return false;
  if (IsRef(edge.dst->input_type(edge.dst_input)) || edge.dst->IsMerge()) return false;
  const std::vector<Edge*>& inputs = edge.dst->in_edges();
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Edge* input) { return input->is_control(); });
}

Status AddLateReads(const std::function<bool(const Edge&)>& crosses,
                    const std::function<std::string(absl::string_view prefix)>& new_name,
                    Graph* graph) {
  // By source, its output, and what is waited for.
  std::map<std::tuple<int, int, std::vector<int>>, Node*> reads;
  for (Node* reader : graph->nodes()) {
    std::vector<const Edge*> late;
    for (const Edge* edge : reader->in_edges()) {
      if (IsLateRead(*edge) && crosses(*edge)) late.push_back(edge);
    }
    if (late.empty()) continue;
    const std::vector<Node*> waits_for = ControlInputs(*reader);
    std::vector<int> ids;
    for (const Node* earlier : waits_for) ids.push_back(earlier->id());
    std::sort(ids.begin(), ids.end());
    for (const Edge* edge : late) {
      Node* const source = edge->src;
      const int output = edge->src_output;
      Node*& read = reads[{source->id(), output, ids}];
      if (read == nullptr) {
        tensorflow::NodeDef def = NewNodeDef(new_name(absl::StrCat(source->name(), "/read")),
                                             "Identity", source->assigned_device());
        SetAttr(&def, "T", BaseType(source->output_type(output)));
        TFLEET_ASSIGN_OR_RETURN(read, graph->AddNode(std::move(def)));
        read->set_assigned_device(source->assigned_device());
        TFLEET_RETURN_IF_ERROR(graph->AddEdge(source, output, read, 0).status());
        for (Node* earlier : waits_for) graph->AddControlEdge(earlier, read);
      }
      TFLEET_RETURN_IF_ERROR(graph->ReplaceInput(reader, edge->dst_input, read, 0));
    }
  }
  return OkStatus();
}

}  // namespace tensorfleet
