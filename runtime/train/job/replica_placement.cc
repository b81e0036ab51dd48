#include "runtime/train/job/replica_placement.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/attr.h"
#include "runtime/ops/all.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {
namespace {

bool IsQueue(absl::string_view op) {
  return absl::EndsWith(op, "QueueV2") && !absl::StartsWith(op, "Queue");
}

bool IsSharedState(const tensorflow::NodeDef& node) {
  static const auto& kOps = *new absl::flat_hash_set<std::string>{"Variable",
                                                                  "VariableV2",
                                                                  "VarHandleOp",
                                                                  "HashTableV2",
                                                                  "MutableHashTableV2",
                                                                  "MutableHashTableOfTensorsV2",
                                                                  "MutableDenseHashTableV2",
                                                                  "ConditionalAccumulator",
                                                                  "SparseConditionalAccumulator",
                                                                  "ResourceConditionalAccumulator"};
  if (kOps.contains(node.op())) return true;
  // An input queue has no name of its own; one that tasks share has.
  return IsQueue(node.op()) &&
         !GetAttrOr<std::string>(node, "shared_name", "").value_or("").empty();
}

int64_t BytesOf(const tensorflow::NodeDef& node) {
  const StatusOr<DType> dtype = GetAttr<DType>(node, "dtype");
  const StatusOr<Shape> shape = GetAttr<Shape>(node, "shape");
  if (!dtype.ok() || !shape.ok()) return 1;
  return std::max<int64_t>(1, shape->num_elements() * static_cast<int64_t>(ElementSize(*dtype)));
}

// Nodes that must be on one device, by union-find.
class Groups {
 public:
  explicit Groups(int n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(int a, int b) { parent_[Find(b)] = Find(a); }

 private:
  std::vector<int> parent_;
};

class Placer {
 public:
  Placer(const ReplicaPlacement& placement, tensorflow::GraphDef* graph)
      : placement_(placement), graph_(*graph), groups_(graph->node_size()) {}

  Status Run() {
    TFLEET_ASSIGN_OR_RETURN(own_, DeviceName::Parse(placement_.own_task));
    TFLEET_ASSIGN_OR_RETURN(replica_, DeviceName::Parse(placement_.replica_device));
    for (int i = 0; i < graph_.node_size(); ++i) index_[graph_.node(i).name()] = i;
    TFLEET_RETURN_IF_ERROR(JoinColocated());
    JoinUsersOfState();
    TFLEET_RETURN_IF_ERROR(TakeRequests());
    Spread();
    return SetDevices();
  }

 private:
  Status JoinColocated() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const tensorflow::NodeDef& node = graph_.node(i);
      TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                              GetAttrOr<std::vector<std::string>>(node, "_class", {}));
      for (absl::string_view name : classes) {
        if (!absl::ConsumePrefix(&name, "loc:@")) continue;
        const auto with = index_.find(name);
        if (with == index_.end()) {
          return InvalidArgument("node '", node.name(), "' is to be colocated with '", name,
                                 "', which is not in the graph");
        }
        groups_.Join(with->second, i);
      }
    }
    return OkStatus();
  }

  // What takes a reference or a handle goes where that comes from. Calls of functions may take
  // several, from different places: they go to this task, as any other computation.
  void JoinUsersOfState() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const tensorflow::NodeDef& node = graph_.node(i);
      const StatusOr<const OpSchema*> schema = BuiltinOps().Find(node.op());
      if (!schema.ok()) continue;  // a function; opening the session names what is unknown
      tensorflow::NodeDef complete = node;
      if (!CompleteAttrs(**schema, &complete).ok() || CallsFunctions(**schema)) continue;
      const StatusOr<NodeTypes> types = TypesOf(**schema, complete);
      if (!types.ok()) continue;
      for (size_t k = 0; k < types->inputs.size() && static_cast<int>(k) < node.input_size(); ++k) {
        const DType type = types->inputs[k];
        if (!IsRef(type) && type != DType::kResource) continue;
        const auto from = index_.find(NodeOf(node.input(static_cast<int>(k))));
        if (from != index_.end()) groups_.Join(from->second, i);
      }
    }
  }

  static bool CallsFunctions(const OpSchema& schema) {
    return std::any_of(schema.attrs.begin(), schema.attrs.end(), [](const AttrSpec& attr) {
      return attr.kind == "func" || attr.kind == "list(func)";
    });
  }

  // A group with a place asked for gets it.
  Status TakeRequests() {
    place_.resize(graph_.node_size());
    TFLEET_ASSIGN_OR_RETURN(DeviceName first_state, DeviceName::Parse(placement_.state_tasks[0]));
    first_state.task.reset();  // "/job:ps" leaves open which
    for (int i = 0; i < graph_.node_size(); ++i) {
      const tensorflow::NodeDef& node = graph_.node(i);
      StatusOr<DeviceName> wanted = DeviceName::Parse(node.device());
      if (!wanted.ok()) {
        return Prefixed(absl::StrCat("node '", node.name(), "': "), wanted.status());
      }
      const bool is_replica = !replica_.has_nothing() && replica_.Matches(*wanted);
      if (is_replica || (wanted->job == own_.job && !wanted->task)) {
        wanted->job = own_.job;
        wanted->replica = own_.replica;
        wanted->task = own_.task;
      }
      wanted_.push_back(*wanted);
      const bool is_open = wanted->job && !wanted->task && IsSharedState(node) &&
                           wanted->IsCompatibleWith(first_state);
      if (wanted->job && !is_open) {
        std::string& place = place_[groups_.Find(i)];
        DeviceName task;
        task.job = wanted->job;
        task.replica = 0;
        task.task = wanted->task.value_or(0);
        if (place.empty()) place = task.ToString();
      }
      if (placement_.local.contains(node.name())) place_[groups_.Find(i)] = placement_.own_task;
    }
    return OkStatus();
  }

  void Spread() {
    std::vector<int64_t> load(placement_.state_tasks.size(), 0);
    const auto least = [&] { return std::min_element(load.begin(), load.end()) - load.begin(); };
    // What has a place already counts where it is.
    if (placement_.spread_by == SpreadBy::kBytes) {
      for (int i = 0; i < graph_.node_size(); ++i) {
        if (!IsSharedState(graph_.node(i))) continue;
        const auto at = std::find(placement_.state_tasks.begin(), placement_.state_tasks.end(),
                                  place_[groups_.Find(i)]);
        if (at != placement_.state_tasks.end()) {
          load[at - placement_.state_tasks.begin()] += BytesOf(graph_.node(i));
        }
      }
    }
    absl::flat_hash_map<int, size_t> chosen;
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!IsSharedState(graph_.node(i))) continue;
      const int group = groups_.Find(i);
      if (place_[group].empty()) {
        // With equal loads the first is the least, so this takes turns too.
        chosen[group] = least();
        place_[group] = placement_.state_tasks[chosen[group]];
        if (placement_.spread_by == SpreadBy::kRoundRobin) ++load[chosen[group]];
      }
      const auto here = chosen.find(group);
      if (placement_.spread_by == SpreadBy::kBytes && here != chosen.end()) {
        load[here->second] += BytesOf(graph_.node(i));
      }
    }
  }

  Status SetDevices() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const std::string& chosen = place_[groups_.Find(i)];
      DeviceName device = wanted_[i];
      if (!device.job || !device.task) {
        TFLEET_ASSIGN_OR_RETURN(const DeviceName task,
                                DeviceName::Parse(chosen.empty() ? placement_.own_task : chosen));
        // A part that the node asks for, such as another job, wins.
        if (device.IsCompatibleWith(task)) TFLEET_RETURN_IF_ERROR(device.MergeFrom(task));
      }
      graph_.mutable_node(i)->set_device(device.ToString());
    }
    return OkStatus();
  }

  const ReplicaPlacement& placement_;
  tensorflow::GraphDef& graph_;
  Groups groups_;
  DeviceName own_, replica_;
  absl::flat_hash_map<std::string, int> index_;
  std::vector<DeviceName> wanted_;  // by node
  std::vector<std::string> place_;  // by group: a task, or "" while it has none
};

}  // namespace

StatusOr<SpreadBy> ParseSpreadBy(absl::string_view name) {
  if (name == "round-robin") return SpreadBy::kRoundRobin;
  if (name == "bytes") return SpreadBy::kBytes;
  return InvalidArgument("variables are spread 'round-robin' or by 'bytes', not '", name, "'");
}

Status PlaceReplica(const ReplicaPlacement& placement, tensorflow::GraphDef* graph) {
  return Placer(placement, graph).Run();
}

Status PlaceHere(tensorflow::GraphDef* graph) {
  for (auto& node : *graph->mutable_node()) {
    StatusOr<DeviceName> device = DeviceName::Parse(node.device());
    if (!device.ok()) {
      return Prefixed(absl::StrCat("node '", node.name(), "': "), device.status());
    }
    device->job.reset();
    device->replica.reset();
    device->task.reset();
    node.set_device(device->ToString());
  }
  return OkStatus();
}

}  // namespace tensorfleet::train
