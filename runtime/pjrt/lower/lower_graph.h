// Lowers the nodes of one graph, one after the other: those of a cluster, or of a function that one
// of its nodes calls.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {

// What all graphs of one program share.
struct ProgramContext {
  HloBuilder* hlo = nullptr;
  // Kernels and device on which what is the same in every run is computed.
  const KernelRegistry* kernels = nullptr;
  Device* device = nullptr;
  // How many nodes may still be lowered: functions that call functions may double at each level.
  int* nodes_left = nullptr;
};

// What one graph is lowered for. Instructions go to the builder's present computation, and so must
// the values belong to it.
struct GraphInputs {
  // By argument. A handle or reference has the number of its variable instead.
  std::vector<Value> values;
  std::vector<int> variable_of;  // -1 for values
  std::vector<VariableState>* variables = nullptr;
  Faults* faults = nullptr;
  // The parameter of the program for a value that has its argument's number.
  const std::function<Hlo(int)>* parameter = nullptr;
  int depth = 0;  // how many functions it stands in
};

class GraphLowering {
 public:
  // `graph` outlives it.
  GraphLowering(const ProgramContext& program, const Graph& graph, GraphInputs inputs);

  // `order` is topological. Errors: Unimplemented, naming the node, for what no lowering expresses
  // (then see needed()); FailedPrecondition for a variable that is read and has no value.
  Status Run(const std::vector<Node*>& order);
  // The value that a _Retval takes.
  Value& Returned(const Node& retval);
  // After an error: arguments whose values might help, by number, sorted. They are index-like and
  // small.
  const std::vector<int>& needed() const { return needed_; }

  // For calls of functions (lower_call.h).
  const ProgramContext& program() const { return program_; }
  const Graph& graph() const { return graph_; }
  const GraphInputs& inputs() const { return inputs_; }
  // The number of the variable whose handle an output is. Errors: Unimplemented where that cannot
  // be told.
  StatusOr<int> VariableOf(const Node& source) const;
  // As an instruction of the present computation.
  Hlo Emitted(Value& value);

 private:
  Status LowerArgument(const Node& node);
  Status LowerNode(const Node& node);
  StatusOr<Value*> ReadReference(VariableState* variable);
  bool Fold(const Node& node, const std::vector<Value*>& inputs);
  void FindNeeded(const Node& node, const std::vector<int>* only);

  const ProgramContext program_;
  const Graph& graph_;
  GraphInputs inputs_;
  std::vector<std::vector<Value>> values_;  // by node id and output
  std::vector<std::unique_ptr<Value>> reads_;
  std::vector<int> needed_;
};

}  // namespace tensorfleet::pjrt
