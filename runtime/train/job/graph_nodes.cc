#include "runtime/train/job/graph_nodes.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/attr.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {

absl::flat_hash_set<std::string> NodesBehind(const tensorflow::GraphDef& graph,
                                             const std::vector<std::string>& names) {
  absl::flat_hash_map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : graph.node()) nodes[node.name()] = &node;
  absl::flat_hash_set<std::string> found;
  std::vector<std::string> todo;
  for (const std::string& name : names) todo.push_back(NodeOf(name));
  while (!todo.empty()) {
    const std::string name = std::move(todo.back());
    todo.pop_back();
    const auto node = nodes.find(name);
    if (node == nodes.end() || !found.insert(name).second) continue;
    for (const std::string& input : node->second->input()) todo.push_back(NodeOf(input));
  }
  return found;
}

tensorflow::NodeDef* NodeWriter::Add(const std::string& name, const char* op,
                                     const std::string& device,
                                     const std::vector<std::string>& inputs) {
  tensorflow::NodeDef* node = graph_.add_node();
  node->set_name(absl::StrCat(prefix_, name));
  node->set_op(op);
  node->set_device(device);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

std::string NodeWriter::Const(const std::string& name, const std::string& device,
                              const Tensor& value) {
  tensorflow::NodeDef* node = Add(name, "Const", device, {});
  SetAttr(node, "dtype", value.dtype());
  SetAttr(node, "value", value);
  return node->name();
}

}  // namespace tensorfleet::train
