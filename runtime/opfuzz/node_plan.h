// One random node: its attributes, and inputs that its shape rule and its kernel's constructor
// take.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/thread_pool.h"
#include "runtime/device/device.h"
#include "runtime/graph/op_schema.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/opfuzz/random.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::opfuzz {

struct NodePlan {
  tensorflow::NodeDef def;
  std::vector<DType> types;    // of the inputs, references included
  std::vector<Shape> shapes;   // of the inputs, or of what is behind a handle
  std::vector<Tensor> values;  // of plain inputs; invalid for handles
  bool fits = false;           // schema, shape rule and kernel's constructor take it as it is
};

// Whether a tensor of this type is a handle, which no feed or constant can be.
inline bool IsHandle(DType type) {
  return IsRef(type) || type == DType::kResource || type == DType::kVariant;
}

class NodePlanner {
 public:
  explicit NodePlanner(const KernelRegistry* kernels);

  // A plan that fits, unless `tries` random ones did not. When `has_to_run`, and the op holds no
  // state, its kernel has also run on it.
  NodePlan Make(Random& random, const OpSchema& schema, int tries, bool has_to_run);
  // Changes inputs or attributes of a plan to what hardly fits.
  void Disturb(Random& random, const OpSchema& schema, NodePlan* plan);

 private:
  NodePlan Draw(Random& random, const OpSchema& schema, bool has_to_run);
  bool Fits(const NodePlan& plan, bool has_to_run);
  bool Runs(const Node& node, const Kernel& kernel, const NodePlan& plan);

  const KernelRegistry* const kernels_;
  // What constructors of kernels are shown.
  ThreadPool pool_{"plan", 1};
  std::unique_ptr<Device> device_;
  ResourceManager resources_{"localhost"}, step_resources_{"localhost"};
  CancellationManager cancellation_;
};

}  // namespace tensorfleet::opfuzz
