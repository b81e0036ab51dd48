// Where the kernels of compiled graphs come from: the registry, a call for nodes whose op is a
// function, and a cache for stateful nodes, which keep their state from graph to graph of a
// session.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/execute/executor.h"
#include "runtime/graph/function_library.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet {

// What kernels are made with.
struct KernelMaker {
  const KernelRegistry* kernels = nullptr;
  Device* device = nullptr;
  ResourceManager* resources = nullptr;
  FunctionRunner* functions = nullptr;             // null where functions can't be called
  std::shared_ptr<const FunctionLibrary> library;  // may be null

  // A new kernel. Errors: NotFound and what the kernel's constructor says, with the node's name.
  StatusOr<std::unique_ptr<Kernel>> Make(const Node& node) const;
};

// The stateful kernels of one session on one device, by node name. Thread-safe.
class KernelCache {
 public:
  // For Executor::Options. The cache must outlive the provider; a node that is stateful, and calls
  // no functions, gets the kernel that another graph made for the node of the same name, op and
  // attributes.
  KernelProvider Provider(KernelMaker maker);

 private:
  StatusOr<std::shared_ptr<const Kernel>> Get(const KernelMaker& maker, const Node& node);

  struct Entry {
    std::string op;
    std::string attrs;
    std::shared_ptr<const Kernel> kernel;
  };
  Mutex mu_;
  absl::flat_hash_map<std::string, Entry> stateful_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
