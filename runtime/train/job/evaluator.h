// Follows the checkpoints of a training: restores each new one into a session of this process,
// computes metrics, and writes them as summaries into the directory "eval" beside the checkpoints.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "proto/meta_graph.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {

struct EvaluationOptions {
  std::string checkpoint_dir;
  // Names for the log and TensorBoard, and the scalar tensors that they are read from.
  std::vector<std::pair<std::string, std::string>> metrics;
  std::vector<std::pair<std::string, Tensor>> feeds;
  int64_t steps = 1;  // how often the metrics are fetched for one checkpoint; 0: until the input
                      // ends
  bool takes_last = false;  // the value of the last step (streaming metrics), not the steps' mean
  int64_t last_step = 0;    // ends when a checkpoint of at least this step is evaluated; 0: never
  std::chrono::milliseconds poll_period{500};
  const Clock* clock = Clock::Real();
  // Whether what `stop` says means that the job is over: then the last checkpoint still counts.
  std::function<bool(const Status&)> job_has_finished = nullptr;
};

struct Evaluation {
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> metrics;
};

// Evaluates one checkpoint. Errors: those of the graph and of the files.
StatusOr<Evaluation> EvaluateOnce(const TrainGraph& graph, const std::string& checkpoint,
                                  const EvaluationOptions& options);

// Runs until the last step's checkpoint is evaluated or `stop` is cancelled. A checkpoint that
// vanishes while it is read, because newer ones have come, is passed over. Errors: those of
// EvaluateOnce; what `stop` says.
Status EvaluateCheckpoints(const tensorflow::MetaGraphDef& meta, TrainGraphOptions graph_options,
                           const EvaluationOptions& options, CancellationManager* stop);

}  // namespace tensorfleet::train
