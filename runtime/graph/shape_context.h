// What a shape rule sees: the node, what is known of its inputs' shapes, and constant inputs'
// values; it sets the output shapes. Rules live with the schemas in runtime/ops.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class ShapeContext {
 public:
  // `constant_inputs[i]` is null when the value of input i is not known.
  ShapeContext(const Node& node, std::vector<PartialShape> inputs,
               std::vector<const Tensor*> constant_inputs);

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int i) const { return inputs_[i]; }
  // Null when unknown before the step.
  const Tensor* constant_input(int i) const { return constants_[i]; }
  // An integer vector input read as a shape: known dims, -1 where unknown; unknown rank when
  // nothing is known. Errors: InvalidArgument for values below -1 or a rank other than 1.
  StatusOr<PartialShape> InputAsShape(int i) const;

  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }
  const PartialShape& output(int i) const { return outputs_[i]; }
  const std::vector<PartialShape>& outputs() const { return outputs_; }

  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return GetAttr<T>(node_.def(), name);
  }

  // Errors: InvalidArgument "Shape must be rank 2 but is rank 3 for input 'a' ..."; an unknown rank
  // fits.
  Status RequireRank(int input, int rank) const;
  Status RequireRankAtLeast(int input, int rank) const;

 private:
  const Node& node_;
  std::vector<PartialShape> inputs_;
  std::vector<const Tensor*> constants_;
  std::vector<PartialShape> outputs_;
};

// Shapes of every output of every node, as far as they can be inferred; index by node id, then
// output. Unknown where a loop or an op without rule leaves them open. Errors: InvalidArgument from
// a rule, with the node's name.
StatusOr<std::vector<std::vector<PartialShape>>> InferShapes(const Graph& graph);

}  // namespace tensorfleet
