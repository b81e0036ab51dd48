// Between-graph replication: every task runs the same graph, its own copy of the computation, and
// shares the state. This says where each node of one task's copy goes.
//
//   * A node that names a job and a task stays there. One that names only the job of this task
//     ("/job:worker") goes to this task.
//   * State without a place (variables, tables, accumulators, and queues that have a name to share
//     them by) is spread over the parameter servers; with none, it goes to the chief. Every task
//     comes to the same answer, since all have the same graph.
//   * What belongs to a piece of state goes with it: what is colocated with it (slots,
//     initializers), what takes its reference or handle (reads, updates).
//   * Local variables and everything else go to this task.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

// Which parameter server the next piece of state goes to: the next one in turn, or the one that
// holds the fewest bytes so far.
enum class SpreadBy { kRoundRobin, kBytes };
// "round-robin" or "bytes". Errors: InvalidArgument.
StatusOr<SpreadBy> ParseSpreadBy(absl::string_view name);

struct ReplicaPlacement {
  std::string own_task;                  // "/job:worker/replica:0/task:1"
  std::vector<std::string> state_tasks;  // where shared state goes, one or more
  SpreadBy spread_by = SpreadBy::kRoundRobin;
  absl::flat_hash_set<std::string> local;  // nodes of variables that are this task's own
  // A device of the graph that stands for the task that runs it, such as "/job:worker/task:0" in a
  // graph that was built for worker 0; "" for none.
  std::string replica_device;
};

// Sets the device of every node. Errors: InvalidArgument for a device or colocation that makes no
// sense, naming the node.
Status PlaceReplica(const ReplicaPlacement& placement, tensorflow::GraphDef* graph);

// Drops jobs and tasks from all devices, so that one process can run the graph.
Status PlaceHere(tensorflow::GraphDef* graph);

}  // namespace tensorfleet::train
