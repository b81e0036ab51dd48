#include "runtime/train/optimizer/sync_replicas.h"

#include <algorithm>

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {

SyncReplicas::SyncReplicas(Options options)
    : options_([&] {
        if (options.total_replicas <= 0) options.total_replicas = options.replicas_to_aggregate;
        return options;
      }()) {}

Operation SyncReplicas::Minimize(const Scope& scope, const Output& loss, Optimizer& optimizer,
                                 Variables& variables) {
  const std::vector<Variable> trained = variables.trainable();
  return ApplyGradients(scope, optimizer.ComputeGradients(scope, loss, trained), optimizer,
                        variables);
}

SyncReplicas::Averages SyncReplicas::Accumulate(const Scope& scope,
                                                absl::Span<const GradientAndVariable> gradients,
                                                const Output& global_step) const {
  Averages all;
  for (const auto& [gradient, variable] : gradients) {
    if (gradient.is_absent()) continue;
    const Scope at = AtVariable(scope, variable);
    const Output required = Int(at, options_.replicas_to_aggregate);
    const Output step = local_step_.value;
    // Workers find each other's accumulator by its name.
    const std::string shared = absl::StrCat(variable.name, "/grad_accum");
    if (!gradient.is_sparse()) {
      const Output handle = ops::ResourceConditionalAccumulator(at, variable.dtype, variable.shape,
                                                                {.shared_name = shared});
      all.added.push_back(
          ops::ResourceAccumulatorApplyGradient(at, handle, step, gradient.dense()));
      all.gradients.push_back(
          {ops::ResourceAccumulatorTakeGradient(at, handle, required, variable.dtype), variable});
      all.advance.push_back(
          ops::ResourceAccumulatorSetGlobalStep(at.Named("SetGlobalStep"), handle, global_step));
      continue;
    }
    const IndexedSlices& slices = gradient.slices();
    const Output handle = ops::SparseConditionalAccumulator(at, variable.dtype, variable.shape,
                                                            {.shared_name = shared});
    all.added.push_back(ops::SparseAccumulatorApplyGradient(
        at, handle, step, CastTo(scope, slices.indices, DType::kInt64), slices.values,
        CastTo(scope, slices.dense_shape, DType::kInt64), /*has_known_shape=*/true));
    const auto taken = ops::SparseAccumulatorTakeGradient(at, handle, required, variable.dtype);
    all.gradients.push_back({IndexedSlices{taken.values, taken.indices, taken.shape}, variable});
    all.advance.push_back(
        ops::AccumulatorSetGlobalStep(at.Named("SetGlobalStep"), handle, global_step));
  }
  return all;
}

Operation SyncReplicas::ApplyGradients(const Scope& scope,
                                       absl::Span<const GradientAndVariable> gradients,
                                       Optimizer& optimizer, Variables& variables) {
  if (options_.replicas_to_aggregate < 1) {
    scope.Fail(InvalidArgument("replicas_to_aggregate must be 1 or more; it is ",
                               options_.replicas_to_aggregate));
  }
  const Variable global_step = variables.GlobalStep(scope);
  const Scope at = scope.SubScope(options_.name);
  // Of this worker: how far it is.
  local_step_ = variables.Make(scope.Named("sync_rep_local_step"), Shape(), Zeros(),
                               {.dtype = DType::kInt64, .trainable = false, .local = true});
  if (!scope.status().ok()) return Operation();
  const Averages averages = Accumulate(at, gradients, global_step.value);
  if (averages.gradients.empty()) {
    scope.Fail(InvalidArgument("SyncReplicas was given no gradient"));
    return Operation();
  }
  const Operation update =
      optimizer.ApplyGradients(scope, averages.gradients, variables, global_step);
  if (!scope.status().ok()) return Operation();

  // Tokens are handed out where the steps are counted.
  const Scope counter = AtVariable(at, global_step);
  const std::vector<DType> types = {DType::kInt64};
  const std::vector<PartialShape> shapes = {PartialShape({})};
  const Output queue = ops::FIFOQueueV2(counter.Named("sync_token_q"), types,
                                        {.shapes = shapes, .shared_name = "sync_token_q"});
  const auto enqueue = [&](const Scope& where, int tokens, const Output& step) {
    const Output all = ops::Fill(where, Ints(where, {tokens}), step);
    return ops::QueueEnqueueManyV2(where, queue, {all});
  };
  const Scope updated = counter.After({update});
  chief_op_ = enqueue(updated, options_.total_replicas, Read(updated, global_step));
  queue_name_ = queue.op().name();
  close_op_ = ops::QueueCloseV2(counter.Named("sync_token_q_close"), queue).name();
  cancel_op_ = ops::QueueCloseV2(counter.Named("sync_token_q_cancel"), queue,
                                 {.cancel_pending_enqueues = true})
                   .name();

  const Scope initial = at.AfterNothing();
  local_init_op_ = Assign(initial.Named("local_step_init"), local_step_, global_step.value);
  std::vector<Operation> chief_init = averages.advance;
  chief_init.push_back(local_init_op_);
  chief_init_op_ = Group(initial.Named("chief_init"), chief_init);
  init_tokens_op_ =
      enqueue(counter.Named("init_tokens"), options_.replicas_to_aggregate, global_step.value);

  const Scope waiting = counter.After(averages.added);
  const std::vector<Output> token = ops::QueueDequeueV2(waiting.Named("token"), queue, types);
  if (token.empty()) return Operation();
  return Assign(at.Itself(), local_step_, token[0]);
}

tensorflow::QueueRunnerDef SyncReplicas::queue_runner() const {
  tensorflow::QueueRunnerDef runner;
  runner.set_queue_name(queue_name_);
  runner.add_enqueue_op_name(chief_op_.name());
  runner.set_close_op_name(close_op_);
  runner.set_cancel_op_name(cancel_op_);
  return runner;
}

}  // namespace tensorfleet::train
