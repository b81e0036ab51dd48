#include "runtime/place/passes/fold_constants.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/contain.h"
#include "runtime/base/flush_denormals.h"
#include "runtime/base/log.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/shape_context.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/place/expand/function_calls.h"
#include "runtime/place/graph_edit.h"
#include "runtime/place/passes/sweep.h"

namespace tensorfleet {
namespace {

bool IsPlainValue(DType type) {
  return !IsRef(type) && type != DType::kResource && type != DType::kVariant;
}

class ConstantFolder {
 public:
  ConstantFolder(Graph* graph, const RewriteContext& context)
      : graph_(graph), context_(context), values_(graph->num_node_ids()) {}

  Status Run() {
    const std::vector<Node*> nodes = graph_->nodes();
    if (std::none_of(nodes.begin(), nodes.end(), [this](Node* n) { return MayFold(*n); })) {
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*graph_));
    if (std::any_of(nodes.begin(), nodes.end(), [](Node* n) { return AsksForShapes(*n); })) {
      // Where a rule finds a fault nothing is known: the step will say so.
      if (auto shapes = InferShapes(*graph_); shapes.ok()) shapes_ = *std::move(shapes);
    }
    std::vector<Node*> folded;
    for (Node* node : order) {
      if (node->IsConstant()) {
        is_constant_.insert(node);
      } else if (MayFold(*node) && (Evaluate(*node) || AnswerFromShapes(*node))) {
        is_constant_.insert(node);
        folded.push_back(node);
      }
    }
    if (folded.empty()) return OkStatus();
    DeadNodeSweep sweep(*graph_);
    for (Node* node : folded) controls_[node] = WaitsFor(*node);
    for (Node* node : folded) {
      if (IsSeen(*node)) replaced_.push_back(node);
    }
    for (Node* node : replaced_) {
      TFLEET_RETURN_IF_ERROR(Replace(node, &sweep));
    }
    sweep.Run(graph_);
    return OkStatus();
  }

 private:
  bool MayFold(const Node& node) const {
    if (node.num_outputs() == 0 || node.IsConstant() || node.schema().is_stateful ||
        node.schema().shape_fn == nullptr || node.IsControlFlow() ||
        IsFunctionCall(node, *graph_)) {
      return false;
    }
    // Without inputs it is no computation but something like a placeholder.
    return node.num_inputs() > 0 &&
           std::all_of(node.input_types().begin(), node.input_types().end(), IsPlainValue) &&
           std::all_of(node.output_types().begin(), node.output_types().end(), IsPlainValue);
  }

  static bool AsksForShapes(const Node& node) { return node.Is(NodeKind::kShapeQuestion); }

  // Fills in what a node asks for about its inputs' shapes, when the shapes are the same in every
  // step; false otherwise. The inputs themselves are not constant: the node's constant waits for
  // them, and so is as dead as they are, fails when they fail, and runs as often.
  bool AnswerFromShapes(const Node& node) {
    if (!AsksForShapes(node) || shapes_.empty()) return false;
    std::vector<Tensor> answers;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.in_edge(i);
      // The outputs of one Switch are not dead together, as those who wait for it would be.
      if (edge == nullptr || edge->src->IsControlFlow()) return false;
      const PartialShape& shape = shapes_[edge->src->id()][edge->src_output];
      if (node.op() == "Rank" && shape.has_rank()) {
        answers.push_back(Tensor::Scalar<int32_t>(shape.rank()));
        continue;
      }
      const StatusOr<Shape> known = shape.ToShape();
      if (!known.ok()) return false;
      std::optional<Tensor> answer = node.output_type(i) == DType::kInt64
                                         ? Describe<int64_t>(*known, node.op() == "Size")
                                         : Describe<int32_t>(*known, node.op() == "Size");
      if (!answer) return false;
      answers.push_back(*std::move(answer));
    }
    values_[node.id()] = std::move(answers);
    return true;
  }

  // The number of elements, or the dimensions; nothing when a T cannot hold them.
  template <typename T>
  static std::optional<Tensor> Describe(const Shape& shape, bool as_size) {
    const auto fits = [](int64_t n) { return n <= std::numeric_limits<T>::max(); };
    if (as_size) {
      if (!fits(shape.num_elements())) return std::nullopt;
      return Tensor::Scalar<T>(static_cast<T>(shape.num_elements()));
    }
    std::vector<T> dims;
    for (const int64_t dim : shape.dims()) {
      if (!fits(dim)) return std::nullopt;
      dims.push_back(static_cast<T>(dim));
    }
    return Tensor::Vector<T>(dims);
  }

  // The value of a constant node, read when first asked for; null when it is too large to work on.
  const std::vector<Tensor>* Values(const Node& node) {
    std::vector<Tensor>& values = values_[node.id()];
    if (!values.empty()) return &values;
    if (!node.IsConstant()) return nullptr;
    const tensorflow::AttrValue* proto = FindAttr(node.def(), "value");
    if (proto == nullptr ||
        static_cast<int64_t>(proto->ByteSizeLong()) > context_.options.max_folded_bytes) {
      return nullptr;
    }
    StatusOr<Tensor> value = GetAttr<Tensor>(node.def(), "value");
    if (!value.ok() || !Fits(*value)) return nullptr;
    values.push_back(*std::move(value));
    return &values;
  }

  bool Fits(const Tensor& value) const {
    return static_cast<int64_t>(value.total_bytes()) <= context_.options.max_folded_bytes;
  }

  // Computes the node's outputs; false when it has to be left to the step.
  bool Evaluate(const Node& node) {
    std::vector<EdgeValue> inputs(node.num_inputs());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.in_edge(i);
      if (edge == nullptr || !is_constant_.contains(edge->src)) return false;
      const std::vector<Tensor>* values = Values(*edge->src);
      if (values == nullptr) return false;
      inputs[i].tensor = (*values)[edge->src_output];
    }
    if (!OutputsFit(node, inputs)) return false;
    KernelInit init(node, context_.cpu, /*resources=*/nullptr, /*functions=*/nullptr);
    const StatusOr<std::unique_ptr<Kernel>> kernel = context_.cpu_kernels->Make(init, kCpu);
    if (!kernel.ok() || (*kernel)->AsAsync() != nullptr) return false;
    std::vector<EdgeValue> outputs(node.num_outputs());
    StepContext step;
    step.device = context_.cpu;
    step.cancellation = &cancellation_;
    KernelContext kernel_context(&node, &step, absl::MakeSpan(inputs), absl::MakeSpan(outputs));
    const ScopedFlushDenormals flush;  // as in the step
    const Status status = Contained([&] { return (*kernel)->Compute(kernel_context); });
    if (!status.ok()) {
      // The step will say so, to whoever asks for this value.
      LogDebug("not folded", {{"node", node.name()}, {"error", status.message()}});
      return false;
    }
    std::vector<Tensor> values;
    for (int i = 0; i < node.num_outputs(); ++i) {
      Tensor& value = outputs[i].tensor;
      if (!value.is_valid() || value.dtype() != node.output_type(i) || !Fits(value)) return false;
      values.push_back(std::move(value));
    }
    values_[node.id()] = std::move(values);
    return true;
  }

  // Whether the outputs' sizes are known beforehand and within the limit: a small constant can ask
  // for a huge tensor.
  bool OutputsFit(const Node& node, const std::vector<EdgeValue>& inputs) const {
    std::vector<PartialShape> shapes;
    std::vector<const Tensor*> constants;
    for (const EdgeValue& input : inputs) {
      shapes.emplace_back(input.tensor.shape());
      constants.push_back(&input.tensor);
    }
    ShapeContext shape_context(node, std::move(shapes), std::move(constants));
    if (!Contained([&] { return node.schema().shape_fn(shape_context); }).ok()) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const StatusOr<Shape> shape = shape_context.output(i).ToShape();
      if (!shape.ok()) return false;
      const int64_t element = static_cast<int64_t>(ElementSize(node.output_type(i)));
      if (shape->num_elements() > context_.options.max_folded_bytes / element) return false;
    }
    return true;
  }

  // What the node had to wait for, directly or through its constant inputs.
  std::vector<Node*> WaitsFor(const Node& node) const {
    std::vector<Node*> sources;
    auto add = [&](Node* source) {
      if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
        sources.push_back(source);
      }
    };
    // A folded node waits for nothing else; it will be gone.
    auto add_waiting_for = [&](Node* source) {
      const auto folded = controls_.find(source);
      if (folded == controls_.end()) return add(source);
      for (Node* earlier : folded->second) add(earlier);
    };
    for (const Edge* edge : node.in_edges()) {
      if (edge->is_control() || !is_constant_.contains(edge->src) ||
          controls_.contains(edge->src)) {
        add_waiting_for(edge->src);
      } else {
        for (Node* source : ControlInputs(*edge->src)) add_waiting_for(source);
      }
    }
    return sources;
  }

  // Whether somebody other than a folded node looks at it.
  bool IsSeen(const Node& node) const {
    if (node.out_edges().empty()) return true;
    return std::any_of(node.out_edges().begin(), node.out_edges().end(), [this](const Edge* edge) {
      return edge->is_control() || !controls_.contains(edge->dst);
    });
  }

  Status Replace(Node* node, DeadNodeSweep* sweep) {
    const std::string name = node->name();
    const std::string requested = node->requested_device();
    const std::string assigned = node->assigned_device();
    const std::vector<Tensor> values = std::move(values_[node->id()]);
    const std::vector<Node*> waits_for = controls_[node];
    const std::vector<Edge*> edges = node->out_edges();
    std::vector<std::pair<Node*, std::pair<int, int>>> users;  // node, output, input
    for (const Edge* edge : edges)
      users.push_back({edge->dst, {edge->src_output, edge->dst_input}});
    for (const Edge* edge : edges) graph_->RemoveEdge(edge);
    graph_->RemoveNode(node);

    std::vector<Node*> constants(values.size(), nullptr);
    auto constant = [&](int output) -> StatusOr<Node*> {
      if (constants[output] != nullptr) return constants[output];
      tensorflow::NodeDef def = NewNodeDef(
          output == 0 ? name : graph_->UniqueName(absl::StrCat(name, "/output_", output)), "Const",
          requested);
      SetAttr(&def, "dtype", values[output].dtype());
      SetAttr(&def, "value", values[output]);
      TFLEET_ASSIGN_OR_RETURN(Node * made, graph_->AddNode(std::move(def)));
      made->set_assigned_device(assigned);
      for (Node* source : waits_for) graph_->AddControlEdge(source, made);
      constants[output] = made;
      return made;
    };
    if (users.empty()) {
      // A target of the step.
      TFLEET_ASSIGN_OR_RETURN(Node * made, constant(0));
      sweep->Want(*made);
    }
    for (const auto& [user, slots] : users) {
      const auto [output, input] = slots;
      TFLEET_ASSIGN_OR_RETURN(Node * made, constant(std::max(output, 0)));
      if (output == kControlSlot) {
        graph_->AddControlEdge(made, user);
      } else {
        TFLEET_RETURN_IF_ERROR(graph_->AddEdge(made, 0, user, input).status());
      }
    }
    return OkStatus();
  }

  Graph* const graph_;
  const RewriteContext& context_;
  CancellationManager cancellation_;
  std::vector<std::vector<Tensor>> values_;        // by node id
  std::vector<std::vector<PartialShape>> shapes_;  // by node id; empty when nobody asks
  absl::flat_hash_set<const Node*> is_constant_;
  // Of folded nodes: the control inputs of a constant in their place.
  absl::flat_hash_map<const Node*, std::vector<Node*>> controls_;
  std::vector<Node*> replaced_;
};

}  // namespace

Status FoldConstants(Graph* graph, const RewriteContext& context) {
  if (context.cpu == nullptr || context.cpu_kernels == nullptr) {
    return OkStatus();
  }
  return ConstantFolder(graph, context).Run();
}

}  // namespace tensorfleet
