#include "runtime/place/aliased_reads.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

// Assign is none: in TensorFlow it usually gives the variable other memory.
bool UpdatesInPlace(const Node& node) {
  if (node.num_inputs() == 0 || !IsRef(node.input_type(0))) return false;
  const std::string& op = node.op();
  return op == "AssignAdd" || op == "AssignSub" || op == "CountUpTo" ||
         absl::StartsWith(op, "Apply") || absl::StartsWith(op, "SparseApply") ||
         absl::StartsWith(op, "Scatter");
}

// The variable behind reference output `at`: updates hand their first input on.
Node* VariableBehind(Endpoint at) {
  while (UpdatesInPlace(*at.node)) {
    const Edge* input = at.node->in_edge(0);
    if (input == nullptr) return nullptr;
    at = {input->src, input->src_output};
  }
  return at.node->IsVariable() ? at.node : nullptr;
}

// What certainly runs after `from`, when it runs. A Merge need not.
absl::flat_hash_set<const Node*> After(const Node& from) {
  absl::flat_hash_set<const Node*> found;
  std::vector<const Node*> todo = {&from};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    for (const Edge* edge : node->out_edges()) {
      if (!edge->dst->IsMerge() && found.insert(edge->dst).second) todo.push_back(edge->dst);
    }
  }
  return found;
}

struct Update {
  Node* node;
  absl::flat_hash_set<const Node*> after;
};

// The edges of `read` to users that run after some of `updates`, though it need not itself; with
// the updates.
using LateUsers = std::vector<std::pair<const Edge*, std::vector<Node*>>>;
LateUsers FindLateUsers(const Node& read, const std::vector<Update>& updates) {
  LateUsers found;
  for (const Edge* edge : read.out_edges()) {
    const Node& user = *edge->dst;
    if (edge->is_control() || user.IsMerge() || user.assigned_device() != read.assigned_device()) {
      continue;
    }
    std::vector<Node*> before;
    for (const Update& update : updates) {
      if (update.after.contains(&user) && !update.after.contains(&read)) {
        before.push_back(update.node);
      }
    }
    if (!before.empty()) found.emplace_back(edge, std::move(before));
  }
  return found;
}

Status Renew(const Node& read, const std::vector<Update>& updates, Graph* graph) {
  std::map<std::vector<Node*>, Node*>
      renewed;  // by what they wait for, in the order of the updates
  for (const auto& [edge, before] : FindLateUsers(read, updates)) {
    Node*& again = renewed[before];
    if (again == nullptr) {
      tensorflow::NodeDef def = NewNodeDef(graph->UniqueName(absl::StrCat(read.name(), "/again")),
                                           "Identity", read.assigned_device());
      SetAttr(&def, "T", read.output_type(0));
      TFLEET_ASSIGN_OR_RETURN(again, graph->AddNode(std::move(def)));
      again->set_assigned_device(read.assigned_device());
      const Endpoint variable = InputOf(read, 0);
      TFLEET_RETURN_IF_ERROR(graph->AddEdge(variable.node, variable.index, again, 0).status());
      for (Node* update : before) graph->AddControlEdge(update, again);
    }
    TFLEET_RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, again, 0));
  }
  return OkStatus();
}

}  // namespace

Status RenewAliasedReads(Graph* graph, const RewriteContext&) {
  if (HasLoops(*graph)) return OkStatus();
  std::map<const Node*, std::vector<Update>> updates;  // by variable
  const std::vector<Node*> nodes = graph->nodes();
  for (Node* node : nodes) {
    if (!UpdatesInPlace(*node)) continue;
    Node* const variable = VariableBehind({node, 0});
    if (variable != nullptr) updates[variable].push_back({node, After(*node)});
  }
  if (updates.empty()) return OkStatus();
  for (Node* node : nodes) {
    const Edge* input = node->op() == "Identity" ? node->in_edge(0) : nullptr;
    if (input == nullptr || !IsRef(input->src->output_type(input->src_output))) continue;
    const auto found = updates.find(VariableBehind({input->src, input->src_output}));
    if (found == updates.end() || found->first->assigned_device() != node->assigned_device()) {
      continue;
    }
    TFLEET_RETURN_IF_ERROR(Renew(*node, found->second, graph));
  }
  return OkStatus();
}

}  // namespace tensorfleet
