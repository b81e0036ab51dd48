#include "runtime/execute/kernel_cache.h"

#include <utility>

#include "runtime/kernels/function_call.h"

namespace tensorfleet {
namespace {

// A kernel that calls functions knows them by the handles of its graph's runtime.
bool CallsFunctions(const Node& node) {
  for (const auto& [name, value] : node.def().attr()) {
    if (value.has_func() || value.list().func_size() > 0) return true;
  }
  return false;
}

// What belongs to one graph although its op is stateful: arguments, results and transfers keep no
// state, and their names repeat from graph to graph with other attributes.
bool KeepsState(const Node& node) {
  return node.schema().is_stateful && !node.IsArg() && !node.IsRetval() && !node.IsSend() &&
         !node.IsRecv() && !CallsFunctions(node);
}

}  // namespace

StatusOr<std::unique_ptr<Kernel>> KernelMaker::Make(const Node& node) const {
  KernelInit init(node, device, resources, functions);
  if (library == nullptr || library->Find(node.op()) == nullptr) {
    return kernels->Make(init, device->type());
  }
  std::unique_ptr<Kernel> kernel = MakeCallByName(init);
  if (!init.status().ok()) return WithNode(init.status(), node.name());
  return kernel;
}

KernelProvider KernelCache::Provider(KernelMaker maker) {
  return [this, maker = std::move(maker)](const Node& node) { return Get(maker, node); };
}

StatusOr<std::shared_ptr<const Kernel>> KernelCache::Get(const KernelMaker& maker,
                                                         const Node& node) {
  const bool is_call = maker.library != nullptr && maker.library->Find(node.op()) != nullptr;
  if (is_call || !KeepsState(node)) {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, maker.Make(node));
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }
  {
    MutexLock lock(&mu_);
    const auto it = stateful_.find(node.name());
    if (it != stateful_.end() && it->second.op == node.op()) return it->second.kernel;
  }
  // Outside the lock: a kernel that calls functions may come back here.
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> made, maker.Make(node));
  std::shared_ptr<const Kernel> kernel(std::move(made));
  MutexLock lock(&mu_);
  auto [it, is_new] = stateful_.try_emplace(node.name(), Entry{node.op(), kernel});
  if (!is_new && it->second.op != node.op()) it->second = Entry{node.op(), kernel};
  return it->second.kernel;
}

}  // namespace tensorfleet
