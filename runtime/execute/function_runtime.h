// Calls functions of a library on one device: each is compiled once per set of attributes, when it
// is first called, and runs through the executor as part of the caller's step.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/device/device.h"
#include "runtime/execute/executor.h"
#include "runtime/graph/function_library.h"
#include "runtime/kernels/function_runner.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

// Thread-safe. Must outlive every kernel made with it and every step that calls a function.
class FunctionRuntime final : public FunctionRunner {
 public:
  struct Options {
    const OpRegistry* ops = nullptr;
    std::shared_ptr<const FunctionLibrary> library;
    const KernelRegistry* kernels = nullptr;
    Device* device = nullptr;
    ResourceManager* resources = nullptr;
    std::shared_ptr<Device> own_device;            // `device`, when nobody else keeps it
    std::shared_ptr<const FunctionSource> source;  // null: made
  };
  // Deeper calls, of a function that calls itself without end, fail with ResourceExhausted.
  static constexpr int kMaxCallDepth = 1000;

  explicit FunctionRuntime(Options options);
  ~FunctionRuntime() override;

  // Errors: NotFound for an unknown function. What is wrong inside it shows when it is first run.
  StatusOr<Handle> Instantiate(const tensorflow::NameAttrList& function) override;
  // Errors, by `done`: InvalidArgument for arguments of the wrong number, a malformed body, a
  // result that is dead, or nodes that ask for another device; what a node of the function fails
  // with.
  void Run(Handle handle, const StepContext& step, std::vector<Tensor> args, Done done) override;
  // Errors: as Run; Cancelled.
  Status RunAlone(Handle handle, CancellationManager* cancellation, std::vector<Tensor> args,
                  std::vector<Tensor>* results) override;
  std::shared_ptr<const FunctionSource> Source() const override { return options_.source; }

 private:
  struct Function;
  struct Call;

  // As Run; the calling thread may run expensive nodes when it would only wait.
  void Start(Handle handle, const StepContext& step, bool caller_may_work, std::vector<Tensor> args,
             Done done);
  static Options Completed(Options options);
  Function* Get(Handle handle) const;
  Status Prepare(Function* function) const;
  Status Compile(Function* function) const;

  const Options options_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, Handle> handles_ ABSL_GUARDED_BY(mu_);
  std::deque<std::unique_ptr<Function>> functions_ ABSL_GUARDED_BY(mu_);  // by handle
};

}  // namespace tensorfleet
