// An operation while it is being built. Errors of calls without a status are kept for
// TF_FinishOperation.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/capi/graph.h"

struct TF_OperationDescription {
  // One argument of the op: a tensor or a list of them.
  struct Argument {
    bool is_list;
    std::vector<TF_Output> given;
    std::vector<tensorfleet::Output> outputs;  // `given`, once they are checked
  };
  TF_Graph* graph = nullptr;
  tensorflow::NodeDef def;
  std::vector<Argument> arguments;
  std::vector<TF_Operation*> controls;
  std::set<std::string> colocations;  // "loc:@x"
  tensorfleet::Status first_error;
};

namespace tensorfleet::capi {

// Keeps the first error.
void Note(TF_OperationDescription* desc, const Status& status);

// Runs `work`, which adds to the description.
template <typename Work>
void Describe(TF_OperationDescription* desc, Work&& work) noexcept {
  if (desc == nullptr) return;
  const Status status = Contained(std::forward<Work>(work));
  if (!status.ok()) Note(desc, status);
}

}  // namespace tensorfleet::capi
