// Reading and extending a graph that is a message.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "proto/graph.pb.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::train {

// The nodes that these nodes or tensors need, themselves included; control inputs count. What is
// not in the graph is left out.
absl::flat_hash_set<std::string> NodesBehind(const tensorflow::GraphDef& graph,
                                             const std::vector<std::string>& names);

// Adds nodes below a prefix such as "fleet_save/". The graph must outlive it; a NodeDef* is good
// until the next node is added.
class NodeWriter {
 public:
  NodeWriter(std::string prefix, tensorflow::GraphDef* graph)
      : prefix_(std::move(prefix)), graph_(*graph) {}

  tensorflow::NodeDef* Add(const std::string& name, const char* op, const std::string& device,
                           const std::vector<std::string>& inputs);
  // Returns the node's name.
  std::string Const(const std::string& name, const std::string& device, const Tensor& value);

 private:
  const std::string prefix_;
  tensorflow::GraphDef& graph_;
};

}  // namespace tensorfleet::train
