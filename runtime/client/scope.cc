#include "runtime/client/scope.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/all.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

// Stands for the scope's own name, which no op can ask for: a name does not begin with a slash.
constexpr char kItself[] = "/";

// The declared shape of the variable whose handle is the node's first input; unknown where the
// handle comes from elsewhere than this graph. Schemas cannot tell: a handle's type does not.
PartialShape ShapeOfVariable(const Node& node) {
  const Edge* edge = node.in_edge(0);
  while (edge != nullptr &&
         (edge->src->IsEnter() || edge->src->IsSwitch() || edge->src->op() == "Identity")) {
    edge = edge->src->in_edge(0);
  }
  if (edge == nullptr || edge->src->op() != "VarHandleOp") return PartialShape::Unknown();
  return GetAttr<PartialShape>(edge->src->def(), "shape").value_or(PartialShape::Unknown());
}

// The shape of what a node reads from a variable.
PartialShape ShapeOfRead(const Node& node, absl::Span<const PartialShape> inputs) {
  const PartialShape variable = ShapeOfVariable(node);
  if (node.op() == "ReadVariableOp" || !variable.has_rank()) return variable;
  // ResourceGather: a row for each index.
  PartialShape out = inputs[1];
  if (!out.has_rank() || GetAttrOr<int64_t>(node.def(), "batch_dims", 0).value_or(1) != 0) {
    return PartialShape::Unknown();
  }
  for (int i = 1; i < variable.rank(); ++i) out.AddDim(variable.dim(i));
  return out;
}

}  // namespace

struct Scope::State {
  // The graph's functions; imports replace its contents.
  const std::shared_ptr<FunctionLibrary> library = std::make_shared<FunctionLibrary>();
  Graph graph{&BuiltinOps(), library};
  Status status;
  // Names of ops and scopes so far, in lower case (TensorFlow's differ in more than case), and the
  // last suffix tried for each.
  absl::flat_hash_set<std::string> taken;
  absl::flat_hash_map<std::string, int> suffixes;
  std::vector<std::vector<PartialShape>> shapes;              // by node id
  std::vector<Tensor> constants;                              // by node id; invalid where unknown
  absl::flat_hash_map<Node*, Node*> in_place_of;              // by what was replaced
  absl::flat_hash_map<const Node*, const Node*> replaced_by;  // the other way round
  std::vector<const Node*> replaced;

  Status MoveUsers(Node* from, Node* to) {
    for (int i = 0; i < from->num_outputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(MoveOutput({from, i}, {to, i}, &graph));
    }
    MoveControlOutputs(from, to, &graph);
    return OkStatus();
  }

  // What took the place of other nodes goes out under their names, and these do not.
  void GiveNames(tensorflow::GraphDef* def) const;

  // `name`, or `name` with the first of "_1", "_2", ... that nobody has.
  std::string Unique(const std::string& name) {
    std::string candidate = name;
    for (int& suffix = suffixes[absl::AsciiStrToLower(name)]; Taken(candidate);) {
      candidate = absl::StrCat(name, "_", ++suffix);
    }
    taken.insert(absl::AsciiStrToLower(candidate));
    return candidate;
  }
  bool Taken(const std::string& name) const {
    return taken.contains(absl::AsciiStrToLower(name)) || graph.FindNode(name) != nullptr;
  }
};

void Scope::State::GiveNames(tensorflow::GraphDef* def) const {
  absl::flat_hash_map<std::string, std::string> names;
  absl::flat_hash_set<std::string> gone;
  for (const auto& [node, results] : in_place_of) {
    names[results->name()] = node->name();
    gone.insert(node->name());
  }
  const auto rename = [&](absl::string_view before, const std::string& name,
                          absl::string_view after, std::string* text) {
    if (const auto it = names.find(name); it != names.end()) {
      *text = absl::StrCat(before, it->second, after);
    }
  };
  const tensorflow::GraphDef all = std::move(*def);
  def->Clear();
  *def->mutable_versions() = all.versions();
  *def->mutable_library() = all.library();
  for (const tensorflow::NodeDef& node : all.node()) {
    if (gone.contains(node.name())) continue;
    tensorflow::NodeDef& out = *def->add_node();
    out = node;
    rename("", node.name(), "", out.mutable_name());
    for (std::string& input : *out.mutable_input()) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(input, absl::MaxSplits(':', 1));
      const bool is_control = absl::StartsWith(input, "^");
      rename(is_control ? "^" : "", parts.first.substr(is_control ? 1 : 0),
             parts.second.empty() ? "" : absl::StrCat(":", parts.second), &input);
    }
    const auto classes = out.mutable_attr()->find("_class");
    if (classes == out.mutable_attr()->end()) continue;
    for (std::string& entry : *classes->second.mutable_list()->mutable_s()) {
      if (absl::StartsWith(entry, "loc:@")) rename("loc:@", entry.substr(5), "", &entry);
    }
  }
}

Scope::Scope() : state_(std::make_shared<State>()) {}

Scope Scope::SubScope(absl::string_view name) const {
  Scope sub = *this;
  sub.prefix_ = absl::StrCat(state_->Unique(absl::StrCat(prefix_, name)), "/");
  sub.op_name_.clear();
  return sub;
}

Scope Scope::Named(absl::string_view op_name) const {
  Scope named = *this;
  named.op_name_ = std::string(op_name);
  return named;
}

Scope Scope::Itself() const { return Named(kItself); }

Scope Scope::Below(const Operation& op) const {
  Scope below = *this;
  below.op_name_.clear();
  if (op.is_valid()) {
    below.prefix_ = absl::StrCat(op.name(), "/");
  } else {
    Fail(InvalidArgument("Below was given an invalid operation"));
  }
  return below;
}

Scope Scope::OnDevice(absl::string_view device) const {
  Scope placed = *this;
  if (device.empty()) {
    placed.device_.clear();
    return placed;
  }
  const StatusOr<DeviceName> over = DeviceName::Parse(device);
  if (!over.ok()) {
    Fail(over.status());
    return placed;
  }
  DeviceName merged = DeviceName::Parse(device_).value();
  merged.OverrideWith(*over);
  placed.device_ = merged.ToString();
  return placed;
}

Scope Scope::After(absl::Span<const Operation> ops) const {
  Scope after = *this;
  for (const Operation& op : ops) {
    if (op.is_valid()) {
      after.control_inputs_.push_back(op);
    } else {
      Fail(InvalidArgument("a control input is not a valid operation"));
    }
  }
  return after;
}

Scope Scope::AfterNothing() const {
  Scope free = *this;
  free.control_inputs_.clear();
  return free;
}

Scope Scope::ColocatedWith(const Operation& op) const {
  Scope colocated = *this;
  if (!op.is_valid()) {
    Fail(InvalidArgument("ColocatedWith was given an invalid operation"));
  } else {
    colocated.colocate_with_ = op.name();
  }
  return colocated;
}

const Status& Scope::status() const { return state_->status; }

void Scope::Fail(const Status& status) const {
  if (state_->status.ok()) state_->status = status;
}

const Graph& Scope::graph() const { return state_->graph; }

StatusOr<tensorflow::GraphDef> Scope::ToGraphDef() const {
  TFLEET_RETURN_IF_ERROR(state_->status);
  tensorflow::GraphDef def;
  ExportGraphDef(state_->graph, {}, &def);
  if (!state_->replaced.empty()) state_->GiveNames(&def);
  return def;
}

Status Scope::Import(const tensorflow::GraphDef& def) const {
  // Nodes may call the functions that come with them.
  const FunctionLibrary before = *state_->library;
  TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionLibrary> grown,
                          before.With(def.library()));
  *state_->library = *grown;
  const int first = state_->graph.num_node_ids();
  if (Status status = ImportGraphDef(def, {}, &state_->graph); !status.ok()) {
    *state_->library = before;
    return status;
  }
  // They name what was replaced as ever.
  for (const auto& [node, results] : state_->in_place_of) {
    TFLEET_RETURN_IF_ERROR(state_->MoveUsers(node, results));
  }
  const Status inferred = InferShapesFrom(first);
  if (!inferred.ok()) {
    for (int id = first; id < state_->graph.num_node_ids(); ++id) {
      if (Node* node = state_->graph.node(id); node != nullptr) state_->graph.RemoveNode(node);
    }
    *state_->library = before;
  }
  return inferred;
}

Status Scope::InferShapesFrom(int first) const {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(state_->graph));
  for (Node* node : order) {
    if (node->id() >= first) TFLEET_RETURN_IF_ERROR(InferShape(node));
  }
  return OkStatus();
}

StatusOr<Output> Scope::FindOutput(absl::string_view name) const {
  TFLEET_ASSIGN_OR_RETURN(const TensorName parsed, ParseTensorName(name));
  Node* node = state_->graph.FindNode(parsed.node);
  if (node == nullptr || parsed.index < 0 || parsed.index >= node->num_outputs()) {
    return NotFound("the graph has no tensor '", name, "'");
  }
  return Output(node, parsed.index);
}

PartialShape Scope::ShapeOf(const Output& output) const {
  if (!output.is_valid()) return PartialShape::Unknown();
  const Output current = Current(output);
  return state_->shapes[current.node()->id()][current.index()];
}

Status Scope::Edit(absl::FunctionRef<Status(Graph*)> edit) const {
  TFLEET_RETURN_IF_ERROR(status());
  const int first = state_->graph.num_node_ids();
  TFLEET_RETURN_IF_ERROR(edit(&state_->graph));
  return InferShapesFrom(first);
}

Status Scope::Replace(Node* node, Node* results) const {
  if (node->output_types() != results->output_types()) {
    return InvalidArgument("'", results->name(), "' cannot replace '", node->name(),
                           "', which has other outputs");
  }
  TFLEET_RETURN_IF_ERROR(state_->MoveUsers(node, results));
  state_->in_place_of[node] = results;
  state_->replaced_by[results] = node;
  state_->replaced.push_back(node);
  return OkStatus();
}

Output Scope::Current(const Output& output) const {
  const auto it = state_->in_place_of.find(output.node());
  return it == state_->in_place_of.end() ? output : Output(it->second, output.index());
}

const Node* Scope::ReplacedBy(const Node* results) const {
  const auto it = state_->replaced_by.find(results);
  return it == state_->replaced_by.end() ? nullptr : it->second;
}

const std::vector<const Node*>& Scope::replaced() const { return state_->replaced; }

std::string Scope::NextName(absl::string_view op) const {
  if (op_name_ == kItself && !prefix_.empty()) {
    const std::string name = prefix_.substr(0, prefix_.size() - 1);
    // The scope took the name already; only another node is in the way.
    return state_->graph.FindNode(name) == nullptr ? name : state_->Unique(name);
  }
  return state_->Unique(absl::StrCat(prefix_, op_name_.empty() ? op : absl::string_view(op_name_)));
}

Status Scope::InferShape(Node* node) const {
  State& state = *state_;
  state.shapes.resize(state.graph.num_node_ids());
  state.constants.resize(state.graph.num_node_ids());
  std::vector<PartialShape> inputs(node->num_inputs());
  std::vector<const Tensor*> values(node->num_inputs(), nullptr);
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Edge* edge = node->in_edge(i);
    if (edge == nullptr || state.shapes[edge->src->id()].empty()) continue;
    inputs[i] = state.shapes[edge->src->id()][edge->src_output];
    if (state.constants[edge->src->id()].is_valid()) values[i] = &state.constants[edge->src->id()];
  }
  ShapeContext ctx(*node, inputs, std::move(values));
  Status status;
  if (node->schema().shape_fn != nullptr) status = node->schema().shape_fn(ctx);
  if (node->op() == "ReadVariableOp" || node->op() == "ResourceGather") {
    ctx.set_output(0, ShapeOfRead(*node, inputs));
  }
  state.shapes[node->id()] = ctx.outputs();
  if (node->IsConstant()) {
    const StatusOr<Tensor> value = GetAttr<Tensor>(node->def(), "value");
    if (value.ok()) {
      state.shapes[node->id()][0] = value->shape();
      state.constants[node->id()] = *value;
    }
  }
  return WithNode(status, node->name());
}

Node* Scope::AddOp(absl::string_view op, absl::Span<const Output> inputs,
                   absl::FunctionRef<void(tensorflow::NodeDef*)> set_attrs) const {
  if (!status().ok()) return nullptr;
  tensorflow::NodeDef def;
  def.set_name(NextName(op));
  def.set_op(std::string(op));
  def.set_device(device_);
  set_attrs(&def);
  if (!colocate_with_.empty()) {
    const std::string group = absl::StrCat("loc:@", colocate_with_);
    SetAttr(&def, "_class", absl::MakeConstSpan(&group, 1));
  }
  std::vector<Operation> control_inputs;
  for (const Operation& control : control_inputs_) {
    control_inputs.push_back(Current(Output(control.node(), 0)).op());
  }
  const StatusOr<Node*> added = AddExactly(std::move(def), inputs, control_inputs);
  Fail(added.status());
  return added.ok() ? *added : nullptr;
}

StatusOr<Node*> Scope::AddExactly(tensorflow::NodeDef def, absl::Span<const Output> inputs,
                                  absl::Span<const Operation> control_inputs) const {
  TFLEET_RETURN_IF_ERROR(status());
  Graph& graph = state_->graph;
  TFLEET_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(def)));
  const Status connected = [&]() -> Status {
    if (static_cast<int>(inputs.size()) != node->num_inputs()) {
      return InvalidArgument("op ", node->op(), " (node '", node->name(), "') takes ",
                             node->num_inputs(), " inputs; it was given ", inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_valid()) {
        return InvalidArgument("input ", i, " of node '", node->name(), "' is not a valid output");
      }
      const Output from = Current(inputs[i]);
      TFLEET_RETURN_IF_ERROR(
          graph.AddEdge(from.node(), from.index(), node, static_cast<int>(i)).status());
    }
    for (const Operation& control : control_inputs) graph.AddControlEdge(control.node(), node);
    return InferShape(node);
  }();
  if (!connected.ok()) {
    graph.RemoveNode(node);
    return connected;
  }
  return node;
}

Status Scope::RefineShape(const Output& output, const PartialShape& shape) const {
  if (!output.is_valid()) return InvalidArgument("a shape was given to an invalid output");
  const Output current = Current(output);
  PartialShape& known = state_->shapes[current.node()->id()][current.index()];
  TFLEET_ASSIGN_OR_RETURN(known, known.MergedWith(shape));
  return OkStatus();
}

Output Scope::OpenLoop(const Output& initial) const {
  // Both inputs are the same until the loop is closed.
  Node* merge = AddOp("Merge", {initial, initial}, [&](tensorflow::NodeDef* def) {
    SetAttr(def, "T", initial.dtype());
    SetAttr(def, "N", int64_t{2});
  });
  if (merge == nullptr) return Output();
  state_->shapes[merge->id()][0] = PartialShape::Unknown();
  return Output(merge, 0);
}

void Scope::CloseLoop(const Output& merge, const Output& next) const {
  if (!status().ok()) return;
  Fail(state_->graph.ReplaceInput(merge.node(), 1, next.node(), next.index()));
}

void Scope::AddControlDependency(const Operation& before, const Operation& after) const {
  if (!status().ok()) return;
  if (!before.is_valid() || !after.is_valid()) {
    Fail(InvalidArgument("AddControlDependency was given an invalid operation"));
    return;
  }
  state_->graph.AddControlEdge(Current(Output(before.node(), 0)).node(), after.node());
}

Output Const(const Scope& scope, const Tensor& value) {
  return Output(scope.AddOp("Const", {},
                            [&](tensorflow::NodeDef* def) {
                              SetAttr(def, "value", value);
                              SetAttr(def, "dtype", value.dtype());
                            }),
                0);
}

Operation Group(const Scope& scope, absl::Span<const Operation> ops) {
  return Operation(scope.After(ops).AddOp("NoOp", {}, [](tensorflow::NodeDef*) {}));
}

}  // namespace tensorfleet
