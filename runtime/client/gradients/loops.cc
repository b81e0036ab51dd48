#include "runtime/client/gradients/loops.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

// The only user of a node's output that is of this kind.
template <typename Is>
Node* UserOf(const Node* node, int output, Is is) {
  for (const Edge* edge : node->out_edges()) {
    if (!edge->is_control() && edge->src_output == output && is(edge->dst)) return edge->dst;
  }
  return nullptr;
}

}  // namespace

Loop* Loops::FrameOf(const Node* node) const {
  const auto it = frames_.find(node);
  return it == frames_.end() ? nullptr : it->second;
}

Loop* Loops::Entered(const Node* node) const {
  const auto it = entered_.find(node);
  return it == entered_.end() ? nullptr : it->second;
}

Loop* Loops::FrameOfOutput(const Node* node) const {
  if (node->IsEnter()) return Entered(node);
  Loop* frame = FrameOf(node);
  return node->IsExit() && frame != nullptr ? frame->parent : frame;
}

bool Loops::IsInBody(const Node* node, const Loop* loop) const {
  if (loop == nullptr) return true;
  if (machinery_.contains(node) && FrameOf(node) == loop) return false;
  const Loop* frame = FrameOf(node);
  while (frame != nullptr && frame != loop) frame = frame->parent;
  return frame == loop;
}

std::vector<Branch> Loops::BranchesOf(const Output& output) const {
  const Node* node = output.node();
  // A round begins outside of all branches; a loop as a whole is in those of what enters it.
  if (node->IsEnter() || machinery_.contains(node)) {
    if (!node->IsExit()) return {};
  }
  if (node->IsExit()) {
    const Loop* loop = FrameOf(node);
    if (loop == nullptr || loop->variables.empty()) return {};
    node = loop->variables[0].enter;
  }
  const auto it = branches_.find(node);
  std::vector<Branch> all = it == branches_.end() ? std::vector<Branch>() : it->second;
  if (node->IsSwitch()) {
    const Edge* predicate = node->in_edge(1);
    all.push_back({Output(predicate->src, predicate->src_output), output.index()});
  }
  return all;
}

void Loops::AddLike(const Node* node, const Output& like) {
  if (Loop* frame = FrameOfOutput(like.node()); frame != nullptr) frames_[node] = frame;
  branches_[node] = BranchesOf(like);
}

// The branches in which what reaches the node is there: all of them together, or of a Merge, which
// takes whichever comes, those that all its inputs agree on.
std::vector<Branch> Loops::BranchesInto(const Node* node) const {
  std::vector<Branch> all;
  bool first = true;
  for (const Edge* edge : node->in_edges()) {
    if (edge->src->IsNextIteration()) continue;
    const int output = edge->is_control() && !edge->src->IsSwitch() ? 0 : edge->src_output;
    if (output < 0) continue;  // waits for a Switch, whichever way it goes
    const std::vector<Branch> theirs = BranchesOf(Output(edge->src, output));
    const auto is_theirs = [&](const Branch& b) {
      return std::find(theirs.begin(), theirs.end(), b) != theirs.end();
    };
    if (node->IsMerge() && !first && !edge->is_control()) {
      all.erase(std::remove_if(all.begin(), all.end(), std::not_fn(is_theirs)), all.end());
    } else {
      for (const Branch& b : theirs) {
        if (std::find(all.begin(), all.end(), b) == all.end()) all.push_back(b);
      }
    }
    first = false;
  }
  return all;
}

Status Loops::Assign(const std::vector<Node*>& order) {
  std::map<std::pair<Loop*, std::string>, Loop*> by_name;
  for (Node* node : order) {
    Loop* frame = nullptr;
    for (const Edge* edge : node->in_edges()) {
      if (edge->src->IsNextIteration()) continue;
      if (Loop* theirs = FrameOfOutput(edge->src); theirs != nullptr) {
        if (frame != nullptr && frame != theirs && !edge->is_control()) {
          return InvalidArgument("node '", node->name(), "' has inputs from the loops '",
                                 frame->frame_name, "' and '", theirs->frame_name, "'");
        }
        frame = theirs;
      }
    }
    if (frame != nullptr) frames_[node] = frame;
    if (!node->IsEnter()) continue;
    TFLEET_ASSIGN_OR_RETURN(const std::string name,
                            GetAttr<std::string>(node->def(), "frame_name"));
    Loop*& loop = by_name[{frame, name}];
    if (loop == nullptr) {
      loops_.push_back(std::make_unique<Loop>());
      loop = loops_.back().get();
      loop->index = size() - 1;
      loop->frame_name = name;
      loop->parent = frame;
      loop->parallel_iterations =
          GetAttrOr<int64_t>(node->def(), "parallel_iterations", 10).value_or(10);
    }
    entered_[node] = loop;
  }
  return OkStatus();
}

Status Loops::Collect(const Graph& graph) {
  for (Node* node : graph.nodes()) {
    if (node->op() == "LoopCond") {
      if (Loop* frame = FrameOf(node); frame != nullptr) frame->condition = node;
      machinery_.insert(node);
    }
    if (!node->IsEnter()) continue;
    Loop* loop = Entered(node);
    Loop::Variable v;
    v.enter = node;
    v.merge = UserOf(node, 0, [](const Node* user) { return user->IsMerge(); });
    if (v.merge == nullptr) {
      loop->constants.push_back(node);
      continue;
    }
    v.split = UserOf(v.merge, 0, [](const Node* user) {
      return user->IsSwitch() && user->in_edge(1)->src->op() == "LoopCond";
    });
    for (const Edge* edge : v.merge->in_edges()) {
      if (edge->src->IsNextIteration()) v.next = edge->src;
    }
    if (v.split == nullptr || v.next == nullptr) {
      return InvalidArgument("the loop variable '", v.merge->name(), "' of loop '",
                             loop->frame_name, "' has no Switch or no NextIteration");
    }
    v.exit = UserOf(v.split, 0, [](const Node* user) { return user->IsExit(); });
    for (const Node* part : {v.merge, v.split, v.next}) machinery_.insert(part);
    if (v.exit != nullptr) machinery_.insert(v.exit);
    loop->variables.push_back(v);
  }
  for (const auto& loop : loops_) {
    if (loop->condition == nullptr || loop->variables.empty()) {
      return InvalidArgument("the loop '", loop->frame_name, "' has no LoopCond or no variable");
    }
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<Loops>> Loops::Find(const Graph& graph) {
  std::unique_ptr<Loops> found(new Loops());
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  TFLEET_RETURN_IF_ERROR(found->Assign(order));
  TFLEET_RETURN_IF_ERROR(found->Collect(graph));
  if (found->empty()) return found;
  found->stacks_ = StackLinks::Find(graph);
  for (const Node* node : order) found->branches_[node] = found->BranchesInto(node);
  return found;
}

}  // namespace tensorfleet
