// Lowers a cluster's graph for arguments of known types and shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {

// A cluster's graph, ready to be lowered: made once per node. Immutable.
class ClusterBody {
 public:
  // `body` is the attribute of a kClusterOp node, `inputs` and `outputs` its types. Errors:
  // InvalidArgument for a body that does not fit them; it comes from another server.
  static StatusOr<std::unique_ptr<ClusterBody>> Parse(const std::string& body,
                                                      const std::vector<DType>& inputs,
                                                      const std::vector<DType>& outputs,
                                                      const OpRegistry* ops);

  const Graph& graph() const { return *graph_; }
  const std::vector<Node*>& order() const { return order_; }  // topological
  const std::vector<const Node*>& arguments() const { return arguments_; }
  const std::vector<const Node*>& results() const { return results_; }
  // The type of the variable that argument `i`, a handle, is assigned as, and so made when it is
  // not there; kInvalid when no member assigns it.
  DType AssignedType(int i) const { return assigned_types_[i]; }

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<Node*> order_;
  std::vector<const Node*> arguments_, results_;
  std::vector<DType> assigned_types_;
};

// What is known of an argument when a cluster is lowered.
struct ClusterArgument {
  DType dtype = DType::kInvalid;
  Shape shape;
  Tensor value;       // valid where the program may depend on it
  int variable = -1;  // index into the variables, for a handle or reference
};

struct LoweredCluster {
  std::string module;  // a serialized hlo::Module; empty when nothing has to be computed
  // Where each parameter of the program comes from.
  struct Parameter {
    bool is_variable = false;
    int index = 0;  // of the argument or variable
  };
  std::vector<Parameter> parameters;
  // Types and shapes of the program's results: first those that the cluster hands out, then the
  // written variables' new values.
  std::vector<std::pair<DType, Shape>> program_results;
  std::vector<int> written_variables;
  // Behind them, a bool: whether the launch is refused (Faults in lowering.h).
  bool has_fault = false;
  // Of the written variables those whose old value has to be put back then.
  std::vector<int> replaced_variables;
  struct Result {
    enum class From { kProgram, kConstant, kArgument } from = From::kProgram;
    int index = 0;    // of the program's result, or of the argument
    Tensor constant;  // in host memory
  };
  std::vector<Result> results;
};

struct ClusterRequest {
  const ClusterBody* body = nullptr;
  std::vector<ClusterArgument> arguments;
  std::vector<VariableState> variables;
  int precision = 0;
  // Guards updates of rows without a look at the whole variable. Not for programs in which a check
  // depends on what it guards.
  bool guards_rows = true;
  // Kernels and device on which what is the same in every run is computed.
  const KernelRegistry* kernels = nullptr;
  Device* device = nullptr;
};

// Errors: Unimplemented, naming the node, for what no lowering expresses. When values of arguments
// are needed that `request` does not have, they are put into `needed` (sorted) beside the error:
// ask again with them.
StatusOr<LoweredCluster> LowerCluster(ClusterRequest request, std::vector<int>* needed);

}  // namespace tensorfleet::pjrt
