// Lets training go on while a checkpoint's bytes go out. A saver's own nodes fix the values when
// they run and end when the files are there; in between, no step may start that would change them.
// Here both halves are apart: a training step fixes the values as its ops leave them, on each task
// that holds some, and another step, which nobody else waits for, ends when each task has written
// its part. Putting the parts together is left to who ran it. So a save costs training no round
// trip.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet::train {

struct SaveGraph {
  // Ops that fix the values once the train ops have run; with them, each value's task begins to
  // write, to files whose paths begin with this stem. They end at once.
  std::vector<std::string> begin;
  std::string stem;
  // Tensors: what is to be known of each part, a serialised CheckpointPart, once it is written.
  std::vector<std::string> parts;
  // A tensor: the global step once the train ops have run. Every training step may fetch it.
  std::string global_step;
};

// Adds it to a graph whose nodes have their devices. `stem` is nobody else's. What is saved, and
// under which names, is what `saver` saves; how it is divided among files is not. Nothing when that
// cannot be told: nodes other than SaveV2 save, their names are no constants, or a value comes from
// a loop or a placeholder. Errors: those of malformed attributes and inputs.
StatusOr<std::optional<SaveGraph>> AddSaveGraph(const tensorflow::SaverDef& saver,
                                                const std::vector<std::string>& train_ops,
                                                const std::string& global_step_node,
                                                const std::string& stem,
                                                tensorflow::GraphDef* graph);

}  // namespace tensorfleet::train
