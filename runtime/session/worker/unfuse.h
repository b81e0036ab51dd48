// TensorFlow's masters replace groups of nodes by internal ops for which only TensorFlow's CPU has
// kernels (grappler's remapper and its chains of element-wise ops). A worker of such a master takes
// them apart again, into the ops that they stand for.
#pragma once

#include "absl/strings/string_view.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_schema.h"

namespace tensorfleet {

// Whether this op stands for others that Unfuse puts in its place.
bool IsTakenApart(absl::string_view op);

// In the graph and in its functions. Errors: Unimplemented for a combination that is not known,
// with what its user can do; InvalidArgument when a node is malformed. Then the graph is of no use.
Status Unfuse(const OpRegistry& ops, tensorflow::GraphDef* graph);

}  // namespace tensorfleet
