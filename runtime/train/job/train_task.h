// One task of a training job, whatever its part: the chief and the workers train a graph between
// them, a parameter server serves until the chief says that the job is over, an evaluator follows
// the checkpoints. `tensorfleet train` is a thin shell around it; a C++ program gives it a graph of
// its own and, if it likes, a source of batches.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "proto/meta_graph.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/rpc/server.h"
#include "runtime/train/job/evaluator.h"
#include "runtime/train/job/replica_placement.h"
#include "runtime/train/job/train_graph.h"
#include "runtime/train/session/monitored_session.h"

namespace tensorfleet::train {

struct TrainOptions {
  // Who this task is and what it can run; on_drain is set by the task itself.
  rpc::ServerOptions server;
  TrainGraphOptions graph;

  std::string checkpoint_dir;  // "": nothing is saved, no event files are written
  int64_t save_steps = 0;      // 0: by seconds
  double save_seconds = 600;   // used when save_steps is 0; 0: only at the start and at the end
  int max_to_keep = -1;        // -1: as the graph's Saver says; 0: all
  double keep_every_n_hours = -1;
  int64_t max_steps = 0;        // 0: until the input ends
  int64_t log_steps = 100;      // 0: no progress in the log
  int64_t summary_steps = 100;  // 0: no summaries
  bool nan_is_error = true;
  SpreadBy spread_by = SpreadBy::kRoundRobin;
  std::string replica_device;                  // see ReplicaPlacement
  std::chrono::milliseconds give_up_after{0};  // see MonitoredSessionOptions
  // How long a step, and the last checkpoint, may take after the task was told to stop.
  std::chrono::milliseconds grace{20000};
  EvaluationOptions evaluation;

  // What to feed each step, for graphs that read no input themselves. Null: nothing.
  std::function<StatusOr<MonitoredSession::Feeds>()> next_batch;
  const Clock* clock = Clock::Real();
};

// Why a task stops before its own end. Kept in the CancellationManager's status.
Status JobHasFinished(const std::string& by);  // Cancelled: the task ends with success
bool IsJobFinished(const Status& status);

// Does this task's part of the job. `meta` may be null for a parameter server. Returns when it is
// done: OK after success; what `stop` says when stopped by the caller, after the chief has saved;
// other errors name what went wrong. Blocks.
Status RunTrainTask(const tensorflow::MetaGraphDef* meta, const TrainOptions& options,
                    CancellationManager* stop);

}  // namespace tensorfleet::train
