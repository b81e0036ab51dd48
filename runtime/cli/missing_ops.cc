#include "runtime/cli/missing_ops.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "proto/meta_graph.pb.h"
#include "proto/saved_model.pb.h"
#include "runtime/graph/left_out_ops.h"
#include "runtime/io/file_system.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::cli {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Bytes of another message may parse too: then nodes lack ops, or hold fields that nodes have not.
bool IsPlausible(const GraphDef& graph) {
  return graph.node_size() > 0 &&
         std::all_of(graph.node().begin(), graph.node().end(), [](const NodeDef& node) {
           return !node.op().empty() && !node.name().empty() &&
                  node.GetReflection()->GetUnknownFields(node).empty();
         });
}

template <typename Message>
bool Parse(const std::string& bytes, bool is_text, Message* message) {
  if (!is_text) return message->ParseFromString(bytes);
  // Wrong guesses are no errors for the log.
  struct Silent : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  return parser.ParseFromString(bytes, message);
}

std::vector<ExportedGraph> GraphsIn(const std::string& bytes, bool is_text) {
  GraphDef graph;
  if (Parse(bytes, is_text, &graph) && IsPlausible(graph)) return {{"", std::move(graph)}};
  tensorflow::MetaGraphDef meta;
  if (Parse(bytes, is_text, &meta) && IsPlausible(meta.graph_def())) {
    return {{"", std::move(*meta.mutable_graph_def())}};
  }
  std::vector<ExportedGraph> graphs;
  tensorflow::SavedModel saved;
  if (!Parse(bytes, is_text, &saved)) return graphs;
  for (tensorflow::MetaGraphDef& each : *saved.mutable_meta_graphs()) {
    if (!IsPlausible(each.graph_def())) continue;
    graphs.push_back(
        {absl::StrJoin(each.meta_info_def().tags(), ","), std::move(*each.mutable_graph_def())});
  }
  return graphs;
}

StatusOr<std::string> ReadModelFile(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(path));
  const StatusOr<bool> is_folder = at.file_system->IsDirectory(at.path);
  if (!is_folder.ok() || !*is_folder) return ReadWholeFile(*at.file_system, at.path);
  for (const char* name : {"saved_model.pb", "saved_model.pbtxt"}) {
    const std::string file = absl::StrCat(at.path, "/", name);
    if (at.file_system->Exists(file)) return ReadWholeFile(*at.file_system, file);
  }
  return NotFound(path, " holds neither saved_model.pb nor saved_model.pbtxt");
}

// Why no CPU kernel takes the node's types; empty when one does, or when the types come from a
// function's caller.
std::string WithoutKernel(const NodeDef& node) {
  const std::vector<TypeConstraints> kernels = CpuKernels().ConstraintsOf(node.op(), kCpu);
  if (kernels.empty()) return "";
  std::set<std::string> wanted;
  for (const TypeConstraints& constraints : kernels) {
    bool fits = true;
    for (const TypeConstraint& constraint : constraints) {
      const tensorflow::AttrValue* const value = FindAttr(node, constraint.attr);
      if (value == nullptr || !value->placeholder().empty()) return "";
      const DType type = static_cast<DType>(value->type());
      if (type == constraint.type) continue;
      fits = false;
      wanted.insert(absl::StrCat(constraint.attr, "=", DTypeName(type)));
    }
    if (fits) return "";
  }
  return absl::StrCat("no CPU kernel for ", absl::StrJoin(wanted, " "));
}

class Search {
 public:
  explicit Search(const GraphDef& graph) {
    for (const auto& function : graph.library().function()) {
      functions_.insert(function.signature().name());
    }
    for (const NodeDef& node : graph.node()) Look(node, "");
    for (const auto& function : graph.library().function()) {
      for (const NodeDef& node : function.node_def()) Look(node, function.signature().name());
    }
  }

  std::vector<Refusal> Take() {
    std::vector<Refusal> all;
    for (auto& [key, refusal] : found_) all.push_back(std::move(refusal));
    return all;
  }

 private:
  void Look(const NodeDef& given, const std::string& function) {
    std::string why = WhyRefused(given);
    if (why.empty()) return;
    Refusal& refusal = found_[{given.op(), why}];
    if (refusal.nodes++ > 0) return;
    refusal.op = given.op();
    refusal.why = std::move(why);
    refusal.first =
        function.empty() ? given.name() : absl::StrCat(given.name(), " in function ", function);
  }

  std::string WhyRefused(const NodeDef& given) const {
    if (functions_.count(given.op()) > 0) return "";
    const StatusOr<const OpSchema*> schema = BuiltinOps().Find(given.op());
    if (!schema.ok()) {
      const std::string left_out = WhyLeftOut(given.op());
      return left_out.empty() ? "not among the ops of this version"
                              : absl::StrCat("left out: ", left_out);
    }
    NodeDef node = given;
    for (const auto& [name, value] : given.attr()) {
      if (!value.placeholder().empty()) return "";  // known once the function is called
    }
    if (const Status status = CompleteAttrs(**schema, &node); !status.ok()) {
      return std::string(status.message());
    }
    return WithoutKernel(node);
  }

  std::set<std::string> functions_;
  std::map<std::pair<std::string, std::string>, Refusal> found_;  // by op and reason
};

}  // namespace

StatusOr<std::vector<ExportedGraph>> ReadExportedGraphs(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(path));
  for (const bool is_text : {false, true}) {
    std::vector<ExportedGraph> graphs = GraphsIn(bytes, is_text);
    if (!graphs.empty()) return graphs;
  }
  return InvalidArgument(path, " is neither a GraphDef nor a MetaGraphDef nor a SavedModel");
}

std::vector<Refusal> MissingOps(const GraphDef& graph) { return Search(graph).Take(); }

}  // namespace tensorfleet::cli
