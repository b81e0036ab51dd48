#include "runtime/graph/function_library.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

using AttrValues = google::protobuf::Map<std::string, tensorflow::AttrValue>;

// Where the values of a function's body come from, by the name that its nodes use.
struct Endpoint {
  Node* node = nullptr;
  int output = 0;
};

// Builds one body: `_Arg` nodes, the function's nodes with placeholders filled in, `_Retval` nodes.
class BodyBuilder {
 public:
  BodyBuilder(const OpRegistry& ops, std::shared_ptr<const FunctionLibrary> library,
              const tensorflow::FunctionDef& def, const AttrValues& attrs)
      : def_(def), attrs_(attrs) {
    body_.graph = std::make_unique<Graph>(&ops, std::move(library));
  }

  StatusOr<FunctionBody> Build() {
    TFLEET_ASSIGN_OR_RETURN(signature_, OpSchemaFromProto(def_.signature()));
    TFLEET_RETURN_IF_ERROR(AddArgs());
    TFLEET_RETURN_IF_ERROR(AddNodes());
    TFLEET_RETURN_IF_ERROR(ConnectNodes());
    TFLEET_RETURN_IF_ERROR(AddReturns());
    for (const auto& [output, node_name] : def_.control_ret()) {
      Node* node = FindBodyNode(node_name);
      if (node == nullptr) {
        return InvalidArgument("control output '", output, "' names no node: '", node_name, "'");
      }
      body_.control_returns.push_back(node);
    }
    TFLEET_RETURN_IF_ERROR(TopologicalOrder(*body_.graph).status());
    return std::move(body_);
  }

 private:
  // The signature's attributes as a node, so that the readers of attr.h find types and counts.
  tensorflow::NodeDef AttrsAsNode() const {
    tensorflow::NodeDef node;
    node.set_name(def_.signature().name());
    node.set_op(def_.signature().name());
    *node.mutable_attr() = attrs_;
    return node;
  }

  Status AddArgs() {
    const tensorflow::NodeDef call = AttrsAsNode();
    TFLEET_ASSIGN_OR_RETURN(const NodeTypes types, TypesOf(signature_, call));
    for (const ArgSpec& arg : signature_.inputs) {
      TFLEET_ASSIGN_OR_RETURN(const ArgRange range, InputRange(signature_, call, arg.name));
      std::vector<Endpoint>& values = args_[arg.name];
      for (int i = range.begin; i < range.end; ++i) {
        tensorflow::NodeDef node;
        node.set_name(body_.graph->UniqueName(range.end - range.begin == 1
                                                  ? arg.name
                                                  : absl::StrCat(arg.name, "_", i - range.begin)));
        node.set_op("_Arg");
        SetAttr(&node, "T", BaseType(types.inputs[i]));
        SetAttr(&node, "index", i);
        const auto it = def_.arg_attr().find(i);
        if (it != def_.arg_attr().end()) {
          for (const auto& [name, value] : it->second.attr()) (*node.mutable_attr())[name] = value;
        }
        TFLEET_ASSIGN_OR_RETURN(Node * added, body_.graph->AddNode(std::move(node)));
        body_.args.push_back(added);
        values.push_back({added, 0});
      }
    }
    return OkStatus();
  }

  Status Substitute(tensorflow::NodeDef* node) const {
    for (auto& [name, value] : *node->mutable_attr()) {
      if (value.value_case() != tensorflow::AttrValue::kPlaceholder) continue;
      const auto it = attrs_.find(value.placeholder());
      if (it == attrs_.end()) {
        return InvalidArgument("attr '", name, "' of node '", node->name(), "' stands for '",
                               value.placeholder(), "', which the call does not give");
      }
      value = tensorflow::AttrValue(it->second);
    }
    return OkStatus();
  }

  Status AddNodes() {
    for (const tensorflow::NodeDef& node_def : def_.node_def()) {
      if (args_.contains(node_def.name()) || nodes_.contains(node_def.name())) {
        return InvalidArgument("two nodes or arguments are named '", node_def.name(), "'");
      }
      tensorflow::NodeDef copy = node_def;
      TFLEET_RETURN_IF_ERROR(Substitute(&copy));
      // An argument that is a list may have taken the name.
      copy.set_name(body_.graph->UniqueName(node_def.name()));
      TFLEET_ASSIGN_OR_RETURN(Node * node, body_.graph->AddNode(std::move(copy)));
      nodes_.emplace(node_def.name(), node);
    }
    return OkStatus();
  }

  // "arg", "arg:1", "node:output", "node:output:1".
  StatusOr<std::vector<Endpoint>> Resolve(absl::string_view text) const {
    const std::vector<std::string> parts = absl::StrSplit(text, ':');
    if (const auto arg = args_.find(parts[0]); arg != args_.end()) {
      if (parts.size() == 1) return arg->second;
      size_t index = 0;
      if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &index) && index < arg->second.size()) {
        return std::vector<Endpoint>{arg->second[index]};
      }
      return InvalidArgument("'", text, "' names no argument");
    }
    const auto it = nodes_.find(parts[0]);
    if (it == nodes_.end()) return InvalidArgument("'", text, "' names no node");
    Node* node = it->second;
    ArgRange range{0, 1};
    if (parts.size() >= 2) {
      TFLEET_ASSIGN_OR_RETURN(range, OutputRange(node->schema(), node->def(), parts[1]));
    }
    if (parts.size() == 3) {
      int index = 0;
      if (!absl::SimpleAtoi(parts[2], &index) || index < 0 || index >= range.end - range.begin) {
        return InvalidArgument("'", text, "' names no output");
      }
      range = {range.begin + index, range.begin + index + 1};
    }
    if (parts.size() > 3 || range.end > node->num_outputs()) {
      return InvalidArgument("'", text, "' names no output");
    }
    std::vector<Endpoint> out;
    for (int i = range.begin; i < range.end; ++i) out.push_back({node, i});
    return out;
  }

  Node* FindBodyNode(const std::string& name) const {
    const auto it = nodes_.find(name);
    if (it != nodes_.end()) return it->second;
    const auto arg = args_.find(name);
    return arg != args_.end() && !arg->second.empty() ? arg->second[0].node : nullptr;
  }

  Status ConnectNodes() {
    for (const tensorflow::NodeDef& node_def : def_.node_def()) {
      Node* node = nodes_.at(node_def.name());
      int next = 0;
      for (const std::string& input : node_def.input()) {
        if (!input.empty() && input[0] == '^') {
          Node* src = FindBodyNode(input.substr(1));
          if (src == nullptr) {
            return InvalidArgument("node '", node->name(), "': Unknown input node '", input, "'");
          }
          body_.graph->AddControlEdge(src, node);
          continue;
        }
        StatusOr<std::vector<Endpoint>> sources = Resolve(input);
        if (!sources.ok()) {
          return Prefixed(absl::StrCat("node '", node->name(), "': "), sources.status());
        }
        for (const Endpoint& source : *sources) {
          TFLEET_RETURN_IF_ERROR(
              body_.graph->AddEdge(source.node, source.output, node, next++).status());
        }
      }
      if (next != node->num_inputs()) {
        return InvalidArgument("node '", node->name(), "' has ", node->num_inputs(), " inputs; ",
                               next, " are connected");
      }
    }
    return OkStatus();
  }

  Status AddReturns() {
    int index = 0;
    for (const ArgSpec& output : signature_.outputs) {
      const auto it = def_.ret().find(output.name);
      if (it == def_.ret().end()) {
        return InvalidArgument("output '", output.name, "' is not returned");
      }
      TFLEET_ASSIGN_OR_RETURN(const std::vector<Endpoint> sources, Resolve(it->second));
      for (const Endpoint& source : sources) {
        tensorflow::NodeDef node;
        node.set_name(body_.graph->UniqueName(absl::StrCat(output.name, "_RetVal")));
        node.set_op("_Retval");
        SetAttr(&node, "T", BaseType(source.node->output_type(source.output)));
        SetAttr(&node, "index", index++);
        TFLEET_ASSIGN_OR_RETURN(Node * added, body_.graph->AddNode(std::move(node)));
        TFLEET_RETURN_IF_ERROR(body_.graph->AddEdge(source.node, source.output, added, 0).status());
        body_.returns.push_back(added);
      }
    }
    return OkStatus();
  }

  const tensorflow::FunctionDef& def_;
  const AttrValues& attrs_;
  OpSchema signature_;
  FunctionBody body_;
  absl::flat_hash_map<std::string, std::vector<Endpoint>> args_;
  absl::flat_hash_map<std::string, Node*> nodes_;
};

}  // namespace

StatusOr<std::shared_ptr<const FunctionLibrary>> FunctionLibrary::FromProto(
    const tensorflow::FunctionDefLibrary& proto) {
  return FunctionLibrary().With(proto);
}

StatusOr<std::shared_ptr<const FunctionLibrary>> FunctionLibrary::With(
    const tensorflow::FunctionDefLibrary& more) const {
  auto library = std::make_shared<FunctionLibrary>(*this);
  for (const tensorflow::FunctionDef& def : more.function()) {
    const std::string& name = def.signature().name();
    if (name.empty()) return InvalidArgument("a function of the library has no name");
    if (const tensorflow::FunctionDef* present = library->Find(name); present != nullptr) {
      if (present->SerializeAsString() == def.SerializeAsString()) continue;
      // Maps serialize in any order: compare the parts whose order is fixed before calling it a
      // conflict.
      if (present->node_def_size() == def.node_def_size() &&
          present->ByteSizeLong() == def.ByteSizeLong()) {
        continue;
      }
      return InvalidArgument("Cannot add function '", name,
                             "' because a different function with the same name already exists.");
    }
    StatusOr<OpSchema> schema = OpSchemaFromProto(def.signature());
    if (!schema.ok()) return Prefixed(absl::StrCat("function '", name, "': "), schema.status());
    library->by_name_[name] = {library->proto_.function_size(),
                               std::make_shared<const OpSchema>(*std::move(schema))};
    *library->proto_.add_function() = def;
  }
  for (const auto& gradient : more.gradient()) {
    if (library->Gradient(gradient.function_name()).empty()) {
      *library->proto_.add_gradient() = gradient;
    }
  }
  return std::shared_ptr<const FunctionLibrary>(std::move(library));
}

const tensorflow::FunctionDef* FunctionLibrary::Find(absl::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &proto_.function(it->second.index);
}

std::shared_ptr<const OpSchema> FunctionLibrary::Schema(absl::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second.schema;
}

std::string FunctionLibrary::Gradient(absl::string_view name) const {
  for (const auto& gradient : proto_.gradient()) {
    if (gradient.function_name() == name) return gradient.gradient_func();
  }
  return "";
}

StatusOr<FunctionBody> InstantiateFunction(const OpRegistry& ops,
                                           std::shared_ptr<const FunctionLibrary> library,
                                           absl::string_view name, const AttrValues& attrs) {
  const tensorflow::FunctionDef* def = library == nullptr ? nullptr : library->Find(name);
  if (def == nullptr) return NotFound("Function ", name, " is not defined.");
  StatusOr<FunctionBody> body = BodyBuilder(ops, library, *def, attrs).Build();
  if (!body.ok()) return Prefixed(absl::StrCat("function '", name, "': "), body.status());
  return body;
}

}  // namespace tensorfleet
