// Cuts a placed graph into one piece per task, or per device. Each edge between two pieces becomes
// a pair of
// `_Send` and `_Recv` nodes that meet in the step's rendezvous (tf-protocol.md, B.7 and B.9).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

struct PartitionOptions {
  // kTask: what a master sends to workers; edges between devices of one task stay. kDevice: what a
  // worker gives to its executors.
  enum class By { kTask, kDevice };
  By by = By::kTask;
  // The incarnation of the device that sends: part of the key, so that a restarted task is noticed.
  std::function<uint64_t(const std::string& device)> incarnation;
  // Makes the names of added nodes unique ("<source>_S<k>"); may be shared by all graphs of a
  // session. Null: from 0.
  std::atomic<int64_t>* name_counter = nullptr;
};

// Pieces by task ("/job:ps/replica:0/task:0") or full device name.
using Partitions = std::map<std::string, std::unique_ptr<Graph>>;

// `graph` must be placed; it is left as it is. Names of nodes stay. The pieces share the graph's
// function library; a message to a worker needs no more of it than UsedFunctions(piece). A loop
// that spans pieces gets a control loop where nothing else says how often it runs, so that receives
// inside the loop run once per iteration. A reference is sent as its value, read when the reader's
// control inputs have run. Errors: InvalidArgument for a node without full device
// name, frames that do not nest, or a loop whose back edge would be cut.
StatusOr<Partitions> Partition(const Graph& graph, const PartitionOptions& options);

// The functions of `graph`'s library that its nodes use, directly or through others, and the
// gradients defined for them.
tensorflow::FunctionDefLibrary UsedFunctions(const Graph& graph);

}  // namespace tensorfleet
