// The dataflow loops of a graph, found from its nodes: whatever front-end built them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/client/gradients/stack_links.h"
#include "runtime/client/scope.h"

namespace tensorfleet {

struct Loop {
  struct Variable {
    Node* enter = nullptr;
    Node* merge = nullptr;
    Node* split = nullptr;  // Switch: false leaves, true goes round
    Node* next = nullptr;   // NextIteration
    Node* exit = nullptr;   // null where nobody uses the last value
  };
  int index = 0;  // among all loops
  std::string frame_name;
  int64_t parallel_iterations = 10;
  Loop* parent = nullptr;  // null at the top
  std::vector<Variable> variables;
  std::vector<Node*> constants;  // Enters of values that do not change
  Node* condition = nullptr;     // LoopCond
};

// That a node runs only where a predicate of its own frame has this value.
struct Branch {
  Output predicate;
  int taken = 0;  // the output of the Switches: 1 where the predicate holds
  friend bool operator==(const Branch& a, const Branch& b) {
    return a.predicate.node() == b.predicate.node() && a.predicate.index() == b.predicate.index() &&
           a.taken == b.taken;
  }
};

class Loops {
 public:
  // Errors: InvalidArgument naming the node for loops that no front-end builds.
  static StatusOr<std::unique_ptr<Loops>> Find(const Graph& graph);

  bool empty() const { return loops_.empty(); }
  int size() const { return static_cast<int>(loops_.size()); }
  Loop* loop(int index) const { return loops_[index].get(); }

  // The loop in which the node runs, or its output is; null at the top. They differ for Enter and
  // Exit.
  Loop* FrameOf(const Node* node) const;
  Loop* FrameOfOutput(const Node* node) const;
  // Of an Enter: the loop that it enters.
  Loop* Entered(const Node* node) const;
  // Whether the node is in the body of `loop` or of a loop inside it, rather than what makes it go
  // round. Everything is in the body of no loop (null).
  bool IsInBody(const Node* node, const Loop* loop) const;
  // Where the output is there within one round of its frame, outermost branch first.
  std::vector<Branch> BranchesOf(const Output& output) const;

  // The stacks between loops and those of their gradients.
  const StackLinks& stacks() const { return stacks_; }

  // Tell of nodes that were added since: one that runs where `like` is, an Exit of a loop.
  void AddLike(const Node* node, const Output& like);
  void AddExit(const Node* node, Loop* loop) { frames_[node] = loop; }

 private:
  Loops() = default;
  Status Assign(const std::vector<Node*>& order);
  Status Collect(const Graph& graph);
  std::vector<Branch> BranchesInto(const Node* node) const;

  std::vector<std::unique_ptr<Loop>> loops_;
  StackLinks stacks_;
  absl::flat_hash_map<const Node*, Loop*> frames_;   // of nodes inside loops
  absl::flat_hash_map<const Node*, Loop*> entered_;  // of Enters
  absl::flat_hash_set<const Node*> machinery_;       // Merge, Switch, ... of loop variables
  absl::flat_hash_map<const Node*, std::vector<Branch>> branches_;  // in which the node runs
};

}  // namespace tensorfleet
