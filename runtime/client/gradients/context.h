// What a gradient function sees: one node of the graph, the gradients of its outputs, and where to
// put the gradients of its inputs. Values of the node are always asked for here rather than taken
// from its edges: inside a loop they come from the stack that the loop left them on.
#pragma once

#include <optional>
#include <vector>

#include "runtime/client/gradients.h"
#include "runtime/client/term.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {

// Adds one op that says something small of a value, for example how long a list is.
using Measure = Output (*)(const Scope& scope, const Output& value);

// Gives the place where gradients are built the values of the graph that is differentiated.
class ForwardValues {
 public:
  virtual ~ForwardValues() = default;
  // `output` as it may be used by ops of `scope`.
  virtual Output Value(const Scope& scope, const Output& output) = 0;
  // The shape of `output` as a vector of int32 or int64; a constant when it is known.
  virtual Output Shape(const Scope& scope, const Output& output, DType dtype) = 0;
  // What `measure` says of `output`. It is taken where the value is, so that a loop keeps this for
  // its gradient and not the value.
  virtual Output Measured(const Scope& scope, const Output& output, Measure measure) = 0;

  // For loops inside the one whose values these are; none at the top. `value`, an output outside of
  // all loops, as it is inside the loop and inside that of its gradient.
  virtual Output EnterForward(const Output& value) { return value; }
  virtual Output EnterBackward(const Output& value) { return value; }
  // Scopes outside of all loops, and in each round of the loop.
  virtual Scope Outside() const = 0;
  virtual Scope ForwardRound() const { return Outside(); }
  virtual bool IsInLoop() const { return false; }
  // The next round of the gradient's loop waits for `op`.
  virtual void Await(const Operation& op) {}
};

class GradientContext {
 public:
  // One gradient per output of `node`; `wanted`, per input, says whose gradients are of use.
  GradientContext(Scope scope, Node* node, std::vector<Gradient> gradients,
                  std::vector<bool> wanted, ForwardValues* values);

  const Scope& scope() const { return scope_; }
  const Node& node() const { return *node_; }
  // Whether the gradient is built in a loop, which goes back over the rounds of another.
  bool IsInLoop() const { return values_->IsInLoop(); }
  // A name of the computation that this gradient is part of, which no other one of the graph has.
  std::string computation() const { return values_->Outside().prefix(); }
  int num_inputs() const { return node_->num_inputs(); }
  int num_outputs() const { return node_->num_outputs(); }
  // Whether anything depends on the gradient of input `i`: costly ones can be left out.
  bool wants(int i) const { return wanted_[i]; }

  // The value of input or output `i`.
  Term x(int i = 0) const;
  Term y(int i = 0) const;
  // The gradient of output `i`: as it came, or as one tensor, zeros when absent.
  const Gradient& gradient(int i) const { return gradients_[i]; }
  bool has_gradient(int i) const { return !gradients_[i].is_absent(); }
  Term g(int i = 0) const;

  // What is known of shapes while the graph is built, and the shapes as tensors.
  PartialShape StaticShapeOfX(int i) const;
  PartialShape StaticShapeOfY(int i) const;
  Term ShapeOfX(int i, DType dtype = DType::kInt32) const;
  Term ShapeOfY(int i, DType dtype = DType::kInt32) const;
  // What `measure` says of the value of input or output `i`.
  Term MeasuredX(int i, Measure measure) const;
  Term MeasuredY(int i, Measure measure) const;
  // The elements of an integer input that is a constant.
  std::optional<std::vector<int64_t>> ConstantX(int i) const;

  // An attribute of the node. One that the schema lacks is recorded as an error.
  template <typename T>
  T Attr(absl::string_view name) const {
    StatusOr<T> value = GetAttr<T>(node_->def(), name);
    if (value.ok()) return *std::move(value);
    scope_.Fail(value.status());
    return T{};
  }

  // The gradient of input `i`; what is not set is absent.
  void Set(int i, const Gradient& gradient) { results_[i] = gradient; }
  void Set(int i, const Output& gradient) { results_[i] = gradient; }
  const std::vector<Gradient>& results() const { return results_; }

 private:
  Output Input(int i) const;

  Scope scope_;
  Node* node_;
  std::vector<Gradient> gradients_;
  std::vector<bool> wanted_;
  ForwardValues* values_;
  std::vector<Gradient> results_;
};

}  // namespace tensorfleet
