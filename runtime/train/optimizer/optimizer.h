// Optimizers: turn gradients into updates of variables. Nodes and slot variables have TensorFlow's
// names ("Adam/update_w/ResourceApplyAdam", "w/Adam", "w/Adam_1", "beta1_power"), so that
// checkpoints fit both ways; every update runs where its variable is.
//
//   Adam adam(0.001);
//   const Operation train = adam.Minimize(scope, loss, variables);
//
// Errors stay in the scope's status.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/client/gradients.h"
#include "runtime/train/model/variables.h"
#include "runtime/train/optimizer/hyper.h"

namespace tensorfleet::train {

struct GradientAndVariable {
  Gradient gradient;  // absent: the variable is left alone
  Variable variable;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The gradients of `loss`, of any shape, with respect to each variable.
  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, const Output& loss,
                                                    absl::Span<const Variable> trained,
                                                    const GradientOptions& options = {}) const;

  // One step. Slots are made in `variables`. With a valid `global_step`, the step is counted once
  // all updates are done. The returned op is named after the optimizer.
  virtual Operation ApplyGradients(const Scope& scope,
                                   absl::Span<const GradientAndVariable> gradients,
                                   Variables& variables, const Variable& global_step = {});

  // Both for all trainable variables, counting in variables.GlobalStep().
  Operation Minimize(const Scope& scope, const Output& loss, Variables& variables);

  const std::string& name() const { return name_; }

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  // Called once per ApplyGradients, before the updates.
  virtual void Prepare(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                       Variables& variables) {}
  // The update of one variable. `slice.indices` name each row once.
  virtual Operation ApplyDense(const Scope& scope, const Variable& variable,
                               const Output& gradient) = 0;
  virtual Operation ApplySparse(const Scope& scope, const Variable& variable,
                                const IndexedSlices& slices) = 0;
  // Whether ApplySparse wants the rows that appear more than once summed first.
  virtual bool wants_unique_rows() const { return true; }
  // After all updates; what it returns is part of the step.
  virtual std::vector<Operation> Finish(const Scope& scope) { return {}; }

  // The slot `name` of a variable, of its shape and type, made by Prepare.
  const Variable& Slot(const Variable& variable, absl::string_view name) const;
  Variable MakeSlot(const Scope& scope, Variables& variables, const Variable& variable,
                    absl::string_view name, const Initializer& initializer);

 private:
  friend class SyncReplicas;
  Operation Update(const Scope& scope, const GradientAndVariable& pair);

  const std::string name_;
  std::vector<std::pair<std::string, Variable>> slots_;  // by "variable/slot" as it was asked for
};

// Sums the rows that `slices` names more than once; the result names each once.
IndexedSlices WithUniqueRows(const Scope& scope, const IndexedSlices& slices);

}  // namespace tensorfleet::train
