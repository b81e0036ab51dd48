#include "runtime/capi/import_graph.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/graph/graph.h"

namespace tensorfleet::capi {
namespace {

using Name = ImportOptions::Name;

class Importer {
 public:
  Importer(const Scope& scope, tensorflow::GraphDef def, const ImportOptions& options)
      : scope_(scope), def_(std::move(def)), options_(options) {}

  StatusOr<ImportResults> Run() {
    TFLEET_RETURN_IF_ERROR(ChoosePrefix());
    TFLEET_RETURN_IF_ERROR(ChooseNames());
    TFLEET_RETURN_IF_ERROR(CheckReturned());
    for (tensorflow::NodeDef& node : *def_.mutable_node()) {
      TFLEET_RETURN_IF_ERROR(Rewrite(&node));
    }
    TFLEET_RETURN_IF_ERROR(scope_.Import(def_));
    StatusOr<ImportResults> results = Results();
    if (!results.ok()) {
      TFLEET_RETURN_IF_ERROR(scope_.Edit([&](Graph* nodes) {
        for (const auto& [name, imported] : names_) nodes->RemoveNode(nodes->FindNode(imported));
        return OkStatus();
      }));
    }
    return results;
  }

 private:
  const Graph& graph() const { return scope_.graph(); }

  Status ChoosePrefix() {
    prefix_ = options_.prefix;
    prefix_ = std::string(absl::StripSuffix(prefix_, "/"));
    if (prefix_.empty()) return OkStatus();
    if (options_.uniquify_prefix) {
      const std::string wanted = prefix_;
      for (int i = 1; PrefixIsTaken(); ++i) prefix_ = absl::StrCat(wanted, "_", i);
    }
    prefix_ += "/";
    return OkStatus();
  }

  // By a node of this name, or by one below it.
  bool PrefixIsTaken() const {
    for (const Node* node : graph().nodes()) {
      absl::string_view name = node->name();
      if (absl::ConsumePrefix(&name, prefix_) && (name.empty() || name[0] == '/')) return true;
    }
    return false;
  }

  Status ChooseNames() {
    absl::flat_hash_set<std::string> own;  // no new name may be one that comes with the message
    for (const tensorflow::NodeDef& node : def_.node()) own.insert(prefix_ + node.name());
    absl::flat_hash_set<std::string> given;
    for (const tensorflow::NodeDef& node : def_.node()) {
      std::string name = prefix_ + node.name();
      if (graph().FindNode(name) != nullptr) {
        if (!options_.uniquify_names) {
          return InvalidArgument("Node name '", name, "' already exists in the Graph");
        }
        const std::string wanted = name;
        for (int i = 1;
             graph().FindNode(name) != nullptr || own.contains(name) || given.contains(name); ++i) {
          name = absl::StrCat(wanted, "_", i);
        }
      }
      given.insert(name);
      if (!names_.emplace(node.name(), name).second) {
        return InvalidArgument("Node '", node.name(), "' is not unique");
      }
    }
    return OkStatus();
  }

  Status CheckReturned() const {
    for (const auto& [node, index] : options_.return_outputs) {
      if (!names_.contains(node) && !options_.input_map.contains({node, index})) {
        return InvalidArgument("Requested return tensor '", node, ":", index,
                               "' not found in graph def");
      }
    }
    for (const std::string& node : options_.return_nodes) {
      if (!names_.contains(node)) {
        return InvalidArgument("Requested return node '", node, "' not found in graph def");
      }
    }
    return OkStatus();
  }

  static std::string TextOf(const std::string& node, int index) {
    if (index == kControlSlot) return absl::StrCat("^", node);
    return index == 0 ? node : absl::StrCat(node, ":", index);
  }

  // The node's inputs by their new names, then its control inputs.
  Status RewriteInputs(tensorflow::NodeDef* node) {
    bool waits_for_imported = false;
    std::set<std::string> controls;
    std::vector<std::string> inputs;
    for (const std::string& text : node->input()) {
      TFLEET_ASSIGN_OR_RETURN(const TensorName input, ParseTensorName(text));
      std::string taken;
      const auto mapped = options_.input_map.find({input.node, input.index});
      if (mapped != options_.input_map.end()) {
        used_.insert(mapped->first);
        taken = TextOf(mapped->second.first, mapped->second.second);
      } else {
        const auto found = names_.find(input.node);
        if (found == names_.end()) {
          return InvalidArgument("Node '", node->name(), "': Unknown input node '", text, "'");
        }
        taken = TextOf(found->second, input.index);
        waits_for_imported = waits_for_imported || !IsNextIteration(input.node);
      }
      if (input.index == kControlSlot) {
        controls.insert(std::move(taken));
      } else {
        inputs.push_back(std::move(taken));
      }
    }
    if (!waits_for_imported) {
      for (const std::string& before : options_.control_inputs) controls.insert("^" + before);
    }
    node->clear_input();
    for (std::string& input : inputs) node->add_input(std::move(input));
    for (const std::string& control : controls) node->add_input(control);
    return OkStatus();
  }

  // Such a node runs after what it is an input of.
  bool IsNextIteration(const std::string& name) {
    if (next_iterations_.empty()) {
      next_iterations_.insert("");  // looked for once
      for (const tensorflow::NodeDef& node : def_.node()) {
        if (absl::StrContains(node.op(), "NextIteration")) next_iterations_.insert(node.name());
      }
    }
    return next_iterations_.contains(name);
  }

  Status Rewrite(tensorflow::NodeDef* node) {
    TFLEET_RETURN_IF_ERROR(RewriteInputs(node));
    const auto classes = node->mutable_attr()->find("_class");
    if (classes != node->mutable_attr()->end()) {
      for (std::string& entry : *classes->second.mutable_list()->mutable_s()) {
        absl::string_view with = entry;
        if (!absl::ConsumePrefix(&with, "loc:@")) continue;
        const auto found = names_.find(with);
        entry = absl::StrCat("loc:@",
                             found != names_.end() ? found->second : absl::StrCat(prefix_, with));
      }
    }
    node->mutable_attr()->erase(
        "_output_shapes");  // what the exporter knew; rules work it out anew
    if (node->device().empty()) node->set_device(options_.default_device);
    node->set_name(names_.at(node->name()));
    return OkStatus();
  }

  StatusOr<ImportResults> Results() const {
    ImportResults results;
    for (const Name& name : options_.return_outputs) {
      const auto mapped = options_.input_map.find(name);
      const std::string& node_name =
          mapped != options_.input_map.end() ? mapped->second.first : names_.at(name.first);
      const int index = mapped != options_.input_map.end() ? mapped->second.second : name.second;
      Node* node = graph().FindNode(node_name);
      if (node == nullptr || index < 0 || index >= node->num_outputs()) {
        return InvalidArgument("Invalid return output ", name.second, " of node '", name.first,
                               "', which has ", node == nullptr ? 0 : node->num_outputs(),
                               " output(s)");
      }
      results.outputs.push_back(Output(node, index));
    }
    for (const std::string& name : options_.return_nodes) {
      results.nodes.push_back(graph().FindNode(names_.at(name)));
    }
    for (const auto& [name, taken] : options_.input_map) {
      if (used_.contains(name)) continue;
      const auto found = names_.find(name.first);
      const Node* node = found == names_.end() ? nullptr : graph().FindNode(found->second);
      if (node == nullptr || name.second >= node->num_outputs()) {
        results.missing_unused.push_back(name);
      }
    }
    return results;
  }

  const Scope& scope_;
  tensorflow::GraphDef def_;
  const ImportOptions& options_;
  std::string prefix_;                                   // "" or "a/"
  absl::flat_hash_map<std::string, std::string> names_;  // in the message -> in the graph
  absl::flat_hash_set<std::string> next_iterations_;
  std::set<Name> used_;  // of input_map
};

}  // namespace

StatusOr<ImportResults> ImportInto(const Scope& scope, tensorflow::GraphDef def,
                                   const ImportOptions& options) {
  return Importer(scope, std::move(def), options).Run();
}

}  // namespace tensorfleet::capi
