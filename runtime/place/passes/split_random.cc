#include "runtime/place/passes/split_random.h"

#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {
namespace {

constexpr int64_t kPhilox = 1;  // TensorFlow's number of the algorithm

// Null for other ops.
const char* StatelessOf(const Node& node) {
  const std::pair<const char*, const char*> kOps[] = {
      {"RandomUniform", "StatelessRandomUniformV2"},
      {"RandomStandardNormal", "StatelessRandomNormalV2"},
      {"TruncatedNormal", "StatelessTruncatedNormalV2"},
      {"RandomUniformInt", "StatelessRandomUniformIntV2"}};
  for (const auto& [op, stateless] : kOps) {
    if (node.op() == op) return stateless;
  }
  return nullptr;
}

StatusOr<Node*> AddNode(tensorflow::NodeDef def, const Node& like, Graph* graph) {
  TFLEET_ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
  node->set_assigned_device(like.assigned_device());
  return node;
}

Status Split(Node* node, const char* op, const RewriteContext& context, Graph* graph) {
  // Its state is found by its name, so every graph of a session has to call it the same.
  const std::string reserve_name = absl::StrCat(node->name(), "/reserve");
  if (graph->FindNode(reserve_name) != nullptr) return OkStatus();
  const std::string device = node->requested_device();
  TFLEET_ASSIGN_OR_RETURN(const DType shape_type, GetAttr<DType>(node->def(), "T"));
  tensorflow::NodeDef numbers_def = NewNodeDef(graph->UniqueName(node->name()), op, device);
  SetAttr(&numbers_def, "dtype", node->output_type(0));
  SetAttr(&numbers_def, "Tshape", shape_type);
  TFLEET_ASSIGN_OR_RETURN(Node * numbers, AddNode(std::move(numbers_def), *node, graph));
  if (!context.placement->kernels->Has(*numbers, kCompiled)) {
    graph->RemoveNode(numbers);
    return OkStatus();
  }
  tensorflow::NodeDef reserve_def = NewNodeDef(reserve_name, "_ReserveRandom", device);
  SetAttr(&reserve_def, "T", shape_type);
  for (const char* attr : {"seed", "seed2"}) {
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed, GetAttr<int64_t>(node->def(), attr));
    SetAttr(&reserve_def, attr, seed);
  }
  TFLEET_ASSIGN_OR_RETURN(Node * reserve, AddNode(std::move(reserve_def), *node, graph));
  tensorflow::NodeDef algorithm_def =
      NewNodeDef(graph->UniqueName(absl::StrCat(node->name(), "/algorithm")), "Const", device);
  SetAttr(&algorithm_def, "dtype", DType::kInt32);
  SetAttr(&algorithm_def, "value", Tensor::Scalar<int32_t>(kPhilox));
  TFLEET_ASSIGN_OR_RETURN(Node * algorithm, AddNode(std::move(algorithm_def), *node, graph));
  const Endpoint shape = InputOf(*node, 0);
  std::vector<Endpoint> inputs = {shape, {reserve, 0}, {reserve, 1}, {algorithm, 0}};
  for (int i = 1; i < node->num_inputs(); ++i) inputs.push_back(InputOf(*node, i));
  TFLEET_RETURN_IF_ERROR(graph->AddEdge(shape.node, shape.index, reserve, 0).status());
  for (size_t i = 0; i < inputs.size(); ++i) {
    TFLEET_RETURN_IF_ERROR(
        graph->AddEdge(inputs[i].node, inputs[i].index, numbers, static_cast<int>(i)).status());
  }
  for (Node* before : ControlInputs(*node)) graph->AddControlEdge(before, reserve);
  // In a branch or loop it runs when what it stands for would.
  graph->AddControlEdge(reserve, algorithm);
  TFLEET_RETURN_IF_ERROR(MoveOutput({node, 0}, {numbers, 0}, graph));
  MoveControlOutputs(node, numbers, graph);
  graph->RemoveNode(node);
  return OkStatus();
}

}  // namespace

Status SplitRandom(Graph* graph, const RewriteContext& context) {
  std::set<std::string> devices;
  for (const DeviceAttributes& device : context.placement->devices) {
    if (absl::StartsWith(device.description, kClusterDevicePrefix)) devices.insert(device.name);
  }
  if (devices.empty()) return OkStatus();
  const std::vector<Node*> nodes = graph->nodes();
  for (Node* node : nodes) {
    const char* const op = StatelessOf(*node);
    if (op == nullptr || devices.count(node->assigned_device()) == 0) continue;
    TFLEET_RETURN_IF_ERROR(Split(node, op, context, graph));
  }
  return OkStatus();
}

}  // namespace tensorfleet
