// Which collectives a graph runs, in itself or in its functions.
#pragma once

#include <cstdint>
#include <set>

#include "runtime/graph/graph.h"

namespace tensorfleet {

bool IsCollectiveOp(absl::string_view op);

struct CollectivesFound {
  bool found = false;
  bool has_open_keys = false;       // some have their instance key as an input
  std::set<int64_t> instance_keys;  // of the others
  // What TensorFlow calls the graph when several masters run it: the same for all that have these
  // instances. 0 without collectives.
  int64_t graph_key() const;
};
CollectivesFound CollectivesIn(const Graph& graph);

}  // namespace tensorfleet
