#include "runtime/capi/graph_to_function.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"

namespace tensorfleet::capi {
namespace {

using Endpoint = std::pair<const Node*, int>;

// A name for an argument: lower case, beginning with a letter.
std::string ArgumentName(absl::string_view name) {
  while (!name.empty() && !absl::ascii_isalpha(name[0])) name.remove_prefix(1);
  std::string normal(name.empty() ? "unknown" : name);
  for (char& c : normal) c = absl::ascii_isalnum(c) ? absl::ascii_tolower(c) : '_';
  return normal;
}

class UniqueNames {
 public:
  std::string Take(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 0; !taken_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
    return name;
  }
  bool Has(const std::string& name) const { return taken_.contains(name); }

 private:
  absl::flat_hash_set<std::string> taken_;
};

// The same on every machine and in every version.
uint64_t HashOf(const tensorflow::FunctionDef& def) {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](absl::string_view bytes) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  };
  add(def.signature().SerializeAsString());
  for (const tensorflow::NodeDef& node : def.node_def()) {
    add(node.name());
    add(node.op());
    for (const std::string& input : node.input()) add(input);
    // Maps are serialized in any order.
    const std::map<std::string, tensorflow::AttrValue> attrs(node.attr().begin(),
                                                             node.attr().end());
    for (const auto& [name, value] : attrs) {
      add(name);
      add(value.SerializeAsString());
    }
  }
  const std::map<std::string, std::string> returned(def.ret().begin(), def.ret().end());
  for (const auto& [name, value] : returned) {
    add(name);
    add(value);
  }
  return hash;
}

class FunctionMaker {
 public:
  FunctionMaker(const Graph& graph, const FunctionSpec& spec) : graph_(graph), spec_(spec) {}

  StatusOr<tensorflow::FunctionDef> Run() {
    def_.mutable_signature()->set_name(spec_.name);
    def_.mutable_signature()->set_description(spec_.description);
    TFLEET_RETURN_IF_ERROR(AddInputs());
    TFLEET_RETURN_IF_ERROR(NameOutputs());
    TFLEET_ASSIGN_OR_RETURN(const std::vector<const Node*> body, Body());
    for (const Node* node : body) node_names_[node] = names_.Take(node->name());
    for (const Node* node : body) TFLEET_RETURN_IF_ERROR(AddNode(*node));
    TFLEET_RETURN_IF_ERROR(ReturnOutputs());
    TFLEET_RETURN_IF_ERROR(AddControlOutputs());
    if (spec_.append_hash) {
      def_.mutable_signature()->set_name(absl::StrCat(spec_.name, "_", absl::Hex(HashOf(def_))));
    }
    // What is wrong with the name or the signature is said here.
    tensorflow::FunctionDefLibrary library;
    *library.add_function() = def_;
    TFLEET_RETURN_IF_ERROR(FunctionLibrary::FromProto(library).status());
    return std::move(def_);
  }

 private:
  static Status CheckType(const Output& output, const char* role) {
    if (!IsRef(output.node()->output_type(output.index()))) return OkStatus();
    return InvalidArgument(role, " '", output.name(), "' is a reference: functions take values");
  }

  Status AddInputs() {
    for (const Output& input : spec_.inputs) {
      TFLEET_RETURN_IF_ERROR(CheckType(input, "input"));
      const std::string name = names_.Take(ArgumentName(input.node()->name()));
      if (!inputs_.emplace(Endpoint(input.node(), input.index()), name).second) {
        return InvalidArgument("TF_Output ", input.name(), " appears more than once in the inputs");
      }
      if (!spec_.body.has_value() && input.node()->num_outputs() != 1) {
        return InvalidArgument("When `num_opers` is set to -1, nodes referenced in `inputs` must ",
                               "have a single output. Node ", input.node()->name(), " has ",
                               input.node()->num_outputs(), " outputs.");
      }
      auto& arg = *def_.mutable_signature()->add_input_arg();
      arg.set_name(name);
      arg.set_type(static_cast<tensorflow::DataType>(input.dtype()));
    }
    return OkStatus();
  }

  // In an order in which inputs come first.
  StatusOr<std::vector<const Node*>> Body() const {
    absl::flat_hash_set<const Node*> left_out, kept;
    if (spec_.body.has_value()) {
      for (const Operation& operation : *spec_.body) kept.insert(operation.node());
    } else {
      for (const Output& input : spec_.inputs) left_out.insert(input.node());
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph_));
    std::vector<const Node*> body;
    for (const Node* node : order) {
      if (spec_.body.has_value() ? kept.contains(node) : !left_out.contains(node)) {
        body.push_back(node);
      }
    }
    return body;
  }

  // How the function's nodes name an output: "arg", or "node:output:1".
  StatusOr<std::string> PlaceOf(const Node& node, int output) const {
    if (const auto input = inputs_.find({&node, output}); input != inputs_.end()) {
      return input->second;
    }
    const auto found = node_names_.find(&node);
    if (found == node_names_.end()) {
      return InvalidArgument("'", node.name(), ":", output, "' is not available in function '",
                             spec_.name, "'. Either add it to the inputs or its operation to the ",
                             "body");
    }
    for (const ArgSpec& arg : node.schema().outputs) {
      TFLEET_ASSIGN_OR_RETURN(const ArgRange range,
                              OutputRange(node.schema(), node.def(), arg.name));
      if (output >= range.begin && output < range.end) {
        return absl::StrCat(found->second, ":", arg.name, ":", output - range.begin);
      }
    }
    return Internal("no output argument of '", node.name(), "' holds output ", output);
  }

  Status AddNode(const Node& node) {
    tensorflow::NodeDef& def = *def_.add_node_def();
    def = node.def();
    def.set_name(node_names_.at(&node));
    def.clear_input();
    if (node.schema().is_stateful) def_.mutable_signature()->set_is_stateful(true);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.in_edge(i);
      if (edge == nullptr) {
        return InvalidArgument("input ", i, " of node '", node.name(), "' is not connected");
      }
      TFLEET_ASSIGN_OR_RETURN(*def.add_input(), PlaceOf(*edge->src, edge->src_output));
    }
    std::vector<std::string> controls;
    for (const Edge* edge : node.in_edges()) {
      if (!edge->is_control()) continue;
      const auto found = node_names_.find(edge->src);
      if (found == node_names_.end()) {
        return InvalidArgument("The source of control edge ", edge->src->name(), " -> ",
                               node.name(), " is not in the body of function '", spec_.name, "'");
      }
      controls.push_back("^" + found->second);
    }
    std::sort(controls.begin(), controls.end());
    for (std::string& control : controls) def.add_input(std::move(control));
    RenameClasses(&def);
    return AddPlaceholders(node);
  }

  // What the node is colocated with, as far as it is in the body.
  void RenameClasses(tensorflow::NodeDef* def) const {
    const auto classes = def->mutable_attr()->find("_class");
    if (classes == def->mutable_attr()->end()) return;
    tensorflow::AttrValue kept;
    kept.mutable_list();
    for (const std::string& entry : classes->second.list().s()) {
      absl::string_view name = entry;
      if (!absl::ConsumePrefix(&name, "loc:@")) {
        kept.mutable_list()->add_s(entry);
        continue;
      }
      const Node* node = graph_.FindNode(name);
      const auto found = node_names_.find(node);
      if (found != node_names_.end()) {
        kept.mutable_list()->add_s(absl::StrCat("loc:@", found->second));
      }
    }
    if (kept.list().s().empty()) {
      def->mutable_attr()->erase("_class");
    } else {
      classes->second = kept;
    }
  }

  // Attributes that the function's caller gives become attributes of the function.
  Status AddPlaceholders(const Node& node) {
    for (const auto& given : node.def().attr()) {
      const tensorflow::AttrValue& value = given.second;
      if (value.value_case() != tensorflow::AttrValue::kPlaceholder) continue;
      const AttrSpec* spec = node.schema().FindAttr(given.first);
      const auto& attrs = def_.signature().attr();
      const bool is_known = std::any_of(attrs.begin(), attrs.end(), [&](const auto& attr) {
        return attr.name() == value.placeholder();
      });
      if (spec == nullptr || is_known) continue;
      auto& attr = *def_.mutable_signature()->add_attr();
      attr.set_name(value.placeholder());
      attr.set_type(spec->kind);
    }
    return OkStatus();
  }

  // Before the nodes, which give way to names of outputs as to those of inputs.
  Status NameOutputs() {
    UniqueNames given;
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      const Output& output = spec_.outputs[i];
      TFLEET_RETURN_IF_ERROR(CheckType(output, "output"));
      std::string name;
      if (spec_.output_names.empty()) {
        name = names_.Take(ArgumentName(output.node()->name()));
      } else {
        name = spec_.output_names[i];
        if (given.Has(name)) {
          return InvalidArgument("Cannot have duplicate output names. Name '", name,
                                 "' appears more than once in 'output_names' array.");
        }
        given.Take(name);
      }
      auto& arg = *def_.mutable_signature()->add_output_arg();
      arg.set_name(name);
      arg.set_type(static_cast<tensorflow::DataType>(output.dtype()));
    }
    return OkStatus();
  }

  Status ReturnOutputs() {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      const Output& output = spec_.outputs[i];
      const std::string& name = def_.signature().output_arg(static_cast<int>(i)).name();
      TFLEET_ASSIGN_OR_RETURN((*def_.mutable_ret())[name], PlaceOf(*output.node(), output.index()));
    }
    return OkStatus();
  }

  Status AddControlOutputs() {
    UniqueNames taken;
    for (size_t i = 0; i < spec_.control_outputs.size(); ++i) {
      const Node* node = spec_.control_outputs[i].node();
      const auto found = node_names_.find(node);
      if (found == node_names_.end()) {
        return InvalidArgument("control output '", node->name(),
                               "' is not in the body of function '", spec_.name, "'");
      }
      const std::string& wanted =
          spec_.control_output_names.empty() ? node->name() : spec_.control_output_names[i];
      if (taken.Has(wanted)) {
        return InvalidArgument("Repeated control output name: ", wanted);
      }
      taken.Take(wanted);
      def_.mutable_signature()->add_control_output(wanted);
      (*def_.mutable_control_ret())[wanted] = found->second;
    }
    return OkStatus();
  }

  const Graph& graph_;
  const FunctionSpec& spec_;
  tensorflow::FunctionDef def_;
  UniqueNames names_;  // of inputs, outputs and nodes
  absl::flat_hash_map<Endpoint, std::string> inputs_;
  absl::flat_hash_map<const Node*, std::string> node_names_;
};

}  // namespace

StatusOr<tensorflow::FunctionDef> GraphToFunction(const Graph& graph, const FunctionSpec& spec) {
  return FunctionMaker(graph, spec).Run();
}

}  // namespace tensorfleet::capi
