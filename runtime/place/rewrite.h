// The passes that a pruned graph goes through before it is partitioned: functions and
// control flow are expanded, what that adds is placed, then constants are folded and the graph is
// tidied. A pass keeps what can be seen from outside: the names of nodes that stay, what runs at
// most once, and errors of ops that fail, those of values that nobody uses excepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/place/placement/placer.h"

namespace tensorflow {
class GraphOptions;
}

namespace tensorfleet {

struct RewriteOptions {
  bool inline_functions = true;
  bool leave_out_unused_values = true;
  bool fold_constants = true;
  bool remove_identities = true;
  bool merge_equal_nodes = true;
  // While and If become Switch and Merge nodes where the client allows it
  // (`_lower_using_switch_merge`). Not an optimisation: loops may span tasks only in that form.
  bool lower_control_flow = true;
  // Where nothing can call functions, those too of which the client did not allow it.
  bool lower_all_control_flow = false;
  // What can be compiled together on an accelerator becomes one node. Not in partial runs, whose
  // feeds come one after the other.
  bool gather_clusters = true;
  // A folded constant may not take more bytes than this.
  int64_t max_folded_bytes = 10 << 20;
};

// What a client's ConfigProto.graph_options asks for: disable_meta_optimizer, opt_level L0 and the
// switches of single optimisers turn passes off.
RewriteOptions RewriteOptionsFrom(const tensorflow::GraphOptions& options);

struct RewriteContext {
  RewriteOptions options;
  // How nodes that passes add are placed; required. calls_are_expanded is taken as false.
  const PlacementOptions* placement = nullptr;
  // A CPU of this process and its kernels, on which constants are folded. Null: nothing is folded.
  Device* cpu = nullptr;
  const KernelRegistry* cpu_kernels = nullptr;
  // No pass begins after this was cancelled. May be null.
  const CancellationManager* cancellation = nullptr;
};

// A pass: a file of its own that offers `run`, and a row of the list. What is said of all of them
// is done in one place, RewriteGraph: whether it runs, the log, the node's name in its errors, and
// that its result is a graph.
struct GraphPass {
  const char* name;  // in errors and in the log
  Status (*run)(Graph* graph, const RewriteContext& context);
  bool RewriteOptions::*enabled = nullptr;  // null: it always runs
};

// The passes in the order in which they run.
absl::Span<const GraphPass> GraphPasses();

// Runs all passes on a graph that Prune made and whose other nodes were placed with
// calls_are_expanded. Afterwards every node has a device. Logs what each pass changed (level
// debug). Errors: those of the passes, with the pass's name; Internal when a pass leaves something
// that is no graph (CheckGraph), which is our fault.
Status RewriteGraph(Graph* graph, const RewriteContext& context);
Status RunPasses(absl::Span<const GraphPass> passes, Graph* graph, const RewriteContext& context);

// What holds after each pass: every data input is connected, and there is no cycle but loops.
Status CheckGraph(const Graph& graph);

}  // namespace tensorfleet
