#include "runtime/session/limits.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "proto/graph.pb.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

constexpr const char* kFileOps[] = {
    "FleetBeginSave",
    "FleetEndSave",
    "FixedLengthRecordReader",
    "FixedLengthRecordReaderV2",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "MatchingFiles",
    "MergeV2Checkpoints",
    "PrintV2",
    "ReadFile",
    "Restore",
    "RestoreSlice",
    "RestoreV2",
    "SaveV2",
    "TFRecordReader",
    "TFRecordReaderV2",
    "TextLineReader",
    "TextLineReaderV2",
    "WholeFileReader",
    "WholeFileReaderV2",
    "WriteFile",
};

// PrintV2 writes files only where it is told to.
bool IsHarmlessPrint(const tensorflow::NodeDef& node) {
  if (node.op() != "PrintV2") return false;
  const auto stream = node.attr().find("output_stream");
  return stream == node.attr().end() || stream->second.s().rfind("file://", 0) != 0;
}

}  // namespace

absl::Span<const char* const> ForbiddenOps::FileOps() { return kFileOps; }

StatusOr<ForbiddenOps> ForbiddenOps::Parse(absl::string_view list, const OpRegistry& ops) {
  ForbiddenOps forbidden;
  for (absl::string_view item : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    item = absl::StripAsciiWhitespace(item);
    if (item == "files" || item == "network") {
      for (const char* op : kFileOps) forbidden.why_.try_emplace(op, item);
    } else if (ops.Find(item).ok()) {
      forbidden.why_.try_emplace(item, item);
    } else {
      return InvalidArgument("'", item, "' is neither an op nor one of the groups files, network");
    }
  }
  return forbidden;
}

Status ForbiddenOps::Check(const tensorflow::GraphDef& graph) const {
  if (why_.empty()) return OkStatus();
  const auto check = [&](const auto& nodes, const std::string& function) -> Status {
    for (const tensorflow::NodeDef& node : nodes) {
      const auto found = why_.find(node.op());
      if (found == why_.end()) continue;
      if (found->second != node.op() && IsHarmlessPrint(node)) continue;
      ++ServerMetrics().refused_ops;
      return PermissionDenied(
          "Node '", node.name(), "'", function.empty() ? "" : " of function '", function,
          function.empty() ? "" : "'", " is a ", node.op(),
          ", which this server does not run (--forbid_ops=", found->second,
          "): leave it out of the graph, place it on another server, or ask whoever runs this one");
    }
    return OkStatus();
  };
  TFLEET_RETURN_IF_ERROR(check(graph.node(), ""));
  for (const auto& function : graph.library().function()) {
    TFLEET_RETURN_IF_ERROR(check(function.node_def(), function.signature().name()));
  }
  return OkStatus();
}

int64_t CountNodes(const tensorflow::GraphDef& graph) {
  int64_t nodes = graph.node_size();
  for (const auto& function : graph.library().function()) nodes += function.node_def_size();
  return nodes;
}

Status Limits::CheckGraph(const tensorflow::GraphDef& graph, int64_t nodes_before) const {
  TFLEET_RETURN_IF_ERROR(forbidden.Check(graph));
  const int64_t nodes = nodes_before + CountNodes(graph);
  if (graph_nodes > 0 && nodes > graph_nodes) {
    return Suffixed(OverLimit("the nodes of a session's graph", graph_nodes, "max_graph_nodes"),
                    absl::StrCat("; with this it would have ", nodes));
  }
  return OkStatus();
}

Status OverLimit(absl::string_view what, int64_t limit, absl::string_view flag) {
  ++ServerMetrics().refused_over_limit;
  return ResourceExhausted(what, " are limited to ", limit, " on this server (--", flag, ")");
}

}  // namespace tensorfleet
