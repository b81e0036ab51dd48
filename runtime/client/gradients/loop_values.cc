#include "runtime/client/gradients/loop_values.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

Output ShapeOf(const Scope& scope, const Output& value) { return ops::Shape(scope, value); }

}  // namespace

LoopValues::LoopValues(Loops& loops, Loop* loop, LoopFrame& forward, int counter,
                       LoopFrame& backward, ForwardValues* outer)
    : loops_(loops),
      loop_(loop),
      forward_(forward),
      counter_(counter),
      backward_(backward),
      outer_(outer) {
  // Control triggers run also when a branch that was not taken leaves their inputs dead.
  pushed_ = ops::ControlTrigger(forward.body_scope().Named("pushed"));
  popped_ = ops::ControlTrigger(backward.body_scope().Named("popped"));
}

void LoopValues::Await(const Operation& op) {
  backward_.inside().AddControlDependency(op, popped_);
}

Output LoopValues::EnterForward(const Output& value) {
  return forward_.AddConstant(outer_->EnterForward(value));
}

Output LoopValues::EnterBackward(const Output& value) {
  return backward_.AddConstant(outer_->EnterBackward(value));
}

Output LoopValues::Value(const Scope& scope, const Output& output) {
  if (!output.is_valid()) return Output();
  const std::pair<int, int> key{output.node()->id(), output.index()};
  if (const auto it = values_.find(key); it != values_.end()) return it->second;
  Node* node = output.node();
  Output value;
  if (loops_.FrameOfOutput(node) != loop_) {
    backward_.inside().Fail(
        Internal("'", output.name(), "' is not a value of the loop '", loop_->frame_name, "'"));
    return Output();
  }
  if (node->IsConstant()) {
    // A copy is cheaper than a stack.
    const StatusOr<Tensor> constant = GetAttr<Tensor>(node->def(), "value");
    if (!constant.ok()) backward_.inside().Fail(constant.status());
    value = constant.ok() ? Const(backward_.body_scope(), *constant) : Output();
  } else if (node->IsEnter()) {
    const Edge* edge = node->in_edge(0);
    value = backward_.AddConstant(outer_->Value(scope, Output(edge->src, edge->src_output)));
  } else {
    value = Popped(output);
  }
  values_[key] = value;
  return value;
}

Scope LoopValues::Guarded(const std::vector<Branch>& branches) {
  Scope scope = backward_.body_scope();
  if (branches.empty()) return scope;
  // Dead where the innermost branch was not taken, and with it all that waits for this.
  const Branch& branch = branches.back();
  const Output predicate = Value(scope, branch.predicate);
  const auto split = ops::Switch(scope, predicate, predicate);
  return scope.After(
      {ops::Identity(scope, branch.taken == 1 ? split.output_true : split.output_false).op()});
}

Output LoopValues::Pop(const Output& stack, const Output& like) {
  const Scope guarded = Guarded(loops_.BranchesOf(like));
  const Output popped = ops::StackPopV2(guarded, EnterBackward(stack), like.dtype());
  Await(popped.op());
  return popped;
}

Output LoopValues::Push(const Output& value) {
  const Scope base = outer_->Outside();
  const Output size = ScalarConst(base, DType::kInt32, -1);
  const Output stack = ops::StackV2(base.Named("stack"), size, value.dtype());
  Await(ops::StackPushV2(backward_.body_scope(), EnterBackward(stack), value).op());
  return stack;
}

Output LoopValues::Popped(const Output& output) {
  const Scope base = outer_->Outside();
  const Output size = ScalarConst(base, DType::kInt32, -1);
  const Output stack = ops::StackV2(base.Named("stack"), size, output.dtype());
  const Scope round = ForwardRound();
  const Output pushed = ops::StackPushV2(round, EnterForward(stack), output);
  round.AddControlDependency(pushed.op(), pushed_);
  return Pop(stack, output);
}

Output LoopValues::Shape(const Scope& scope, const Output& output, DType dtype) {
  const PartialShape known = scope.ShapeOf(output);
  if (known.is_fully_defined()) return IntsOf(backward_.body_scope(), dtype, known.dims());
  if (output.node()->IsEnter()) {
    return ops::Shape(backward_.body_scope(), Value(scope, output), {.out_type = dtype});
  }
  return CastTo(backward_.body_scope(), Measured(scope, output, ShapeOf), dtype);
}

Output LoopValues::Measured(const Scope& scope, const Output& output, Measure measure) {
  if (!output.is_valid()) return Output();
  if (output.node()->IsEnter()) return measure(backward_.body_scope(), Value(scope, output));
  Output& measured = measures_[{output.node()->id(), output.index(), measure}];
  if (!measured.is_valid()) {
    measured = measure(forward_.inside(), output);
    if (!measured.is_valid()) return Output();
    loops_.AddLike(measured.node(), output);
  }
  return Value(backward_.body_scope(), measured);
}

}  // namespace tensorfleet
