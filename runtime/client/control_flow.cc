#include "runtime/client/control_flow.h"

#include "runtime/client/loop_frame.h"
#include "runtime/client/ops.h"

namespace tensorfleet {

Outputs WhileLoop(
    const Scope& scope, const Outputs& initial, const Outputs& constants,
    const std::function<Output(const Scope&, const Outputs&, const Outputs&)>& condition,
    const std::function<Outputs(const Scope&, const Outputs&, const Outputs&)>& body,
    const WhileOptions& options) {
  LoopFrame loop(scope, options.name, options.parallel_iterations);
  Outputs merged, entered, carried, last;
  for (const Output& value : initial) merged.push_back(loop.InCondition(loop.AddVariable(value)));
  for (const Output& value : constants) entered.push_back(loop.AddConstant(value));
  loop.SetCondition(condition(loop.cond_scope(), merged, entered));
  for (size_t i = 0; i < initial.size(); ++i) carried.push_back(loop.InBody(static_cast<int>(i)));
  if (!scope.status().ok()) return Outputs(initial.size());
  const Outputs next = body(loop.body_scope(), carried, entered);
  if (next.size() != initial.size()) {
    scope.Fail(InvalidArgument("the body of loop '", options.name, "' has ", initial.size(),
                               " variables and returned ", next.size()));
    return Outputs(initial.size());
  }
  for (size_t i = 0; i < next.size(); ++i) {
    loop.SetNext(static_cast<int>(i), next[i]);
    last.push_back(loop.Exit(static_cast<int>(i)));
  }
  return last;
}

Outputs Conditional(const Scope& scope, const Output& predicate, const Outputs& inputs,
                    const std::function<Outputs(const Scope&, const Outputs&)>& then,
                    const std::function<Outputs(const Scope&, const Outputs&)>& otherwise) {
  const Scope at = scope.SubScope("cond");
  const auto pivots = ops::Switch(at, predicate, predicate);
  Outputs when_true, when_false;
  for (const Output& input : inputs) {
    const auto split = ops::Switch(at, input, predicate);
    when_true.push_back(split.output_true);
    when_false.push_back(split.output_false);
  }
  const auto branch = [&](const Output& pivot, const Outputs& values, const auto& build) {
    const Scope inside = at.After({ops::Identity(at, pivot).op()});
    Outputs results;
    // A result that comes from outside is switched too, or both branches would have it.
    for (const Output& result : build(inside, values)) {
      results.push_back(ops::Identity(inside, result));
    }
    return results;
  };
  const Outputs a = branch(pivots.output_true, when_true, then);
  const Outputs b = branch(pivots.output_false, when_false, otherwise);
  if (a.size() != b.size()) {
    scope.Fail(InvalidArgument("the branches of a Conditional return ", a.size(), " and ", b.size(),
                               " values"));
  }
  if (!scope.status().ok()) return Outputs(a.size());
  Outputs merged;
  for (size_t i = 0; i < a.size(); ++i) merged.push_back(ops::Merge(at, {b[i], a[i]}).output);
  return merged;
}

}  // namespace tensorfleet
