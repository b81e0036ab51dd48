// Runs a cluster's nodes one by one, each as the device runs a node outside clusters: for clusters
// that cannot be compiled. Thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/execute/executor.h"
#include "runtime/kernels/kernel.h"
#include "runtime/pjrt/lower/lower_cluster.h"

namespace tensorfleet::pjrt {

class HostCluster {
 public:
  // `body` and what `init` points to must outlive this.
  HostCluster(const ClusterBody* body, const KernelInit& init)
      : body_(*body), device_(init.device()), resources_(init.resources()) {}

  // Calls `done` once; `ctx` lives until then.
  void Run(KernelContext& ctx, std::function<void(Status)> done) const;

 private:
  StatusOr<const Executor*> Prepare() const;

  const ClusterBody& body_;
  Device* const device_;
  ResourceManager* const resources_;
  mutable Mutex mu_;
  mutable std::unique_ptr<Executor> executor_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::pjrt
