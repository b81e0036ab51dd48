// Graphs of synchronous replicas (SyncReplicas here, tf.compat.v1.train.SyncReplicasOptimizer
// there) ask more of the chief than its own steps: a loop that takes the average gradients, applies
// them and hands out tokens. TensorFlow keeps that loop in a hook of the program, so an exported
// graph has its ops but no collection that names them. They are known by the queue of the tokens,
// "sync_token_q", and what hangs on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/collections.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

struct TrainGraph;

// What the chief does with each session once the model is ready: `begin` runs; when `tokens_left`
// gives 0, `add_tokens` runs; then `runner` goes round and round.
struct SyncLoop {
  std::vector<std::string> begin;  // accumulators drop the gradients of steps that are over
  std::string tokens_left;
  std::string add_tokens;
  tensorflow::QueueRunnerDef runner;
};

// Finds the loop, and adds what the graph lacks of it below "fleet_sync/"; each task's local init
// then sets its local step to the global one. A train op that is the chief's gives way to the
// workers' own. Sets graph->sync when there is a loop. For graphs
// whose nodes have not been placed yet. Errors: Unimplemented for more than one loop;
// InvalidArgument naming what a loop lacks.
Status FindSyncLoop(TrainGraph* graph);

}  // namespace tensorfleet::train
