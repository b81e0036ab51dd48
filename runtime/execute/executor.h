// The executor: runs a placed piece of graph on one device, step after step. A graph is compiled
// once into flat arrays (nodes, edges, pending counts); a run keeps its whole state in one block
// that is used again. Cheap nodes run on the thread that made them ready; expensive ones go to the
// device's pool. Thread-safe: any number of steps may run at once.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

class MemoryAccount;
class StepStatsCollector;

// Gives the kernel of a node; stateful kernels may be shared between graphs of a session (by node
// name).
using KernelProvider = std::function<StatusOr<std::shared_ptr<const Kernel>>(const Node& node)>;

class Executor {
 public:
  struct Options {
    Device* device = nullptr;
    KernelProvider kernels;
  };
  // Makes every kernel. The graph is not needed afterwards (what a kernel context shows of its node
  // is kept). Errors: what making a kernel says, with the node's name; InvalidArgument for a
  // malformed graph (unconnected inputs, frames that do not nest).
  static StatusOr<std::unique_ptr<Executor>> Compile(std::unique_ptr<const Graph> graph,
                                                     const Options& options);
  virtual ~Executor() = default;

  struct RunArgs {
    StepContext step;
    StepStatsCollector* stats = nullptr;  // null: no trace
    // What the tensors of this run are charged to; null: what the calling thread charges. Must live
    // until `done`.
    MemoryAccount* memory = nullptr;
    // Whether the calling thread may run expensive nodes too, instead of leaving them to the
    // device's pool: right for a thread that would only wait.
    bool caller_may_work = false;
  };
  // Calls `done` once, when no kernel of this run is running any more: with OK, or with the error
  // of the first node that failed, its name added. On an error the run aborts the step's rendezvous
  // and starts cancellation, so that what waits elsewhere ends too. `done` may be called on the
  // calling thread.
  virtual void RunAsync(const RunArgs& args, std::function<void(Status)> done) const = 0;
  // Waits. Not for pool threads.
  Status Run(const RunArgs& args) const;

  // The memory that is kept for later runs, while none is under way.
  virtual size_t idle_bytes() const = 0;
  virtual const Graph& graph() const = 0;
};

}  // namespace tensorfleet
