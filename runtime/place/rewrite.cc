#include "runtime/place/rewrite.h"

#include <algorithm>

#include "proto/config.pb.h"
#include "runtime/place/aliased_reads.h"
#include "runtime/place/expand_calls.h"
#include "runtime/place/fold_constants.h"
#include "runtime/place/tidy.h"
#include "runtime/place/unused_values.h"

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

constexpr GraphRewrite kRewrites[] = {
    {"expand-calls", ExpandCalls},       // functions, branches and loops become plain nodes
    {"place-added", PlaceAdded},         // what follows looks at devices
    {"renew-reads", RenewAliasedReads},  // what is read of a variable after an update
    {"leave-out-unused-values", LeaveOutUnusedValues},  // what is only waited for
    {"fold-constants", FoldConstants},                  // what is the same in every step
    {"remove-identities", RemoveIdentities},            // what passes its input on
    {"merge-equal-nodes", MergeEqualNodes},             // what is computed twice
};

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

absl::Span<const GraphRewrite> GraphRewrites() { return kRewrites; }

Status RewriteGraph(Graph* graph, const RewriteContext& context) {
  for (const GraphRewrite& rewrite : GraphRewrites()) {
    if (const Status status = rewrite.run(graph, context); !status.ok()) {
      return Suffixed(status, absl::StrCat(" (graph rewrite ", rewrite.name, ")"));
    }
  }
  return OkStatus();
}

}  // namespace tensorfleet
