#include "runtime/place/expand/added_nodes.h"

#include <utility>

namespace tensorfleet {

std::string AddedNodes::prefix(absl::string_view part) const {
  return absl::StrCat(name_, "/", part, "/");
}

tensorflow::NodeDef AddedNodes::Definition(absl::string_view name, absl::string_view op,
                                           const std::vector<Endpoint>& inputs) const {
  tensorflow::NodeDef def =
      NewNodeDef(graph_->UniqueName(absl::StrCat(name_, "/", name)), op, device_);
  if (!inputs.empty() && op != "LoopCond") {
    SetAttr(&def, "T", BaseType(inputs[0].node->output_type(inputs[0].index)));
  }
  return def;
}

StatusOr<Node*> AddedNodes::Finish(tensorflow::NodeDef def, const std::vector<Endpoint>& inputs) {
  TFLEET_ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
  for (size_t i = 0; i < inputs.size(); ++i) {
    TFLEET_RETURN_IF_ERROR(
        graph_->AddEdge(inputs[i].node, inputs[i].index, node, static_cast<int>(i)).status());
  }
  return node;
}

StatusOr<Node*> AddedNodes::After(absl::string_view name, const std::vector<Node*>& nodes) {
  TFLEET_ASSIGN_OR_RETURN(Node * node, Add(name, "NoOp", {}));
  for (Node* earlier : nodes) graph_->AddControlEdge(earlier, node);
  return node;
}

StatusOr<std::vector<Endpoint>> DataInputs(const Node& node) {
  std::vector<Endpoint> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Endpoint input = InputOf(node, i);
    if (input.node == nullptr) {
      return InvalidArgument("input ", i, " of node '", node.name(), "' is not connected");
    }
    inputs.push_back(input);
  }
  return inputs;
}

}  // namespace tensorfleet
