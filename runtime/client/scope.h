// Building a graph in C++: a Scope says where the next ops go (name prefix, device, control inputs,
// colocation), the functions of "runtime/client/ops.h" add them. An example:
//
//   Scope root;
//   Output x = ops::Placeholder(root.Named("x"), DType::kFloat);
//   Output w = ops::VariableV2(root.Named("w").OnDevice("/job:ps/task:0"), {3, 1}, DType::kFloat);
//   Output y = ops::MatMul(root, x, w);
//   if (!root.status().ok()) return root.status();
//
// Errors are kept rather than returned op by op: the first one stays in status() and everything
// built after it is invalid. Names become unique as TensorFlow makes them: "MatMul", "MatMul_1",
// ... A Scope is a small value; all scopes made from one root share its graph. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// A node of the graph under construction; invalid after an error.
class Operation {
 public:
  Operation() = default;
  explicit Operation(Node* node) : node_(node) {}
  bool is_valid() const { return node_ != nullptr; }
  // The node's name; empty for an invalid operation.
  std::string name() const { return node_ == nullptr ? "" : node_->name(); }
  Node* node() const { return node_; }

 private:
  Node* node_ = nullptr;
};

// One output of a node: what feeds, fetches and inputs of other ops are made of.
class Output {
 public:
  Output() = default;
  Output(Node* node, int index) : node_(node), index_(index) {}
  bool is_valid() const { return node_ != nullptr; }
  // "w:0"; empty for an invalid output.
  std::string name() const {
    return node_ == nullptr ? "" : absl::StrCat(node_->name(), ":", index_);
  }
  DType dtype() const {
    return node_ == nullptr ? DType::kInvalid : BaseType(node_->output_type(index_));
  }
  Operation op() const { return Operation(node_); }
  Node* node() const { return node_; }
  int index() const { return index_; }

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

class Scope {
 public:
  // A new, empty graph.
  Scope();

  // The same place with one thing changed. The returned scope shares the graph.
  // Ops below `name`: "layer1/MatMul"; a name that was used already becomes "layer1_1".
  Scope SubScope(absl::string_view name) const;
  // The name of the next op made in the returned scope, in place of its op type.
  Scope Named(absl::string_view op_name) const;
  // The next op takes the name of this scope itself: "train" in the scope "train/".
  Scope Itself() const;
  // Ops below the name of `op`, whatever this scope's own prefix: "w" gives "w/Assign".
  Scope Below(const Operation& op) const;
  // What comes before the names of ops: "" or "a/b/".
  const std::string& prefix() const { return prefix_; }
  // What Named gave; empty otherwise.
  const std::string& op_name() const { return op_name_; }
  // Fields that `device` names override those of the surrounding scopes; "" drops them all.
  Scope OnDevice(absl::string_view device) const;
  // Ops run after `ops`, in addition to what surrounding scopes ask for.
  Scope After(absl::Span<const Operation> ops) const;
  Scope After(std::initializer_list<Operation> ops) const {
    return After(absl::MakeConstSpan(ops.begin(), ops.size()));
  }
  // Ops wait for nothing but their inputs, whatever surrounding scopes ask for: inside a loop, only
  // ops of the loop can be waited for.
  Scope AfterNothing() const;
  // Ops go to the device of `op`, wherever the placer puts that.
  Scope ColocatedWith(const Operation& op) const;

  const Status& status() const;
  // Records an error unless there is one already.
  void Fail(const Status& status) const;

  const Graph& graph() const;
  // The graph as a message, with TensorFlow's version numbers. Errors: status().
  StatusOr<tensorflow::GraphDef> ToGraphDef() const;
  // Adds the nodes and functions of `def`; the nodes may use nodes and functions that are there
  // already. Errors: those of ImportGraphDef; InvalidArgument for a function that differs from one
  // of the same name.
  Status Import(const tensorflow::GraphDef& def) const;
  // The output with this name ("w:0" or "w"). Errors: NotFound.
  StatusOr<Output> FindOutput(absl::string_view name) const;

  // What is known of an output's shape.
  PartialShape ShapeOf(const Output& output) const;

  // For builders that name their nodes themselves: adds `def` as it is, with these inputs and
  // control inputs and nothing of this scope's place. Returns the error rather than recording it,
  // and leaves the graph as it was then. Errors: status(); those of Graph::AddNode and AddEdge and
  // of the op's shape rule; InvalidArgument for another number of inputs.
  StatusOr<Node*> AddExactly(tensorflow::NodeDef def, absl::Span<const Output> inputs,
                             absl::Span<const Operation> control_inputs) const;
  // Adds to what is known of an output's shape; ops that are added later see it. Errors:
  // InvalidArgument for a shape that contradicts what is known.
  Status RefineShape(const Output& output, const PartialShape& shape) const;

  // For rewriting what is there. `edit` may add nodes and reconnect others, but remove none that an
  // Output may refer to. The shapes of what it added are worked out after it.
  Status Edit(absl::FunctionRef<Status(Graph*)> edit) const;
  // Puts `results`, a node with the same outputs, in the place of `node`: takes over its users, its
  // part in calls of this class and, when the graph is exported, its name. `node` stays for those
  // who hold an Output of it, and is not exported.
  Status Replace(Node* node, Node* results) const;
  // Where the output comes from: that of another node if its own was replaced.
  Output Current(const Output& output) const;
  // What `results` took the place of; null for other nodes.
  const Node* ReplacedBy(const Node* results) const;
  // All that were replaced, in that order.
  const std::vector<const Node*>& replaced() const;

  // For loops, whose edges go round (see loop_frame.h). The Merge of a loop variable that enters as
  // `initial`; its shape may change from round to round, so nothing is known of it.
  Output OpenLoop(const Output& initial) const;
  // Lets the Merge take `next`, a NextIteration's output, in all rounds but the first.
  void CloseLoop(const Output& merge, const Output& next) const;
  // Lets `after` wait for `before`.
  void AddControlDependency(const Operation& before, const Operation& after) const;

  // What the generated functions call: adds a node with these inputs and attributes. `inputs` are
  // flat. Returns null after recording an error.
  Node* AddOp(absl::string_view op, absl::Span<const Output> inputs,
              absl::FunctionRef<void(tensorflow::NodeDef*)> set_attrs) const;

 private:
  struct State;
  std::string NextName(absl::string_view op) const;
  Status InferShape(Node* node) const;
  // Of all nodes whose ids are not below `first`.
  Status InferShapesFrom(int first) const;

  std::shared_ptr<State> state_;
  std::string prefix_;  // "" or "a/b/"
  std::string op_name_;
  std::string device_;
  std::vector<Operation> control_inputs_;
  std::string colocate_with_;
};

// A constant: Const(root, 3.0f), Const(root, Tensor::Vector<int64_t>({1, 2})).
Output Const(const Scope& scope, const Tensor& value);
template <typename T>
Output Const(const Scope& scope, T value) {
  return Const(scope, Tensor::Scalar<T>(std::move(value)));
}
inline Output Const(const Scope& scope, const char* value) {
  return Const(scope, Tensor::Scalar(value));
}

// An op that does nothing but run after all of `ops`: the usual target of a step with several.
Operation Group(const Scope& scope, absl::Span<const Operation> ops);

}  // namespace tensorfleet
