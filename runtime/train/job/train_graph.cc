#include "runtime/train/job/train_graph.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/graph/attr.h"
#include "runtime/train/job/collections.h"

namespace tensorfleet::train {
namespace {

constexpr char kReadyPrefix[] = "fleet_train/is_initialized/";

using Nodes = absl::flat_hash_map<std::string, const tensorflow::NodeDef*>;

Status CheckNames(const Nodes& nodes, absl::string_view what,
                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.empty() && !nodes.contains(NodeOf(name))) {
      return InvalidArgument(what, " names '", name, "', which is not in the graph");
    }
  }
  return OkStatus();
}

// Asks each variable by a node of its own, added to the graph.
StatusOr<ReadyCheck> AskEach(const std::vector<tensorflow::VariableDef>& variables,
                             const Nodes& nodes, tensorflow::GraphDef* graph) {
  ReadyCheck check;
  for (const tensorflow::VariableDef& variable : variables) {
    const std::string name = NodeOf(variable.variable_name());
    tensorflow::NodeDef node;
    node.set_name(absl::StrCat(kReadyPrefix, name));
    node.set_op(variable.is_resource() ? "VarIsInitializedOp" : "IsVariableInitialized");
    node.add_input(variable.variable_name());
    const std::string group = absl::StrCat("loc:@", name);
    SetAttr(&node, "_class", absl::MakeConstSpan(&group, 1));
    if (!variable.is_resource()) {
      TFLEET_ASSIGN_OR_RETURN(const DType dtype, GetAttr<DType>(*nodes.at(name), "dtype"));
      SetAttr(&node, "dtype", dtype);
    }
    check.is_initialized.emplace_back(name, absl::StrCat(node.name(), ":0"));
    if (!nodes.contains(node.name())) *graph->add_node() = std::move(node);
  }
  return check;
}

StatusOr<ReadyCheck> CheckOf(const Collections& collections, const char* collection,
                             const std::vector<tensorflow::VariableDef>& variables,
                             const Nodes& nodes, tensorflow::GraphDef* graph) {
  const std::vector<std::string> named = collections.Names(collection);
  if (named.empty()) return AskEach(variables, nodes, graph);
  ReadyCheck check;
  if (named[0].empty()) return check;
  check.names = absl::StrContains(named[0], ':') ? named[0] : absl::StrCat(named[0], ":0");
  return check;
}

std::vector<std::string> Initializers(const std::vector<tensorflow::VariableDef>& variables) {
  std::vector<std::string> ops;
  for (const auto& variable : variables) ops.push_back(NodeOf(variable.initializer_name()));
  return ops;
}

std::vector<std::string> NodesOf(const std::vector<std::string>& names) {
  std::vector<std::string> nodes;
  for (const std::string& name : names) nodes.push_back(NodeOf(name));
  return nodes;
}

Status UseGlobalStep(const tensorflow::VariableDef& step, TrainGraph* out) {
  out->global_step_node = NodeOf(step.variable_name());
  // Old descriptions name no read; a reference is its own.
  out->global_step = step.snapshot_name().empty() && !step.is_resource() ? step.variable_name()
                                                                         : step.snapshot_name();
  if (!out->global_step.empty()) return OkStatus();
  return InvalidArgument("the description of the global step, '", step.variable_name(),
                         "', names no tensor that reads it (snapshot_name)");
}

Status FindGlobalStep(const Collections& collections, TrainGraph* out) {
  TFLEET_ASSIGN_OR_RETURN(const auto steps,
                          collections.Messages<tensorflow::VariableDef>("global_step"));
  if (steps.size() > 1) {
    return InvalidArgument("the collection 'global_step' holds ", steps.size(),
                           " variables; it must hold one");
  }
  if (steps.size() == 1) return UseGlobalStep(steps[0], out);
  for (const auto& variable : out->variables) {
    if (variable.variable_name() == "global_step:0") return UseGlobalStep(variable, out);
  }
  return InvalidArgument(
      "the meta graph has no collection 'global_step' and no variable of that name: call "
      "tf.compat.v1.train.get_or_create_global_step() and give it to the optimizer before the "
      "export");
}

Status FindTrainOps(const Collections& collections, const TrainGraphOptions& options,
                    TrainGraph* out) {
  out->train_ops =
      NodesOf(options.train_ops.empty() ? collections.Names("train_op") : options.train_ops);
  if (!out->train_ops.empty()) return OkStatus();
  return InvalidArgument(
      "the meta graph has no collection 'train_op'; add the training operation to it before the "
      "export (optimizers' minimize() does) or name it by --train_op");
}

void FindLoss(const Collections& collections, const TrainGraphOptions& options, TrainGraph* out) {
  out->loss = options.loss;
  const std::vector<std::string> losses = collections.Names("losses");
  if (out->loss.empty() && losses.size() == 1) out->loss = losses[0];
  if (!out->loss.empty() && !absl::StrContains(out->loss, ':')) out->loss += ":0";
}

Status FindSaver(const tensorflow::MetaGraphDef& meta, const Collections& collections,
                 TrainGraph* out) {
  TFLEET_ASSIGN_OR_RETURN(const auto savers, collections.Messages<tensorflow::SaverDef>("savers"));
  if (!savers.empty()) {
    out->saver = savers[0];
  } else if (meta.has_saver_def()) {
    out->saver = meta.saver_def();
  }
  if (!out->saver.save_tensor_name().empty() && out->saver.version() != tensorflow::SaverDef::V2) {
    return Unimplemented(
        "the meta graph's Saver writes V1 checkpoints; export it with "
        "Saver(write_version=SaverDef.V2)");
  }
  return OkStatus();
}

}  // namespace

std::string NodeOf(absl::string_view tensor) {
  absl::ConsumePrefix(&tensor, "^");
  return std::string(tensor.substr(0, tensor.find(':')));
}

StatusOr<TrainGraph> TrainGraphFrom(const tensorflow::MetaGraphDef& meta,
                                    const TrainGraphOptions& options) {
  if (meta.graph_def().node_size() == 0) {
    return InvalidArgument(
        "the meta graph holds no graph; export it with clear_devices or not, "
        "but with its graph_def");
  }
  TrainGraph out;
  out.graph = meta.graph_def();
  const Collections collections(meta);
  Nodes nodes;
  for (const auto& node : meta.graph_def().node()) nodes[node.name()] = &node;
  TFLEET_ASSIGN_OR_RETURN(out.variables,
                          collections.Messages<tensorflow::VariableDef>("variables"));
  TFLEET_ASSIGN_OR_RETURN(out.local_variables,
                          collections.Messages<tensorflow::VariableDef>("local_variables"));
  TFLEET_ASSIGN_OR_RETURN(out.queue_runners,
                          collections.Messages<tensorflow::QueueRunnerDef>("queue_runners"));
  for (const auto* list : {&out.variables, &out.local_variables}) {
    for (const auto& v : *list) {
      TFLEET_RETURN_IF_ERROR(
          CheckNames(nodes, absl::StrCat("the description of variable '", v.variable_name(), "'"),
                     {v.variable_name(), v.initializer_name(), v.snapshot_name()}));
    }
  }
  if (!options.only_evaluates) {
    TFLEET_RETURN_IF_ERROR(FindTrainOps(collections, options, &out));
    TFLEET_RETURN_IF_ERROR(FindGlobalStep(collections, &out));
  }
  FindLoss(collections, options, &out);
  TFLEET_RETURN_IF_ERROR(FindSaver(meta, collections, &out));

  out.init_ops = NodesOf(collections.Names("init_op"));
  if (out.init_ops.empty()) out.init_ops = Initializers(out.variables);
  out.local_init_ops = NodesOf(collections.Names("local_init_op"));
  if (out.local_init_ops.empty()) {
    out.local_init_ops = Initializers(out.local_variables);
    for (const std::string& table : collections.Names("table_initializer")) {
      out.local_init_ops.push_back(NodeOf(table));
    }
  }
  out.summaries = collections.Names("summary_op");
  if (out.summaries.empty()) out.summaries = collections.Names("summaries");

  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the train op", out.train_ops));
  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the loss", {out.loss}));
  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the collection 'init_op'", out.init_ops));
  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the collection 'local_init_op'", out.local_init_ops));
  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the collection of summaries", out.summaries));
  TFLEET_RETURN_IF_ERROR(
      CheckNames(nodes, "the collection 'ready_op'", collections.Names("ready_op")));
  TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the collection 'ready_for_local_init_op'",
                                    collections.Names("ready_for_local_init_op")));
  for (const auto& runner : out.queue_runners) {
    std::vector<std::string> names(runner.enqueue_op_name().begin(),
                                   runner.enqueue_op_name().end());
    names.insert(names.end(),
                 {runner.queue_name(), runner.close_op_name(), runner.cancel_op_name()});
    TFLEET_RETURN_IF_ERROR(CheckNames(nodes, "the collection 'queue_runners'", names));
  }

  std::vector<tensorflow::VariableDef> all = out.variables;
  all.insert(all.end(), out.local_variables.begin(), out.local_variables.end());
  TFLEET_ASSIGN_OR_RETURN(out.ready, CheckOf(collections, "ready_op", all, nodes, &out.graph));
  for (const auto& added : out.graph.node()) nodes[added.name()] = &added;
  TFLEET_ASSIGN_OR_RETURN(out.ready_for_local_init, CheckOf(collections, "ready_for_local_init_op",
                                                            out.variables, nodes, &out.graph));
  return out;
}

}  // namespace tensorfleet::train
