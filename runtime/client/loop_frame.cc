#include "runtime/client/loop_frame.h"

#include "runtime/client/ops.h"

namespace tensorfleet {

LoopFrame::LoopFrame(const Scope& outer, absl::string_view name, int64_t parallel_iterations)
    : outer_(outer.SubScope(name)),
      inside_(outer_.AfterNothing()),
      frame_name_(absl::StrCat(outer_.prefix(), "while_context")),
      parallel_iterations_(parallel_iterations) {}

LoopFrame LoopFrame::Reopen(const Scope& outer, const Scope& inside, std::string frame_name,
                            int64_t parallel_iterations, const Output& condition) {
  LoopFrame loop(outer, inside.AfterNothing());
  loop.frame_name_ = std::move(frame_name);
  loop.parallel_iterations_ = parallel_iterations;
  loop.condition_ = condition;
  loop.pivot_ =
      ops::Identity(loop.inside_, ops::Switch(loop.inside_, condition, condition).output_true).op();
  return loop;
}

int LoopFrame::AddVariable(const Output& initial) {
  Variable variable;
  const Output entered =
      ops::Enter(outer_, initial, frame_name_, {.parallel_iterations = parallel_iterations_});
  variable.merge = inside_.OpenLoop(entered);
  if (condition_.is_valid()) SplitOff(variable);
  variables_.push_back(variable);
  return static_cast<int>(variables_.size()) - 1;
}

Output LoopFrame::AddConstant(const Output& value) {
  return ops::Enter(outer_, value, frame_name_,
                    {.is_constant = true, .parallel_iterations = parallel_iterations_});
}

void LoopFrame::SplitOff(Variable& variable) {
  const auto split = ops::Switch(inside_, variable.merge, condition_);
  variable.last = split.output_false;
  variable.body = ops::Identity(inside_, split.output_true);
}

Scope LoopFrame::cond_scope() const {
  if (variables_.empty()) {
    inside_.Fail(InvalidArgument("the loop '", frame_name_, "' has no variable"));
    return inside_;
  }
  return inside_.After({variables_[0].merge.op()});
}

void LoopFrame::SetCondition(const Output& condition) {
  condition_ = ops::LoopCond(inside_, condition);
  pivot_ = ops::Identity(inside_, ops::Switch(inside_, condition_, condition_).output_true).op();
  for (Variable& variable : variables_) SplitOff(variable);
}

void LoopFrame::SetNext(int variable, const Output& value) {
  inside_.CloseLoop(variables_[variable].merge, ops::NextIteration(inside_, value));
}

Output LoopFrame::Exit(int variable) { return ops::Exit(inside_, variables_[variable].last); }

}  // namespace tensorfleet
