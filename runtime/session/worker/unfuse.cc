#include "runtime/session/worker/unfuse.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tensorfleet {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

struct FusedOp {
  const char* head;    // the first of the ops that it stands for; "" when an attribute says it
  int num_inputs;      // of the head; what follows is for the others
  const char* output;  // the name of output 0
  std::vector<const char*> attrs;  // that the head has, too
};

const absl::flat_hash_map<std::string, FusedOp>& FusedOps() {
  static const auto* const ops = new absl::flat_hash_map<std::string, FusedOp>{
      {"_FusedConv2D",
       {"Conv2D",
        2,
        "output",
        {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations"}}},
      {"_FusedConv3D",
       {"Conv3D", 2, "output", {"T", "strides", "padding", "data_format", "dilations"}}},
      {"_FusedDepthwiseConv2dNative",
       {"DepthwiseConv2dNative",
        2,
        "output",
        {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations"}}},
      {"_FusedMatMul", {"MatMul", 2, "product", {"T", "transpose_a", "transpose_b"}}},
      {"_MklFusedBatchMatMulV2", {"BatchMatMulV2", 2, "output", {"T", "adj_x", "adj_y"}}},
      {"_FusedBatchNormEx",
       {"FusedBatchNormV3",
        5,
        "y",
        {"T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training"}}},
      {"_MklSwish", {"Sigmoid", 1, "activations", {"T"}}},
      {"_UnaryOpsComposition", {"", 1, "y", {"T"}}},
  };
  return *ops;
}

std::string TextOf(const tensorflow::NodeDef& node, const char* attr) {
  const auto found = node.attr().find(attr);
  return found == node.attr().end() ? "" : found->second.s();
}

std::vector<std::string> TextsOf(const tensorflow::NodeDef& node, const char* attr) {
  const auto found = node.attr().find(attr);
  if (found == node.attr().end()) return {};
  return {found->second.list().s().begin(), found->second.list().s().end()};
}

void CopyAttr(const tensorflow::NodeDef& from, const char* attr, tensorflow::NodeDef* to) {
  const auto found = from.attr().find(attr);
  if (found != from.attr().end()) (*to->mutable_attr())[attr] = found->second;
}

// _FusedMatMul has a kernel of its own (kernels/cpu/linalg/fused_matmul.cc) for these.
bool HasKernel(const tensorflow::NodeDef& node) {
  if (node.op() != "_FusedMatMul") return false;
  const std::vector<std::string> fused = TextsOf(node, "fused_ops");
  if (fused.empty() || fused[0] != "BiasAdd" || fused.size() > 2) return false;
  return fused.size() == 1 || fused[1] != "Add";
}

// One fused node, and the nodes that do its work: the first keeps its name.
class Apart {
 public:
  Apart(const OpRegistry& ops, const tensorflow::NodeDef& node, bool is_in_function)
      : ops_(ops), node_(node), is_in_function_(is_in_function) {}

  // `parts` gets them in order. Each but the first has the one before as its input 0.
  Status Into(std::vector<tensorflow::NodeDef>* parts) {
    parts_ = parts;
    const FusedOp& fused = FusedOps().at(node_.op());
    for (const std::string& input : node_.input()) {
      if (!absl::StartsWith(input, "^")) data_.push_back(input);
    }
    if (data_.size() < static_cast<size_t>(fused.num_inputs)) {
      return InvalidArgument(node_.op(), " '", node_.name(), "' needs ", fused.num_inputs,
                             " inputs or more, and has ", data_.size());
    }
    tensorflow::NodeDef& head = parts->emplace_back(node_);
    head.set_op(fused.head);
    head.clear_input();
    for (int i = 0; i < fused.num_inputs; ++i) head.add_input(data_[i]);
    for (const std::string& input : node_.input()) {
      if (absl::StartsWith(input, "^")) head.add_input(input);
    }
    head.clear_attr();
    for (const char* attr : fused.attrs) CopyAttr(node_, attr, &head);
    CopyAttr(node_, "_class", &head);
    // The one op among them with a default type; masters leave out what has its default.
    if (node_.op() == "_MklSwish" && !head.attr().contains("T")) {
      (*head.mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    }
    next_ = static_cast<size_t>(fused.num_inputs);
    TFLEET_RETURN_IF_ERROR(AddTail());
    if (next_ != data_.size()) return Unknown("more inputs than these ops take");
    return OkStatus();
  }

  // How others name output 0 of the last part.
  StatusOr<std::string> Reference() const {
    const tensorflow::NodeDef& last = parts_->back();
    if (!is_in_function_) return last.name();
    TFLEET_ASSIGN_OR_RETURN(const OpSchema* schema, ops_.Find(last.op()));
    if (schema->outputs.empty()) return InvalidArgument(last.op(), " has no output");
    return absl::StrCat(last.name(), ":", schema->outputs[0].name, ":0");
  }

 private:
  Status AddTail() {
    if (node_.op() == "_UnaryOpsComposition") return AddChain();
    if (node_.op() == "_MklSwish") {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NodeDef * product, Add("Mul"));
      product->add_input(data_[0]);
      return OkStatus();
    }
    if (node_.op() == "_FusedBatchNormEx") {
      const std::string activation = TextOf(node_, "activation_mode");
      if (next_ < data_.size()) TFLEET_RETURN_IF_ERROR(AddStep("Add"));
      return activation.empty() || activation == "Identity" ? OkStatus() : AddStep(activation);
    }
    // Read in another order than Conv2D does, or with the side inputs of GPUs.
    const std::string filter_format = TextOf(node_, "filter_format");
    if (!filter_format.empty() && filter_format != "HWIO") return Unknown(filter_format);
    const auto host_args = node_.attr().find("num_host_args");
    if (host_args != node_.attr().end() && host_args->second.i() != 0) return Unknown("host_args");
    const auto paddings = node_.attr().find("padding_list");
    if (paddings != node_.attr().end() && paddings->second.list().i_size() > 0) {
      return Unknown("padding_list");
    }
    for (const std::string& step : TextsOf(node_, "fused_ops")) {
      TFLEET_RETURN_IF_ERROR(AddStep(step));
    }
    return OkStatus();
  }

  Status AddChain() {
    const std::vector<std::string> ops = TextsOf(node_, "op_names");
    if (ops.empty()) return Unknown("no op_names");
    for (const std::string& op : ops) {
      // Each takes and gives one tensor of the type T.
      const StatusOr<const OpSchema*> schema = ops_.Find(op);
      if (!schema.ok() || (*schema)->inputs.size() != 1 || (*schema)->outputs.size() != 1 ||
          (*schema)->FindAttr("T") == nullptr) {
        return Unknown(op);
      }
    }
    parts_->front().set_op(ops[0]);
    for (size_t i = 1; i < ops.size(); ++i) TFLEET_RETURN_IF_ERROR(Add(ops[i]).status());
    return OkStatus();
  }

  Status AddStep(const std::string& step) {
    if (step == "BiasAdd") {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NodeDef * bias, Add("BiasAdd"));
      const std::string format = TextOf(node_, "data_format");
      const bool channels_first = absl::StartsWith(format, "NC");
      (*bias->mutable_attr())["data_format"].set_s(channels_first ? "NCHW" : "NHWC");
      return AddInputs(bias, 1);
    }
    if (step == "FusedBatchNorm") {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NodeDef * norm, Add("FusedBatchNormV3"));
      (*norm->mutable_attr())["U"].set_type(tensorflow::DT_FLOAT);
      (*norm->mutable_attr())["is_training"].set_b(false);
      CopyAttr(node_, "epsilon", norm);
      CopyAttr(node_, "data_format", norm);
      return AddInputs(norm, 4);
    }
    if (step == "Add" || step == "Mul") {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NodeDef * sum, Add(step == "Add" ? "AddV2" : "Mul"));
      return AddInputs(sum, 1);
    }
    if (step == "LeakyRelu") {
      TFLEET_ASSIGN_OR_RETURN(tensorflow::NodeDef * relu, Add(step));
      const auto alpha = node_.attr().find("leakyrelu_alpha");
      if (alpha != node_.attr().end()) (*relu->mutable_attr())["alpha"] = alpha->second;
      return OkStatus();
    }
    for (const char* known : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"}) {
      if (step == known) return Add(step).status();
    }
    return Unknown(step);
  }

  StatusOr<tensorflow::NodeDef*> Add(const std::string& op) {
    TFLEET_ASSIGN_OR_RETURN(std::string before, Reference());
    tensorflow::NodeDef part;
    part.set_name(absl::StrCat(node_.name(), "/unfused_", parts_->size()));
    part.set_op(op);
    part.set_device(node_.device());
    part.add_input(std::move(before));
    CopyAttr(parts_->front(), "T", &part);
    parts_->push_back(std::move(part));
    return &parts_->back();
  }

  Status AddInputs(tensorflow::NodeDef* part, size_t count) {
    if (data_.size() - next_ < count) return Unknown("fewer inputs than these ops take");
    for (size_t i = 0; i < count; ++i) part->add_input(data_[next_++]);
    return OkStatus();
  }

  Status Unknown(absl::string_view what) const {
    return Unimplemented(
        "the master fused '", node_.name(), "' to ", node_.op(), " of [",
        absl::StrJoin(TextsOf(node_, "fused_ops"), ","), "], which this server cannot take apart (",
        what,
        "); a session with ConfigProto.graph_options.rewrite_options.remapping = OFF sends it as "
        "it was built");
  }

  const OpRegistry& ops_;
  const tensorflow::NodeDef& node_;
  const bool is_in_function_;
  std::vector<std::string> data_;
  size_t next_ = 0;  // the input that the next part takes
  std::vector<tensorflow::NodeDef>* parts_ = nullptr;
};

// What was output 0 of a fused node.
struct Moved {
  std::string output;  // its name in functions
  std::string to;
};
using MovedOutputs = absl::flat_hash_map<std::string, Moved>;

void Follow(const MovedOutputs& moved, bool is_in_function, std::string* input) {
  const std::vector<absl::string_view> pieces = absl::StrSplit(*input, ':');
  const auto found = moved.find(pieces[0]);
  if (found == moved.end()) return;
  const bool is_output_0 =
      is_in_function ? pieces.size() == 3 && pieces[1] == found->second.output && pieces[2] == "0"
                     : pieces.size() == 1 || (pieces.size() == 2 && pieces[1] == "0");
  if (is_output_0) *input = found->second.to;
}

// In TensorFlow each _ParallelConcatUpdate writes a row into the memory of its
// _ParallelConcatStart, and who waits for all updates reads the start's output. Here an update
// makes a value: the updates of a start follow each other, and its readers read the last one's.
void ChainParallelConcats(Nodes* nodes) {
  absl::flat_hash_map<std::string, std::string> last;  // by the start's name
  for (const tensorflow::NodeDef& node : *nodes) {
    if (node.op() == "_ParallelConcatStart") last[node.name()] = node.name();
  }
  if (last.empty()) return;
  const auto start_of = [&](const std::string& input) {
    const auto found = last.find(absl::StripSuffix(input, ":0"));
    return found == last.end() ? nullptr : &found->second;
  };
  for (tensorflow::NodeDef& node : *nodes) {
    if (node.op() != "_ParallelConcatUpdate" || node.input_size() == 0) continue;
    if (std::string* const before = start_of(node.input(0))) {
      node.set_input(0, *before);
      *before = node.name();
    }
  }
  for (tensorflow::NodeDef& node : *nodes) {
    if (node.op() == "_ParallelConcatUpdate") continue;
    for (std::string& input : *node.mutable_input()) {
      if (const std::string* const made = start_of(input)) input = *made;
    }
  }
}

bool HasFusedNodes(const Nodes& nodes) {
  for (const tensorflow::NodeDef& node : nodes) {
    if (IsTakenApart(node.op()) && !HasKernel(node)) return true;
  }
  return false;
}

Status UnfuseNodes(const OpRegistry& ops, bool is_in_function, Nodes* nodes, MovedOutputs* moved) {
  std::vector<std::vector<tensorflow::NodeDef>> apart;
  for (tensorflow::NodeDef& node : *nodes) {
    if (!IsTakenApart(node.op()) || HasKernel(node)) continue;
    Apart parts(ops, node, is_in_function);
    TFLEET_RETURN_IF_ERROR(parts.Into(&apart.emplace_back()));
    if (apart.back().size() == 1) continue;
    TFLEET_ASSIGN_OR_RETURN(std::string to, parts.Reference());
    (*moved)[node.name()] = {FusedOps().at(node.op()).output, std::move(to)};
  }
  for (std::vector<tensorflow::NodeDef>& parts : apart) {
    for (size_t i = 0; i < parts.size(); ++i) {
      for (int k = i == 0 ? 0 : 1; k < parts[i].input_size(); ++k) {
        Follow(*moved, is_in_function, parts[i].mutable_input(k));
      }
    }
  }
  size_t next = 0;
  std::vector<tensorflow::NodeDef> added;
  for (tensorflow::NodeDef& node : *nodes) {
    if (IsTakenApart(node.op()) && !HasKernel(node)) {
      std::vector<tensorflow::NodeDef>& parts = apart[next++];
      node = std::move(parts[0]);
      for (size_t i = 1; i < parts.size(); ++i) added.push_back(std::move(parts[i]));
    } else {
      for (std::string& input : *node.mutable_input()) Follow(*moved, is_in_function, &input);
    }
  }
  for (tensorflow::NodeDef& node : added) *nodes->Add() = std::move(node);
  return OkStatus();
}

}  // namespace

bool IsTakenApart(absl::string_view op) {
  return absl::StartsWith(op, "_") && FusedOps().contains(op);
}

Status Unfuse(const OpRegistry& ops, tensorflow::GraphDef* graph) {
  ChainParallelConcats(graph->mutable_node());
  if (HasFusedNodes(graph->node())) {
    MovedOutputs moved;
    TFLEET_RETURN_IF_ERROR(
        UnfuseNodes(ops, /*is_in_function=*/false, graph->mutable_node(), &moved));
  }
  for (tensorflow::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    if (!HasFusedNodes(function.node_def())) continue;
    MovedOutputs moved;
    TFLEET_RETURN_IF_ERROR(
        UnfuseNodes(ops, /*is_in_function=*/true, function.mutable_node_def(), &moved));
    for (auto& [name, value] : *function.mutable_ret()) {
      Follow(moved, /*is_in_function=*/true, &value);
    }
  }
  return OkStatus();
}

}  // namespace tensorfleet
