#include "runtime/execute/kernel_cache.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/kernels/function_call.h"

namespace tensorfleet {
namespace {

// A kernel that calls functions knows them by the handles of its graph's runtime.
bool CallsFunctions(const Node& node) {
  if (node.op() == "OneShotIterator") return false;  // it has a runner of its own
  for (const auto& [name, value] : node.def().attr()) {
    if (value.has_func() || value.list().func_size() > 0) return true;
  }
  return false;
}

// What belongs to one graph although its op is stateful: arguments, results, transfers and clusters
// keep no state, and their names repeat from graph to graph with other attributes.
bool KeepsState(const Node& node) {
  return node.schema().is_stateful && !node.IsArg() && !node.IsRetval() && !node.IsSend() &&
         !node.IsRecv() && node.op() != kClusterOp && !CallsFunctions(node);
}

// What a kernel is made from, beside its op. Attributes with an underscore speak of where a node
// stands in its graph.
std::string AttrsOf(const Node& node) {
  std::map<absl::string_view, std::string> attrs;
  for (const auto& [name, value] : node.def().attr()) {
    if (!absl::StartsWith(name, "_")) attrs[name] = value.SerializeAsString();
  }
  std::string all;
  for (const auto& [name, value] : attrs) {
    absl::StrAppend(&all, name, "=", value.size(), ":", value, ",");
  }
  return all;
}

}  // namespace

StatusOr<std::unique_ptr<Kernel>> KernelMaker::Make(const Node& node) const {
  KernelInit init(node, device, resources, functions);
  if (library == nullptr || library->Find(node.op()) == nullptr) {
    if (Accelerator* const accelerator = AcceleratorOf(device)) {
      return accelerator->MakeKernel(init, *kernels);
    }
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
  std::string attrs = AttrsOf(node);
  const auto fits = [&](const Entry& entry) {
    return entry.op == node.op() && entry.attrs == attrs;
  };
  {
    MutexLock lock(&mu_);
    const auto it = stateful_.find(node.name());
    if (it != stateful_.end() && fits(it->second)) return it->second.kernel;
  }
  // Outside the lock: a kernel that calls functions may come back here.
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> made, maker.Make(node));
  std::shared_ptr<const Kernel> kernel(std::move(made));
  MutexLock lock(&mu_);
  Entry& entry = stateful_[node.name()];
  if (!fits(entry)) entry = Entry{node.op(), std::move(attrs), std::move(kernel)};
  return entry.kernel;
}

}  // namespace tensorfleet
