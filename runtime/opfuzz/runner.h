// Runs cases, one after the other, on a cluster in this process.
#pragma once

#include <functional>
#include <string>

#include "runtime/opfuzz/case.h"
#include "runtime/opfuzz/cluster.h"

namespace tensorfleet::opfuzz {

// What became of one step.
struct Outcome {
  Status status;
  bool reached = false;     // the kernel of the node under test ran
  std::string complaint;    // what was wrong although nothing failed; empty: nothing
  int64_t late_millis = 0;  // past the step's deadline
};

class Runner {
 public:
  Runner(int num_tasks, int64_t step_millis);
  // Calls `begin` before each step and `end` after it. A graph that the master refuses gives each
  // of its steps that error.
  void Run(const Case& made, const std::function<void(int step)>& begin,
           const std::function<void(int step, const Outcome&)>& end);
  const std::vector<std::string>& devices() const { return cluster_.devices(); }

 private:
  // All of the graph as one step of the first worker.
  Status RunOnWorker(const tensorflow::GraphDef& graph);

  const int64_t step_millis_;
  Cluster cluster_;
  int64_t worker_steps_ = 0;
};

}  // namespace tensorfleet::opfuzz
