// How a kernel calls a function of the graph's library: PartitionedCall, If, While, Case, data
// sets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class CancellationManager;
class FunctionLibrary;
class FunctionRunner;
class OpRegistry;
struct StepContext;

// The library behind a runner, for what calls functions longer than the graph lives. Immutable.
class FunctionSource {
 public:
  virtual ~FunctionSource() = default;
  // A runner with kernels of its own, so that random generators in its functions begin anew. Its
  // functions use the same device and resources, which must outlive it.
  virtual std::unique_ptr<FunctionRunner> NewRunner() const = 0;
  virtual const OpRegistry& ops() const = 0;
  virtual const std::shared_ptr<const FunctionLibrary>& library() const = 0;  // may be null
  // The same device and resources with other functions.
  virtual std::shared_ptr<const FunctionSource> With(
      std::shared_ptr<const FunctionLibrary> library) const = 0;
};

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
  // Runs it as a step of its own, which ends early when `cancellation` does, and waits for it. Not
  // for threads of the device's pool. Tensors are charged to the calling thread's account.
  virtual Status RunAlone(Handle handle, CancellationManager* cancellation,
                          std::vector<Tensor> args, std::vector<Tensor>* results) = 0;
  virtual std::shared_ptr<const FunctionSource> Source() const = 0;
};

}  // namespace tensorfleet
