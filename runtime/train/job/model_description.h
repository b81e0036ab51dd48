// From a model built in C++ to a MetaGraphDef with the standard collections: what TrainGraphFrom
// reads, `tensorfleet train` runs, and TensorFlow imports.
#pragma once

#include <vector>

#include "proto/collections.pb.h"
#include "proto/meta_graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/client/scope.h"
#include "runtime/train/model/variables.h"

namespace tensorfleet::train {

struct ModelDescription {
  std::vector<tensorflow::VariableDef> variables;  // saved and restored, the global step included
  std::vector<tensorflow::VariableDef> local_variables;
  tensorflow::VariableDef global_step;
  std::vector<Operation> train_ops;
  Output loss;  // may be invalid: none
  std::vector<Output> summaries;

  // All global and local ones, and the step counter, which is made when there is none.
  void AddVariables(const Scope& scope, Variables& made);
};

// A variable (a reference or a handle), the node that gives it its first value, and a tensor that
// reads it.
tensorflow::VariableDef DescribeVariable(const Output& variable, const Operation& initializer,
                                         const Output& read);
tensorflow::VariableDef DescribeVariable(const Variable& variable);

// Errors: the scope's own; InvalidArgument when there is no train op or no global step.
StatusOr<tensorflow::MetaGraphDef> ToMetaGraph(const Scope& scope, const ModelDescription& model);

}  // namespace tensorfleet::train
