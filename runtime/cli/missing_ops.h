// What servers of this version would refuse of a graph: `tensorfleet ops --missing`.
#pragma once

#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::cli {

struct ExportedGraph {
  std::string name;  // the tags of one of a SavedModel's graphs
  tensorflow::GraphDef graph;
};

// The graphs in a file or in a SavedModel's folder: a GraphDef, a MetaGraphDef or a SavedModel,
// binary or text. Errors: those of reading; InvalidArgument when it is none of these.
StatusOr<std::vector<ExportedGraph>> ReadExportedGraphs(const std::string& path);

// One reason to refuse nodes of one op.
struct Refusal {
  std::string op;
  std::string why;
  std::string first;  // a node, with the function that it is in
  int nodes = 0;
};

// Of the nodes of a graph and of its functions' bodies: ops that are not known, attributes that
// they do not take, and types that there are no CPU kernels for. Sorted by op.
std::vector<Refusal> MissingOps(const tensorflow::GraphDef& graph);

}  // namespace tensorfleet::cli
