#include "runtime/place/expand/function_calls.h"

#include "runtime/graph/function_library.h"

namespace tensorfleet {

bool IsIf(const Node& node) { return node.Is(NodeKind::kIf); }
bool IsWhile(const Node& node) { return node.Is(NodeKind::kWhile); }
bool IsCase(const Node& node) { return node.Is(NodeKind::kCase); }
bool IsPartitionedCall(const Node& node) { return node.Is(NodeKind::kPartitionedCall); }

bool IsCallByName(const Node& node, const Graph& graph) {
  return graph.library() != nullptr && graph.library()->Find(node.op()) != nullptr;
}

bool IsFunctionCall(const Node& node, const Graph& graph) {
  return IsIf(node) || IsWhile(node) || IsCase(node) || IsPartitionedCall(node) ||
         IsCallByName(node, graph);
}

std::vector<std::string> FunctionsNamedBy(const tensorflow::NodeDef& node) {
  std::vector<std::string> names = {node.op()};
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) names.push_back(value.func().name());
    for (const tensorflow::NameAttrList& function : value.list().func()) {
      names.push_back(function.name());
    }
  }
  return names;
}

}  // namespace tensorfleet
