// Symbolic gradients: adds to a graph the ops that compute how some outputs change with others.
//
//   const std::vector<Gradient> grads = AddSymbolicGradients(root, {loss}, {w, b});
//   ops::ApplyGradientDescent(root, w, rate, grads[0].dense());
//
// What each op contributes is in runtime/client/gradients/, a file per family of ops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/client/scope.h"

namespace tensorfleet {

class GradientRegistry;

// Rows of a tensor that is zero elsewhere: values[i] belongs to row indices[i], and rows that are
// named more than once add up. What the gradient of a gather is, however large the table.
struct IndexedSlices {
  Output values;
  Output indices;
  Output dense_shape;  // of the whole tensor
};

// The gradient of something: absent (nothing depends on it), dense, or rows.
class Gradient {
 public:
  Gradient() = default;
  Gradient(const Output& dense) : dense_(dense) {}
  Gradient(const IndexedSlices& slices) : slices_(slices) {}

  bool is_absent() const { return !dense_.is_valid() && !slices_; }
  bool is_sparse() const { return slices_.has_value(); }
  // Only of a dense one; invalid otherwise.
  const Output& dense() const { return dense_; }
  // Only of a sparse one.
  const IndexedSlices& slices() const { return *slices_; }

 private:
  Output dense_;
  std::optional<IndexedSlices> slices_;
};

// The gradient as one tensor; rows are added into zeros of the dense shape. An absent one stays
// invalid.
Output ToDense(const Scope& scope, const Gradient& gradient);

struct GradientOptions {
  // What the gradient ops go under; made unique in the scope.
  std::string name = "gradients";
  // Taken as constants: nothing flows through them.
  std::vector<Output> stop_gradients;
  // Each gradient op goes to the device of the op that it belongs to, rather than the scope's.
  bool colocate_with_ops = false;
  // Instead of the gradients of the built-in ops (runtime/client/gradients/registry.h).
  const GradientRegistry* registry = nullptr;
};

// The gradients of the sum of `ys` with respect to each of `xs`, in their order; absent where no y
// depends on the x through differentiable ops. An x may be a resource variable's handle: its
// gradient is then that of the variable's value. An x may be a list of tensors, as may what
// is on the way: its gradient is a list as long. `grad_ys` (empty, or one per y) weighs the
// elements of the ys; an absent one stands for ones, and a complex y must have one. The ops go
// under "gradients/" (GradientOptions::name) in `scope`, with TensorFlow's names. Dataflow loops
// and conditionals (Switch, Merge, Enter, Exit) are differentiated too. Calls of functions
// (PartitionedCall, If, Case, While) on the way are replaced by the functions' bodies, in the graph
// itself, under the names that they have: a session that was given one as a call refuses to go on.
// Errors, recorded in the scope: Unimplemented naming the op and node whose gradient is needed and
// not there; InvalidArgument for ys or xs that are not valid or have no gradient by their type.
std::vector<Gradient> AddSymbolicGradients(const Scope& scope, absl::Span<const Output> ys,
                                           absl::Span<const Output> xs,
                                           absl::Span<const Gradient> grad_ys = {},
                                           const GradientOptions& options = {});

}  // namespace tensorfleet
