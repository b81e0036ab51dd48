#include "runtime/place/rewrite.h"

#include <algorithm>
#include <chrono>

#include "proto/config.pb.h"
#include "runtime/base/log.h"
#include "runtime/place/expand/expand_calls.h"
#include "runtime/place/passes/aliased_reads.h"
#include "runtime/place/passes/fold_constants.h"
#include "runtime/place/passes/gather_clusters.h"
#include "runtime/place/passes/split_random.h"
#include "runtime/place/passes/tidy.h"
#include "runtime/place/passes/unused_values.h"

namespace tensorfleet {
namespace {

// Nodes that earlier passes added, and calls that could not be expanded after all.
Status PlaceAdded(Graph* graph, const RewriteContext& context) {
  const std::vector<Node*> nodes = graph->nodes();
  const bool all_placed = std::none_of(
      nodes.begin(), nodes.end(), [](const Node* node) { return node->assigned_device().empty(); });
  if (all_placed) return OkStatus();
  PlacementOptions placement = *context.placement;
  placement.calls_are_expanded = false;
  placement.log = nullptr;
  return Place(placement, graph);
}

using Options = RewriteOptions;
constexpr GraphPass kPasses[] = {
    // Functions, branches and loops become plain nodes.
    {"expand-calls", ExpandCalls},
    // What follows looks at devices.
    {"place-added", PlaceAdded},
    // What is read of a variable after an update.
    {"renew-reads", RenewAliasedReads},
    // What is only waited for.
    {"leave-out-unused-values", LeaveOutUnusedValues, &Options::leave_out_unused_values},
    // What is the same in every step.
    {"fold-constants", FoldConstants, &Options::fold_constants},
    // What passes its input on.
    {"remove-identities", RemoveIdentities, &Options::remove_identities},
    // What is computed twice.
    {"merge-equal-nodes", MergeEqualNodes, &Options::merge_equal_nodes},
    // What draws random numbers on an accelerator.
    {"split-random", SplitRandom, &Options::gather_clusters},
    // What is compiled together.
    {"gather-clusters", GatherClusters, &Options::gather_clusters},
};

// Where asserts are on each pass is held to its result, so that its own tests show a fault; else
// the last one is.
#ifdef NDEBUG
constexpr bool kCheckEachPass = false;
#else
constexpr bool kCheckEachPass = true;
#endif

bool IsOff(tensorflow::RewriterConfig::Toggle toggle) {
  return toggle == tensorflow::RewriterConfig::OFF;
}

}  // namespace

RewriteOptions RewriteOptionsFrom(const tensorflow::GraphOptions& options) {
  const tensorflow::RewriterConfig& config = options.rewrite_options();
  const tensorflow::OptimizerOptions& optimizer = options.optimizer_options();
  const bool off =
      config.disable_meta_optimizer() || optimizer.opt_level() == tensorflow::OptimizerOptions::L0;
  RewriteOptions result;
  result.inline_functions = !off && !IsOff(config.function_optimization());
  result.leave_out_unused_values = !off && !IsOff(config.dependency_optimization());
  result.fold_constants = !off && !IsOff(config.constant_folding());
  result.remove_identities = !off && !IsOff(config.dependency_optimization());
  result.merge_equal_nodes = !off && !IsOff(config.common_subgraph_elimination());
  if (optimizer.max_folded_constant_in_bytes() > 0) {
    result.max_folded_bytes = optimizer.max_folded_constant_in_bytes();
  }
  return result;
}

absl::Span<const GraphPass> GraphPasses() { return kPasses; }

Status CheckGraph(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->in_edge(i) == nullptr) {
        return Internal("{{node ", node->name(), "}}: input ", i, " is not connected");
      }
    }
  }
  return TopologicalOrder(graph).status();
}

Status RunPasses(absl::Span<const GraphPass> passes, Graph* graph, const RewriteContext& context) {
  const GraphPass* unchecked = nullptr;
  const auto named = [](const Status& status, const GraphPass& pass) {
    return Suffixed(status, absl::StrCat(" (graph rewrite ", pass.name, ")"));
  };
  for (const GraphPass& pass : passes) {
    if (context.cancellation != nullptr && context.cancellation->is_cancelled()) {
      return context.cancellation->status();
    }
    if (pass.enabled != nullptr && !(context.options.*pass.enabled)) continue;
    const int before = graph->num_nodes();
    const auto start = std::chrono::steady_clock::now();
    Status status = pass.run(graph, context);
    if (status.ok() && kCheckEachPass) status = CheckGraph(*graph);
    if (!status.ok()) return named(status, pass);
    unchecked = kCheckEachPass ? nullptr : &pass;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    LogDebug("Graph pass", {{"pass", pass.name},
                            {"nodes", graph->num_nodes()},
                            {"before", before},
                            {"us", static_cast<int64_t>(took.count())}});
  }
  if (unchecked == nullptr) return OkStatus();
  const Status status = CheckGraph(*graph);
  return status.ok() ? status : named(status, *unchecked);
}

Status RewriteGraph(Graph* graph, const RewriteContext& context) {
  return RunPasses(GraphPasses(), graph, context);
}

}  // namespace tensorfleet
