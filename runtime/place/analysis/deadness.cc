#include "runtime/place/analysis/deadness.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"

namespace tensorfleet {
namespace {

// What decides: a Switch's predicate (node and output) with the branch taken, a node by itself, or
// a frame.
struct Token {
  enum Kind { kBranch, kNode, kFrame } kind;
  int id;
  int output = 0;
  int branch = 0;
  friend bool operator<(const Token& a, const Token& b) {
    return std::tie(a.kind, a.id, a.output, a.branch) < std::tie(b.kind, b.id, b.output, b.branch);
  }
};
using Tokens = std::vector<Token>;  // sorted

// Behind more branches than this a node is left alone.
constexpr size_t kMaxTokens = 64;

void Merge(const Tokens& from, Tokens* into) {
  Tokens both;
  std::set_union(from.begin(), from.end(), into->begin(), into->end(), std::back_inserter(both));
  *into = std::move(both);
}

bool MayWait(const Node& node) {
  if (node.IsRecv()) return true;
  if (!node.schema().is_stateful) return false;
  for (const char* part :
       {"queue", "Queue", "Barrier", "Take", "Stage", "Collective", "Iterator"}) {
    if (absl::StrContains(node.op(), part)) return true;
  }
  return false;
}

class DeadnessFinder {
 public:
  DeadnessFinder(const Graph& graph, const LoopFrames& frames)
      : frames_(frames), tokens_(graph.num_node_ids()) {}

  std::vector<int> Run(const std::vector<Node*>& order) {
    std::vector<int> classes(tokens_.size(), -1);
    std::map<Tokens, int> numbers;
    for (const Node* node : order) {
      Tokens& own = tokens_[node->id()];
      own = Find(*node);
      if (own.size() > kMaxTokens) own = {{Token::kNode, node->id()}};
      classes[node->id()] =
          numbers.try_emplace(own, static_cast<int>(numbers.size())).first->second;
    }
    return classes;
  }

 private:
  // What decides whether this output of a node that ran is alive.
  Tokens OutputTokens(const Edge& edge) const {
    Tokens tokens = tokens_[edge.src->id()];
    if (edge.is_control()) return tokens;
    if (edge.src->IsSwitch() || edge.src->op() == "_SwitchN") {
      const Edge* predicate = edge.src->in_edge(1);
      Merge({{Token::kBranch, predicate->src->id(), predicate->src_output, edge.src_output}},
            &tokens);
    }
    return tokens;
  }

  Tokens Find(const Node& node) const {
    if (node.IsMerge()) return FindMerge(node);
    if (node.IsExit()) return {{Token::kFrame, frames_.frame_of[node.id()], 1}};
    Tokens all;
    for (const Edge* edge : node.in_edges()) {
      if (edge->src->IsNextIteration()) continue;
      Merge(OutputTokens(*edge), &all);
    }
    if (MayWait(node)) Merge({{Token::kNode, node.id()}}, &all);
    return all;
  }

  Tokens FindMerge(const Node& node) const {
    std::vector<Tokens> inputs;
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control()) continue;
      // At the head of a loop: all of a round's values live as long as the loop.
      if (edge->src->IsNextIteration()) return {{Token::kFrame, frames_.frame_of[node.id()]}};
      inputs.push_back(OutputTokens(*edge));
    }
    // The two branches of one predicate, and nothing else: as alive as the predicate.
    if (inputs.size() == 2) {
      Tokens first, second;
      std::set_difference(inputs[0].begin(), inputs[0].end(), inputs[1].begin(), inputs[1].end(),
                          std::back_inserter(first));
      std::set_difference(inputs[1].begin(), inputs[1].end(), inputs[0].begin(), inputs[0].end(),
                          std::back_inserter(second));
      if (first.size() == 1 && second.size() == 1 && first[0].kind == Token::kBranch &&
          second[0].kind == Token::kBranch && first[0].id == second[0].id &&
          first[0].output == second[0].output) {
        Tokens common;
        std::set_intersection(inputs[0].begin(), inputs[0].end(), inputs[1].begin(),
                              inputs[1].end(), std::back_inserter(common));
        return common;
      }
    }
    return {{Token::kNode, node.id()}};
  }

  const LoopFrames& frames_;
  std::vector<Tokens> tokens_;  // by node id
};

}  // namespace

StatusOr<std::vector<int>> DeadnessClasses(const Graph& graph, const LoopFrames& frames) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  return DeadnessFinder(graph, frames).Run(order);
}

}  // namespace tensorfleet
