// How a kernel calls a function of the graph's library: PartitionedCall, If, While, Case and,
// later, data sets.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

struct StepContext;

class FunctionRunner {
 public:
  using Handle = int64_t;
  using Done = std::function<void(const Status& status, std::vector<Tensor> results)>;

  virtual ~FunctionRunner() = default;
  // Compiles the function once for these attributes; later calls return the same handle.
  // Errors: NotFound, InvalidArgument.
  virtual StatusOr<Handle> Instantiate(const tensorflow::NameAttrList& function) = 0;
  // Runs it as part of `step` (same step id, rendezvous, cancellation, resources). `done` is called
  // once, here or later on any thread.
  virtual void Run(Handle handle, const StepContext& step, std::vector<Tensor> args, Done done) = 0;
};

}  // namespace tensorfleet
