#include "runtime/train/checkpoint/save_graph.h"

#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/tensor.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {
namespace {

using tensorflow::NodeDef;

constexpr char kPrefix[] = "fleet_snapshot/";
constexpr int kFirstTensor = 3;  // of SaveV2: prefix, names and slices come before

std::string Control(absl::string_view node) { return absl::StrCat("^", node); }

// What one device holds of a checkpoint.
struct Part {
  std::vector<std::string> names, slices, tensors;
  std::vector<DType> dtypes;
};

class SaveGraphBuilder {
 public:
  explicit SaveGraphBuilder(tensorflow::GraphDef* graph) : graph_(*graph), build_(kPrefix, graph) {
    for (int i = 0; i < graph->node_size(); ++i) index_[graph->node(i).name()] = i;
  }

  StatusOr<std::optional<SaveGraph>> Run(const tensorflow::SaverDef& saver,
                                         const std::vector<std::string>& train_ops,
                                         const std::string& global_step_node,
                                         const std::string& stem) {
    TFLEET_ASSIGN_OR_RETURN(const bool is_understood, FindParts(saver));
    if (!is_understood || !CanBeReadAnew()) return std::optional<SaveGraph>();
    const NodeDef* const step = Find(global_step_node);
    if (step == nullptr) return std::optional<SaveGraph>();

    SaveGraph out;
    out.stem = stem;
    FindTrained(train_ops);
    TFLEET_ASSIGN_OR_RETURN(out.global_step, AddGlobalStep(*step));

    for (const auto& [device, part] : parts_) AddPart(part, device, &out);
    return std::optional(std::move(out));
  }

 private:
  const NodeDef* Find(absl::string_view tensor) const {
    const auto it = index_.find(NodeOf(tensor));
    return it == index_.end() ? nullptr : &graph_.node(it->second);
  }

  // False when the node is no constant of strings.
  bool Strings(const std::string& tensor, std::vector<std::string>* out) const {
    const NodeDef* node = Find(tensor);
    if (node == nullptr || node->op() != "Const") return false;
    const StatusOr<Tensor> value = GetAttr<Tensor>(*node, "value");
    if (!value.ok() || value->dtype() != DType::kString) return false;
    out->assign(value->values<std::string>().begin(), value->values<std::string>().end());
    return true;
  }

  // What is saved, by device. False when that cannot be told.
  StatusOr<bool> FindParts(const tensorflow::SaverDef& saver) {
    const auto behind = NodesBehind(graph_, {saver.save_tensor_name()});
    for (const NodeDef& node : graph_.node()) {
      const std::string& name = node.name();
      if (!behind.contains(name)) continue;
      if (node.op() == "Save" || node.op() == "SaveSlices") return false;
      if (node.op() != "SaveV2") continue;
      TFLEET_ASSIGN_OR_RETURN(const auto dtypes, GetAttr<std::vector<DType>>(node, "dtypes"));
      const size_t count = dtypes.size();
      for (size_t k = 0; k < count + kFirstTensor; ++k) {
        if (static_cast<int>(k) < node.input_size() && !absl::StartsWith(node.input(k), "^"))
          continue;
        return InvalidArgument("node '", name, "' saves ", count, " tensors but has fewer inputs");
      }
      std::vector<std::string> names, slices;
      if (!Strings(node.input(1), &names) || !Strings(node.input(2), &slices)) return false;
      if (names.size() != count || slices.size() != count) {
        return InvalidArgument("node '", name, "' saves ", count, " tensors under ", names.size(),
                               " names, with ", slices.size(), " slices");
      }
      for (size_t k = 0; k < count; ++k) {
        const std::string& tensor = node.input(static_cast<int>(k) + kFirstTensor);
        const NodeDef* from = Find(tensor);
        if (from == nullptr) return false;
        Part& part = parts_[from->device()];
        part.names.push_back(names[k]);
        part.slices.push_back(slices[k]);
        part.tensors.push_back(tensor);
        part.dtypes.push_back(dtypes[k]);
      }
    }
    return !parts_.empty();
  }

  // The nodes of loops cannot be copied one by one, and training steps do not feed what savers may.
  bool CanBeReadAnew() const {
    for (const auto& [device, part] : parts_) {
      for (const std::string& name : NodesBehind(graph_, part.tensors)) {
        const std::string& op = Find(name)->op();
        if (op == "NextIteration" || op == "Placeholder" || op == "PlaceholderV2") return false;
      }
    }
    return true;
  }

  // The ops that end a training step: the train ops, or what those of them that do nothing but wait
  // wait for. On each device one node stands for them, so that one message goes from it to others.
  void FindTrained(const std::vector<std::string>& train_ops) {
    std::map<std::string, std::vector<std::string>> ops;  // by device
    absl::flat_hash_set<std::string> seen;
    std::vector<std::string> todo = train_ops;
    while (!todo.empty()) {
      const std::string name = NodeOf(todo.back());
      todo.pop_back();
      const NodeDef* node = Find(name);
      if (node == nullptr || !seen.insert(name).second) continue;
      if (node->op() == "NoOp") {
        todo.insert(todo.end(), node->input().begin(), node->input().end());
      } else {
        ops[node->device()].push_back(Control(name));
      }
    }
    for (const auto& [device, names] : ops) {
      const std::string name = absl::StrCat("trained_", trained_.size());
      trained_.push_back(Control(build_.Add(name, "NoOp", device, names)->name()));
    }
  }

  // A control input for a node on `device` that is to wait for the train ops.
  const std::string& After(const std::string& device) {
    std::string& after = after_[device];
    if (after.empty()) {
      const std::string name = absl::StrCat("after_", after_.size() - 1);
      after = Control(build_.Add(name, "NoOp", device, trained_)->name());
    }
    return after;
  }

  // The tensor once the train ops have run: whatever reads state for it reads it anew. What has no
  // inputs is no reading: a variable, a handle, a constant.
  std::string ReadAnew(const std::string& tensor) {
    const std::string name = NodeOf(tensor), output = tensor.substr(name.size());
    const NodeDef* const from = Find(name);
    if (from == nullptr || from->input().empty()) return tensor;
    if (const auto made = anew_.find(name); made != anew_.end()) {
      return absl::StrCat(made->second, output);
    }
    NodeDef copy = *from;
    std::vector<std::string> inputs;
    for (const std::string& input : copy.input()) {
      if (!absl::StartsWith(input, "^")) inputs.push_back(ReadAnew(input));
    }
    inputs.push_back(After(copy.device()));
    copy.mutable_input()->Assign(inputs.begin(), inputs.end());
    copy.mutable_attr()->erase("_class");  // its device says it all
    copy.set_name(absl::StrCat(kPrefix, "read/", name));
    *graph_.add_node() = copy;
    anew_[name] = copy.name();
    return absl::StrCat(copy.name(), output);
  }

  StatusOr<std::string> AddGlobalStep(const NodeDef& variable) {
    TFLEET_ASSIGN_OR_RETURN(const DType dtype, GetAttr<DType>(variable, "dtype"));
    const bool is_resource = variable.op() == "VarHandleOp";
    const std::string device = variable.device(), name = variable.name();
    const std::string& after = After(device);
    NodeDef* read = build_.Add("global_step", is_resource ? "ReadVariableOp" : "Identity", device,
                               {name, after});
    SetAttr(read, is_resource ? "dtype" : "T", dtype);
    return absl::StrCat(read->name(), ":0");
  }

  void AddPart(const Part& part, const std::string& device, SaveGraph* out) {
    const size_t i = out->parts.size();
    const auto named = [i](const char* name) { return absl::StrCat("part_", i, "/", name); };
    const std::string stem =
        build_.Const(named("stem"), device, Tensor::Scalar(absl::StrCat(out->stem, "-", i)));
    std::vector<std::string> inputs = {
        stem, build_.Const(named("names"), device, Tensor::Vector<std::string>(part.names)),
        build_.Const(named("slices"), device, Tensor::Vector<std::string>(part.slices))};
    for (const std::string& tensor : part.tensors) inputs.push_back(ReadAnew(tensor));
    inputs.push_back(After(device));
    NodeDef* begin = build_.Add(named("begin"), "FleetBeginSave", device, inputs);
    SetAttr(begin, "dtypes", absl::MakeConstSpan(part.dtypes));
    out->begin.push_back(begin->name());
    const NodeDef* end = build_.Add(named("end"), "FleetEndSave", device, {stem});
    out->parts.push_back(absl::StrCat(end->name(), ":0"));
  }

  tensorflow::GraphDef& graph_;
  NodeWriter build_;
  absl::flat_hash_map<std::string, int> index_;  // of the nodes that were there before
  std::map<std::string, Part> parts_;            // by device
  std::vector<std::string> trained_;
  std::map<std::string, std::string> after_;            // by device
  absl::flat_hash_map<std::string, std::string> anew_;  // copies by node
};

}  // namespace

StatusOr<std::optional<SaveGraph>> AddSaveGraph(const tensorflow::SaverDef& saver,
                                                const std::vector<std::string>& train_ops,
                                                const std::string& global_step_node,
                                                const std::string& stem,
                                                tensorflow::GraphDef* graph) {
  return SaveGraphBuilder(graph).Run(saver, train_ops, global_step_node, stem);
}

}  // namespace tensorfleet::train
