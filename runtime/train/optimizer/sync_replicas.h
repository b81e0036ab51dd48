// Synchronous training with backup workers, as tf.compat.v1.train.SyncReplicasOptimizer does it. In
// every step, the gradients of the first `replicas_to_aggregate` workers to finish are averaged and
// applied once; those that come later are of a step that is over, and are dropped.
//
//   SyncReplicas sync({.replicas_to_aggregate = 3, .total_replicas = 4});
//   const Operation train = sync.Minimize(scope, loss, adam, variables);
//
// A worker's train op adds its gradients to an accumulator beside each variable, then waits for a
// token, which carries the number of the next step. The chief runs `chief_op` in a loop of its own
// (`queue_runner` describes it): it takes the averages, applies them, and hands out tokens. Before
// the first step the chief runs `chief_init_op` and `init_tokens_op`, other workers run
// `local_init_op`, all once the global variables are initialized.
#pragma once

#include <string>

#include "proto/collections.pb.h"
#include "runtime/train/optimizer/optimizer.h"

namespace tensorfleet::train {

class SyncReplicas {
 public:
  struct Options {
    int replicas_to_aggregate = 1;
    // More than are aggregated: the surplus are backup workers. Fewer: each works several times per
    // step. 0: as many as are aggregated.
    int total_replicas = 0;
    std::string name = "sync_replicas";
  };
  explicit SyncReplicas(Options options);

  // A worker's train op. All graphs of a job must make the same variables in the same order.
  Operation ApplyGradients(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                           Optimizer& optimizer, Variables& variables);
  Operation Minimize(const Scope& scope, const Output& loss, Optimizer& optimizer,
                     Variables& variables);

  // Valid once ApplyGradients has built them.
  const Operation& chief_op() const { return chief_op_; }
  const Operation& chief_init_op() const { return chief_init_op_; }
  const Operation& local_init_op() const { return local_init_op_; }
  const Operation& init_tokens_op() const { return init_tokens_op_; }
  // The step for which this worker computes gradients.
  const Variable& local_step() const { return local_step_; }
  // chief_op as a queue runner, for the collection of those.
  tensorflow::QueueRunnerDef queue_runner() const;

 private:
  struct Averages {
    std::vector<GradientAndVariable> gradients;
    std::vector<Operation> added;    // this worker's gradients
    std::vector<Operation> advance;  // lets accumulators drop what is older than the global step
  };
  Averages Accumulate(const Scope& scope, absl::Span<const GradientAndVariable> gradients,
                      const Output& global_step) const;

  const Options options_;
  Variable local_step_;
  Operation chief_op_, chief_init_op_, local_init_op_, init_tokens_op_;
  std::string queue_name_, close_op_, cancel_op_;
};

}  // namespace tensorfleet::train
