// Runs a registered graph once: all its pieces at the same time, and one answer when the last has
// ended.
#pragma once

#include <functional>
#include <memory>

#include "runtime/execute/step_stats.h"
#include "runtime/session/worker/registered_graph.h"
#include "runtime/session/worker/step_table.h"

namespace tensorfleet {

struct GraphRunArgs {
  std::shared_ptr<WorkerSession> session;
  std::shared_ptr<RegisteredGraph> graph;
  std::shared_ptr<WorkerStep> step;
  CallFrame* frame = nullptr;
  StepStatsCollector* stats = nullptr;
  bool caller_may_work = false;
};

// `done` gets the first root error of the pieces. It may be called on this thread.
void RunPieces(const GraphRunArgs& args, std::function<void(Status)> done);

}  // namespace tensorfleet
