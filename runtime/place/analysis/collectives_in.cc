#include "runtime/place/analysis/collectives_in.h"

#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/partition.h"

namespace tensorfleet {
namespace {

void Look(const tensorflow::NodeDef& node, CollectivesFound* found) {
  if (!IsCollectiveOp(node.op())) return;
  found->found = true;
  if (const StatusOr<int64_t> key = GetAttr<int64_t>(node, "instance_key"); key.ok()) {
    found->instance_keys.insert(*key);
  } else {
    found->has_open_keys = true;
  }
}

uint64_t Combined(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4));
}

}  // namespace

bool IsCollectiveOp(absl::string_view op) {
  return absl::StartsWith(op, "Collective") && op != "CollectiveAssignGroupV2";
}

CollectivesFound CollectivesIn(const Graph& graph) {
  CollectivesFound found;
  for (const Node* node : graph.nodes()) Look(node->def(), &found);
  if (graph.library() == nullptr || graph.library()->empty()) return found;
  const tensorflow::FunctionDefLibrary used = UsedFunctions(graph);
  for (const tensorflow::FunctionDef& function : used.function()) {
    for (const tensorflow::NodeDef& node : function.node_def()) Look(node, &found);
  }
  return found;
}

int64_t CollectivesFound::graph_key() const {
  if (!found) return 0;
  uint64_t key = 0x8774aa605c729c72ULL;
  for (const int64_t instance : instance_keys) {
    key = Combined(static_cast<uint64_t>(instance), key);
  }
  return static_cast<int64_t>(key);
}

}  // namespace tensorfleet
