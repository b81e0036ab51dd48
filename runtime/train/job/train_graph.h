// What a training loop must know of a graph, by the names of its nodes and tensors: what to run,
// what makes it ready, how to save it. It comes from a MetaGraphDef and its collections.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/collections.pb.h"
#include "proto/graph.pb.h"
#include "proto/meta_graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/train/checkpoint/save_graph.h"
#include "runtime/train/session/sync_loop.h"

namespace tensorfleet::train {

// Finds out which variables hold no value yet: by a tensor that lists their names, or by one
// boolean tensor for each variable. Both empty: there is nothing to find out.
struct ReadyCheck {
  std::string names;                                                // "concat:0"
  std::vector<std::pair<std::string, std::string>> is_initialized;  // variable's node, tensor
  bool empty() const { return names.empty() && is_initialized.empty(); }
};

struct TrainGraph {
  tensorflow::GraphDef graph;
  std::vector<std::string> train_ops;  // run by every step
  std::string global_step;             // the tensor that reads it
  std::string global_step_node;        // the variable itself
  std::string loss;                    // a scalar; "" when the graph names none
  std::vector<std::string> init_ops, local_init_ops;
  ReadyCheck ready, ready_for_local_init;
  std::vector<std::string> summaries;  // string tensors, each a serialised Summary
  tensorflow::SaverDef saver;          // without a save_tensor_name: the graph has none
  std::optional<SaveGraph> save;       // set by AddSaveGraph; none: saves hold training up
  std::vector<tensorflow::VariableDef> variables, local_variables;
  std::vector<tensorflow::QueueRunnerDef> queue_runners;
  std::optional<SyncLoop> sync;  // set by FindSyncLoop
};

// "w" of "w:0", "w" and "^w".
std::string NodeOf(absl::string_view tensor);

// Reads the file, binary or text. Errors: NotFound; InvalidArgument for what is no MetaGraphDef.
StatusOr<tensorflow::MetaGraphDef> ReadMetaGraph(const std::string& path);

// What the user may say in place of, or in addition to, the collections.
struct TrainGraphOptions {
  std::string loss;                    // default: the only tensor of the collection "losses"
  std::vector<std::string> train_ops;  // default: the collection "train_op"
  bool only_evaluates = false;         // needs no train op and no global step
};

// The graph with what its standard collections say of it. What they leave out is derived: without
// "init_op" the variables' initializers run, without "ready_op" each variable is asked. Errors:
// InvalidArgument, naming the collection and what to do, when there is no train op or no global
// step, or a name is not in the graph.
StatusOr<TrainGraph> TrainGraphFrom(const tensorflow::MetaGraphDef& meta,
                                    const TrainGraphOptions& options);

}  // namespace tensorfleet::train
