// Walks a graph backwards from some outputs and adds the gradient of each node on the way.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/loops.h"
#include "runtime/client/gradients/registry.h"

namespace tensorfleet {

// The sum of several gradients of one thing: AddN of dense ones, the rows of sparse ones one after
// the other, dense when there are both.
Gradient SumOfGradients(const Scope& scope, absl::Span<const Gradient> parts);

// Types that gradients flow through: a variable's handle stands for its value, a variant for the
// tensors that it holds. The gradient of a variant is one of its kind.
bool CarriesGradient(DType type);

class GradientBuilder {
 public:
  // Differentiates what is at the top of the graph, or in the body of `level`, one of `loops`. Ops
  // are added in `scope`; `values` gives forward values there. All must outlive the builder.
  GradientBuilder(const Scope& scope, const GradientOptions& options, ForwardValues* values,
                  Loops& loops, Loop* level);

  // One gradient per x. `grad_ys` has one per y.
  std::vector<Gradient> Run(absl::Span<const Output> ys, absl::Span<const Gradient> grad_ys,
                            absl::Span<const Output> xs);

 private:
  using Key = std::pair<int, int>;  // node id, output
  static Key KeyOf(const Output& output) { return {output.node()->id(), output.index()}; }

  // What is differentiated at once: a node, or a whole loop inside this level. Nodes have their
  // ids, loops the numbers after them.
  int UnitOf(const Node* node) const;
  Loop* LoopOf(int unit) const;
  // The edges that bring a unit its inputs.
  std::vector<const Edge*> InputsOf(int unit) const;

  // Nodes that depend on an x, by id.
  std::vector<bool> DependentsOf(absl::Span<const Output> xs) const;
  // Nodes of those that a y depends on become part of the walk.
  void FindPath(absl::Span<const Output> ys, absl::Span<const Output> xs);
  bool IsOnPath(const Edge& edge) const;
  // The pushes in loops inside this level's body for which gradients have come back.
  std::vector<const StackLink*> ReturningPushes() const;
  // The sum of what users have contributed to the gradient of an output.
  Gradient SumFor(Node* node, int output);
  // Adds to the gradient of what the edge comes from.
  void Contribute(const Edge& edge, const Gradient& gradient);
  void VisitNode(Node* node);
  void Differentiate(Node* node, std::vector<Gradient> gradients, std::vector<bool> wanted);
  void VisitLoop(Loop* loop);

  const Scope scope_;
  const GradientOptions& options_;
  const GradientRegistry& registry_;
  ForwardValues* const values_;
  Loops& loops_;
  Loop* const level_;
  const int num_nodes_;  // before anything was added
  absl::flat_hash_set<Key> stops_;
  std::vector<bool> on_path_;  // by node id
  std::vector<int> pending_;   // users that were not visited, by unit
  // By unit: the units that pushed what it pops, one for each pop.
  absl::flat_hash_map<int, std::vector<int>> popped_from_;
  // By unit of a loop: what its gradient's loop has to wait for, which fills the stacks for it.
  absl::flat_hash_map<int, std::vector<Operation>> waits_for_;
  absl::flat_hash_map<Key, std::vector<Gradient>> parts_;  // what users have contributed
  absl::flat_hash_map<Key, Gradient> sums_;                // of visited nodes
};

}  // namespace tensorfleet
