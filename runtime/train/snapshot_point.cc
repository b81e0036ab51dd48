#include "runtime/train/snapshot_point.h"

#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/train/graph_nodes.h"
#include "runtime/train/train_graph.h"

namespace tensorfleet::train {
namespace {

constexpr char kPrefix[] = "fleet_snapshot/";
constexpr int kFirstTensor = 3;  // of SaveV2: prefix, names and slices come before

// One value that is saved: which input of which node.
struct SavedInput {
  int node, input;
  DType dtype;
  std::string device;  // of what gives it
};

// Nothing when a save cannot be taken apart.
StatusOr<std::optional<std::vector<SavedInput>>> SavedInputs(const tensorflow::SaverDef& saver,
                                                             const tensorflow::GraphDef& graph) {
  absl::flat_hash_map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : graph.node()) nodes[node.name()] = &node;
  const auto behind = NodesBehind(graph, {saver.save_tensor_name()});
  std::vector<SavedInput> inputs;
  for (int i = 0; i < graph.node_size(); ++i) {
    const tensorflow::NodeDef& node = graph.node(i);
    if (!behind.contains(node.name())) continue;
    if (node.op() == "Save" || node.op() == "SaveSlices")
      return std::optional<std::vector<SavedInput>>();
    if (node.op() != "SaveV2") continue;
    TFLEET_ASSIGN_OR_RETURN(const auto dtypes, GetAttr<std::vector<DType>>(node, "dtypes"));
    for (size_t k = 0; k < dtypes.size(); ++k) {
      const int at = kFirstTensor + static_cast<int>(k);
      if (at >= node.input_size() || absl::StartsWith(node.input(at), "^")) {
        return InvalidArgument("node '", node.name(), "' saves ", dtypes.size(),
                               " tensors but has fewer inputs");
      }
      const auto from = nodes.find(NodeOf(node.input(at)));
      if (from == nodes.end()) return std::optional<std::vector<SavedInput>>();
      inputs.push_back({i, at, dtypes[k], from->second->device()});
    }
  }
  if (inputs.empty()) return std::optional<std::vector<SavedInput>>();
  return std::optional(std::move(inputs));
}

}  // namespace

StatusOr<std::optional<SnapshotPoint>> AddSnapshotPoint(const tensorflow::SaverDef& saver,
                                                        const std::string& device,
                                                        tensorflow::GraphDef* graph) {
  TFLEET_ASSIGN_OR_RETURN(const auto inputs, SavedInputs(saver, *graph));
  if (!inputs) return std::optional<SnapshotPoint>();
  NodeWriter build(kPrefix, graph);

  std::map<std::string, std::vector<std::string>> reads;  // by device, as control inputs
  for (size_t i = 0; i < inputs->size(); ++i) {
    const auto& [node, input, dtype, where] = (*inputs)[i];
    tensorflow::NodeDef* read =
        build.Add(absl::StrCat("value_", i), "Identity", where, {graph->node(node).input(input)});
    SetAttr(read, "T", dtype);
    graph->mutable_node(node)->set_input(input, read->name());
    reads[where].push_back(absl::StrCat("^", read->name()));
  }
  // One message from each device, not one for each value.
  std::vector<std::string> all;
  for (const auto& [where, names] : reads) {
    all.push_back(absl::StrCat(
        "^", build.Add(absl::StrCat("device_", all.size()), "NoOp", where, names)->name()));
  }

  tensorflow::NodeDef* number = build.Add("number", "Placeholder", device, {});
  SetAttr(number, "dtype", DType::kInt64);
  SetAttr(number, "shape", PartialShape(std::vector<int64_t>{}));
  const std::string number_name = number->name();
  const std::vector<DType> types = {DType::kInt64};
  const std::vector<PartialShape> shapes = {PartialShape(std::vector<int64_t>{})};
  tensorflow::NodeDef* queue = build.Add("queue", "FIFOQueueV2", device, {});
  SetAttr(queue, "component_types", absl::MakeConstSpan(types));
  SetAttr(queue, "shapes", absl::MakeConstSpan(shapes));
  const std::string queue_name = queue->name();

  SnapshotPoint point;
  point.number = absl::StrCat(number_name, ":0");
  const auto enqueue = [&](const char* name, const std::vector<std::string>& after) {
    std::vector<std::string> from = {queue_name, number_name};
    from.insert(from.end(), after.begin(), after.end());
    tensorflow::NodeDef* node = build.Add(name, "QueueEnqueueV2", device, from);
    SetAttr(node, "Tcomponents", absl::MakeConstSpan(types));
    return node->name();
  };
  point.passed = enqueue("passed", all);
  point.release = enqueue("release", {});
  tensorflow::NodeDef* await = build.Add("await", "QueueDequeueV2", device, {queue_name});
  SetAttr(await, "component_types", absl::MakeConstSpan(types));
  point.await = absl::StrCat(await->name(), ":0");
  return std::optional(std::move(point));
}

}  // namespace tensorfleet::train
