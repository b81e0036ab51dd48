// The nodes that save and restore variables, for a graph that has none.
#pragma once

#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/collections.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

// Adds nodes below "fleet_save/" and describes them. Each device that holds variables writes and
// reads its own shard, all at the same time; so the devices must be set already. Pieces of a
// partitioned variable are saved as such. Errors: InvalidArgument when there are no variables.
StatusOr<tensorflow::SaverDef> AddSaver(const std::vector<tensorflow::VariableDef>& variables,
                                        tensorflow::GraphDef* graph);

}  // namespace tensorfleet::train
