#include "runtime/train/session/sync_loop.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/attr.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {
namespace {

constexpr char kPrefix[] = "fleet_sync/";
constexpr char kTokenQueue[] = "sync_token_q";
constexpr char kLocalStep[] = "sync_rep_local_step";

bool TakesAverage(const tensorflow::NodeDef& node) {
  return absl::EndsWith(node.op(), "AccumulatorTakeGradient");
}

class Finder {
 public:
  explicit Finder(TrainGraph* graph) : graph_(*graph), build_(kPrefix, &graph->graph) {}

  Status Run() {
    const std::vector<std::string> queues = Named([](const tensorflow::NodeDef& node) {
      return node.op() == "FIFOQueueV2" &&
             GetAttrOr<std::string>(node, "shared_name", "").value_or("") == kTokenQueue;
    });
    if (queues.empty()) return OkStatus();
    if (queues.size() > 1) {
      return Unimplemented("the graph has more than one loop of synchronous replicas: ",
                           absl::StrJoin(queues, ", "), "; train them one by one");
    }
    queue_ = queues[0];
    TFLEET_ASSIGN_OR_RETURN(types_, GetAttr<std::vector<DType>>(*Find(queue_), "component_types"));
    if (types_.size() != 1) {
      return InvalidArgument("the queue of tokens '", queue_, "' must hold one number each, not ",
                             types_.size());
    }
    SyncLoop loop;
    loop.begin = Named([](const tensorflow::NodeDef& node) {
      return absl::EndsWith(node.op(), "AccumulatorSetGlobalStep");
    });
    TFLEET_RETURN_IF_ERROR(FindStep(&loop));
    TFLEET_RETURN_IF_ERROR(FindRequired());
    AddTokens(&loop);
    TFLEET_RETURN_IF_ERROR(AddLocalInit());
    LeaveAveragesToTheChief();
    graph_.sync = std::move(loop);
    return OkStatus();
  }

 private:
  template <typename Condition>
  std::vector<std::string> Named(Condition condition) const {
    std::vector<std::string> names;
    for (const auto& node : graph_.graph.node()) {
      if (condition(node)) names.push_back(node.name());
    }
    return names;
  }
  const tensorflow::NodeDef* Find(const std::string& name) const {
    for (const auto& node : graph_.graph.node()) {
      if (node.name() == name) return &node;
    }
    return nullptr;
  }

  // What hands out tokens once the averages were taken, with what is to be done after that (the
  // moving averages of the variables).
  Status FindStep(SyncLoop* loop) {
    std::vector<std::string> hands_out;
    for (const std::string& name : Named([&](const tensorflow::NodeDef& node) {
           return node.op() == "QueueEnqueueManyV2" && node.input_size() > 0 &&
                  NodeOf(node.input(0)) == queue_;
         })) {
      const auto behind = NodesBehind(graph_.graph, {name});
      const bool averages =
          std::any_of(graph_.graph.node().begin(), graph_.graph.node().end(),
                      [&](const auto& n) { return TakesAverage(n) && behind.contains(n.name()); });
      if (averages) hands_out.push_back(name);
    }
    if (hands_out.size() != 1) {
      return InvalidArgument("the queue of synchronous replicas, '", queue_, "', is filled by ",
                             hands_out.size(),
                             " ops that take average gradients; it must be one. Export the graph "
                             "after the optimizer's apply_gradients");
    }
    std::vector<std::string> step = {absl::StrCat("^", hands_out[0])};
    for (const std::string& name : After(hands_out[0])) step.push_back(absl::StrCat("^", name));
    loop->runner.set_queue_name(queue_);
    loop->runner.add_enqueue_op_name(build_.Add("step", "NoOp", "", step)->name());
    return OkStatus();
  }

  // The nodes that wait for this one, directly or not.
  std::vector<std::string> After(const std::string& name) const {
    absl::flat_hash_set<std::string> after = {name};
    // Nodes may be in any order: until a round finds nothing more.
    for (size_t before = 0; before != after.size();) {
      before = after.size();
      for (const auto& node : graph_.graph.node()) {
        if (std::any_of(node.input().begin(), node.input().end(),
                        [&](const std::string& input) { return after.contains(NodeOf(input)); })) {
          after.insert(node.name());
        }
      }
    }
    after.erase(name);
    std::vector<std::string> sorted(after.begin(), after.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  // How many gradients make an average.
  Status FindRequired() {
    for (const auto& node : graph_.graph.node()) {
      if (!TakesAverage(node) || node.input_size() < 2) continue;
      const tensorflow::NodeDef* count = Find(NodeOf(node.input(1)));
      if (count == nullptr || count->op() != "Const") {
        return InvalidArgument("node '", node.name(),
                               "' takes a number of gradients that is no constant");
      }
      TFLEET_ASSIGN_OR_RETURN(const Tensor value, GetAttr<Tensor>(*count, "value"));
      if (value.dtype() != DType::kInt32 || value.num_elements() != 1) {
        return InvalidArgument("node '", count->name(), "' must be one int32");
      }
      required_ = value.values<int32_t>()[0];
      return OkStatus();
    }
    return InvalidArgument("no node takes gradients for the loop of '", queue_, "'");
  }

  // As many as make an average: with them, as many workers can begin another step as are needed.
  void AddTokens(SyncLoop* loop) {
    tensorflow::NodeDef* left = build_.Add("tokens_left", "QueueSizeV2", "", {queue_});
    loop->tokens_left = absl::StrCat(left->name(), ":0");
    const std::string count = build_.Const("count", "", Tensor::Vector<int32_t>({required_}));
    tensorflow::NodeDef* tokens = build_.Add("tokens", "Fill", "", {count, graph_.global_step});
    SetAttr(tokens, "T", types_[0]);
    SetAttr(tokens, "index_type", DType::kInt32);
    const std::string name = tokens->name();
    tensorflow::NodeDef* add = build_.Add("add_tokens", "QueueEnqueueManyV2", "", {queue_, name});
    SetAttr(add, "Tcomponents", absl::MakeConstSpan(types_));
    loop->add_tokens = add->name();
  }

  // After what the graph itself does locally, which may set the step to 0.
  Status AddLocalInit() {
    for (const tensorflow::VariableDef& variable : graph_.local_variables) {
      const std::string node = NodeOf(variable.variable_name());
      if (!absl::StartsWith(node.substr(node.rfind('/') + 1), kLocalStep)) continue;
      std::vector<std::string> inputs = {variable.variable_name(), graph_.global_step};
      for (const std::string& op : graph_.local_init_ops) inputs.push_back(absl::StrCat("^", op));
      tensorflow::NodeDef* assign = build_.Add(
          "local_step", variable.is_resource() ? "AssignVariableOp" : "Assign", "", inputs);
      SetAttr(assign, variable.is_resource() ? "dtype" : "T", types_[0]);
      graph_.local_init_ops = {assign->name()};
      return OkStatus();
    }
    return InvalidArgument(
        "the graph has synchronous replicas, but its collection "
        "'local_variables' has no '",
        kLocalStep, "'");
  }

  // The wrapped optimizer puts the op that applies the averages into the collection 'train_op', for
  // want of knowing that it is wrapped. A worker's step is the one that ends with a token.
  void LeaveAveragesToTheChief() {
    std::vector<std::string> train_ops;
    for (const std::string& op : graph_.train_ops) {
      const auto behind = NodesBehind(graph_.graph, {op});
      if (Named([&](const tensorflow::NodeDef& node) {
            return TakesAverage(node) && behind.contains(node.name());
          }).empty()) {
        train_ops.push_back(op);
      }
    }
    if (train_ops.size() == graph_.train_ops.size()) return;
    for (const auto& node : graph_.graph.node()) {
      if (!absl::StartsWith(node.op(), "Assign") || node.input_size() < 2) continue;
      const tensorflow::NodeDef* token = Find(NodeOf(node.input(1)));
      if (token == nullptr || token->op() != "QueueDequeueV2") continue;
      if (NodeOf(token->input(0)) == queue_) train_ops.push_back(node.name());
    }
    graph_.train_ops = std::move(train_ops);
  }

  TrainGraph& graph_;
  NodeWriter build_;
  std::string queue_;
  std::vector<DType> types_;  // of a token
  int32_t required_ = 0;
};

}  // namespace

Status FindSyncLoop(TrainGraph* graph) { return Finder(graph).Run(); }

}  // namespace tensorfleet::train
