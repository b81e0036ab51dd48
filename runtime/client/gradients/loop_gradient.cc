// The gradient of a loop: another loop, which goes over as many rounds back. Each variable's
// gradient goes round the other way; what the rounds give to the loop's constants adds up.
#include "runtime/client/gradients/builder.h"
#include "runtime/client/gradients/loop_values.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/loop_frame.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

Output SourceOf(const Edge* edge) { return Output(edge->src, edge->src_output); }

// The type of the gradient: of a resource, that of the variable it is the handle of.
DType GradientType(const Node* enter) {
  const Edge* edge = enter->in_edge(0);
  while (edge != nullptr &&
         BaseType(edge->src->output_type(edge->src_output)) == DType::kResource) {
    if (edge->src->op() == "VarHandleOp") {
      return GetAttr<DType>(edge->src->def(), "dtype").value_or(DType::kInvalid);
    }
    const int from = edge->src->op() == "IdentityN" ? edge->src_output : 0;
    edge = edge->src->num_inputs() > from ? edge->src->in_edge(from) : nullptr;
  }
  return edge == nullptr ? DType::kInvalid : BaseType(edge->src->output_type(edge->src_output));
}

// Zeros like what `like` holds, or like the value of the variable whose handle it is.
Output ZerosFor(const Scope& scope, ForwardValues* values, const Output& like, DType type) {
  if (type == DType::kVariant) return ops::ZerosLike(scope, values->Value(scope, like));
  const Output shape = like.dtype() == DType::kResource
                           ? ops::VariableShape(scope, values->Value(scope, like))
                           : values->Shape(scope, like, DType::kInt32);
  return ops::Fill(scope, shape, ScalarConst(scope, type, 0));
}

// What must be there, in the frame around the loop, before the loop is entered.
std::vector<Operation> EntersAfter(const Scope& scope, const Loop& loop) {
  const Node* enter = loop.variables[0].enter;
  // The value itself rather than its node, which may have a dead output beside a live one.
  std::vector<Operation> before = {ops::Identity(scope, SourceOf(enter->in_edge(0))).op()};
  for (const Edge* edge : enter->in_edges()) {
    if (edge->is_control()) before.push_back(Operation(edge->src));
  }
  return before;
}

}  // namespace

void GradientBuilder::VisitLoop(Loop* loop) {
  // The variables whose gradients are of use, and what reached their last values.
  struct Variable {
    const Loop::Variable* forward;
    Gradient gradient;
    int number = 0;  // in the loop of the gradient
  };
  std::vector<Variable> variables;
  std::vector<Node*> constants;
  bool flows = false;
  for (const Loop::Variable& v : loop->variables) {
    if (!on_path_[v.merge->id()]) continue;
    variables.push_back({&v, v.exit == nullptr ? Gradient() : SumFor(v.exit, 0)});
    flows |= !variables.back().gradient.is_absent();
  }
  for (Node* constant : loop->constants) {
    if (on_path_[constant->id()]) constants.push_back(constant);
  }
  // What the rounds took from stacks, and what they pushed on others that has come to something.
  std::vector<StackLink*> popped, pushed;
  for (const auto& link : loops_.stacks().all()) {
    if (on_path_[link->pop->id()] && loops_.FrameOf(link->pop) == loop)
      popped.push_back(link.get());
    if (!link->gradients.is_valid() || !on_path_[link->push->id()]) continue;
    if (loops_.IsInBody(link->push, loop)) flows = true;
    if (loops_.FrameOf(link->push) == loop) pushed.push_back(link.get());
  }
  if (!flows) return;

  // The loop itself counts its rounds, from 0 each time that it is entered.
  const Scope counting = values_->ForwardRound().SubScope("count");
  const Output zero = Const(counting.After(EntersAfter(counting, *loop)), int32_t{0});
  LoopFrame forward = LoopFrame::Reopen(counting, counting, loop->frame_name,
                                        loop->parallel_iterations, Output(loop->condition, 0));
  const int counter = forward.AddVariable(zero);
  const Output rounds = forward.Exit(counter);
  if (!scope_.status().ok()) return;
  loops_.AddExit(rounds.node(), loop);

  LoopFrame backward(scope_, "while_grad", loop->parallel_iterations);
  const int unit = num_nodes_ + loop->index;
  const Scope begins = scope_.After(waits_for_[unit]);
  const int left = backward.AddVariable(ops::Identity(begins, values_->Value(scope_, rounds)));
  for (Variable& v : variables) {
    Output initial = ToDense(scope_, v.gradient);
    if (!initial.is_valid()) {
      Output last;
      if (v.forward->exit != nullptr) {
        last = Output(v.forward->exit, 0);
      } else {
        last = ops::Exit(counting, Output(v.forward->split, 0));
        if (!last.is_valid()) return;
        loops_.AddExit(last.node(), loop);
      }
      initial = ZerosFor(scope_, values_, last, GradientType(v.forward->enter));
    }
    v.number = backward.AddVariable(initial);
  }
  std::vector<int> sums;
  for (Node* constant : constants) {
    sums.push_back(backward.AddVariable(
        ZerosFor(scope_, values_, SourceOf(constant->in_edge(0)), GradientType(constant))));
  }
  if (!scope_.status().ok()) return;
  const Scope testing = backward.cond_scope();
  backward.SetCondition(ops::Greater(testing, backward.InCondition(left), Int(testing, 0)));

  // The body backwards.
  LoopValues values(loops_, loop, forward, counter, backward, values_);
  const Scope body = backward.body_scope();
  std::vector<Output> ys, xs;
  std::vector<Gradient> seeds;
  for (const Variable& v : variables) {
    ys.push_back(SourceOf(v.forward->next->in_edge(0)));
    seeds.push_back(backward.InBody(v.number));
    xs.push_back(Output(v.forward->split, 1));
  }
  for (Node* constant : constants) xs.push_back(Output(constant, 0));
  for (const StackLink* link : pushed) {
    ys.push_back(SourceOf(link->push->in_edge(1)));
    seeds.push_back(values.Pop(link->gradients, ys.back()));
  }
  for (const StackLink* link : popped) xs.push_back(Output(link->pop, 0));
  if (!scope_.status().ok()) return;
  const std::vector<Gradient> results =
      GradientBuilder(body, options_, &values, loops_, loop).Run(ys, seeds, xs);
  if (!scope_.status().ok()) return;
  for (size_t i = 0; i < variables.size(); ++i) {
    Output next = ToDense(body, results[i]);
    if (results[i].is_absent()) {
      // A list may have another length before the round than after it.
      const Output after = backward.InBody(variables[i].number);
      const bool is_variant = after.dtype() == DType::kVariant;
      next = ops::ZerosLike(body, is_variant ? values.Value(body, xs[i]) : after);
    }
    backward.SetNext(variables[i].number, next);
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    const Gradient& more = results[variables.size() + i];
    Output sum = backward.InBody(sums[i]);
    if (!more.is_absent()) {
      sum = sum.dtype() == DType::kVariant ? ops::AddN(body, {sum, more.dense()})
                                           : ops::AddV2(body, sum, ToDense(body, more));
    }
    backward.SetNext(sums[i], sum);
  }

  for (size_t i = 0; i < popped.size(); ++i) {
    const Gradient& gradient = results[variables.size() + constants.size() + i];
    if (!gradient.is_absent()) popped[i]->gradients = values.Push(ToDense(body, gradient));
  }

  // The next round begins when the stacks are in order.
  const Scope after_pushes = forward.body_scope().After({values.pushed()});
  forward.SetNext(counter, ops::AddV2(after_pushes, forward.InBody(counter), Int(after_pushes, 1)));
  const Scope after_pops = body.After({values.popped()});
  backward.SetNext(left, ops::Sub(after_pops, backward.InBody(left), Int(after_pops, 1)));
  const Operation ended = backward.Exit(left).op();
  values_->Await(ended);
  for (const int source : popped_from_[unit]) waits_for_[source].push_back(ended);

  for (const Variable& v : variables) {
    Contribute(*v.forward->enter->in_edge(0), backward.Exit(v.number));
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    Contribute(*constants[i]->in_edge(0), backward.Exit(sums[i]));
  }
}

}  // namespace tensorfleet
