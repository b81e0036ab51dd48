// One dataflow loop under construction: what WhileLoop (control_flow.h) and the gradients of loops
// are made of. Ops of the loop are built in cond_scope and body_scope, so that what has no inputs,
// such as a constant, runs once per round.
//
//   LoopFrame loop(scope, "count");
//   const int i = loop.AddVariable(zero);
//   loop.SetCondition(ops::Less(loop.cond_scope(), loop.InCondition(i), limit));
//   loop.SetNext(i, ops::Add(loop.body_scope(), loop.InBody(i), one));
//   const Output count = loop.Exit(i);
#pragma once

#include <string>
#include <vector>

#include "runtime/client/scope.h"

namespace tensorfleet {

class LoopFrame {
 public:
  // The loop's ops go under `name`/ in `outer`, which is where its initial values come from.
  LoopFrame(const Scope& outer, absl::string_view name, int64_t parallel_iterations = 10);
  // Adds to a loop that is there: `condition` is the output of its LoopCond.
  static LoopFrame Reopen(const Scope& outer, const Scope& inside, std::string frame_name,
                          int64_t parallel_iterations, const Output& condition);

  // A value that changes from round to round; returns its number.
  int AddVariable(const Output& initial);
  // A value that does not: as it is inside.
  Output AddConstant(const Output& value);

  // A round runs while this bool scalar holds.
  void SetCondition(const Output& condition);

  Output InCondition(int variable) const { return variables_[variable].merge; }
  Output InBody(int variable) const { return variables_[variable].body; }
  void SetNext(int variable, const Output& value);
  // The last value, outside of the loop.
  Output Exit(int variable);

  Scope cond_scope() const;
  Scope body_scope() const { return inside_.After({pivot_}); }
  const Scope& inside() const { return inside_; }
  // Runs once per round, before everything in body_scope.
  const Operation& pivot() const { return pivot_; }
  const std::string& frame_name() const { return frame_name_; }

 private:
  LoopFrame(Scope outer, Scope inside) : outer_(std::move(outer)), inside_(std::move(inside)) {}
  struct Variable {
    Output merge;
    Output body;  // the switch's outputs, once there is a condition
    Output last;
  };
  void SplitOff(Variable& variable);

  Scope outer_, inside_;
  std::string frame_name_;
  int64_t parallel_iterations_ = 10;
  Output condition_;  // LoopCond
  Operation pivot_;
  std::vector<Variable> variables_;
};

}  // namespace tensorfleet
