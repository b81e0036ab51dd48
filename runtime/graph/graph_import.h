// GraphDefs to graphs and back. Import checks everything, since the message comes from outside.
#pragma once

#include <memory>

#include "proto/graph.pb.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// The highest GraphDef version that we understand and the one that we write: TensorFlow 2.15's.
inline constexpr int kGraphVersion = 1645;

struct ImportOptions {
  // Client graphs may not hold ops or nodes whose name starts with "_"; graphs between servers do.
  bool allow_internal_ops = false;
};

// Adds `def`'s nodes and edges to `graph`, which may hold nodes already that `def` refers to. On
// error the graph is left as it was. Errors (texts of tf-protocol.md, B.3): NotFound for an unknown
// op; InvalidArgument for duplicate or malformed names, unknown or ill-typed inputs, missing
// attributes, wrong arity, cycles, versions.
Status ImportGraphDef(const tensorflow::GraphDef& def, const ImportOptions& options, Graph* graph);

// Nodes with inputs, requested or (when set) assigned devices, and the library.
struct ExportOptions {
  bool strip_default_attrs = false;
};
void ExportGraphDef(const Graph& graph, const ExportOptions& options, tensorflow::GraphDef* def);

}  // namespace tensorfleet
