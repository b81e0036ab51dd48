// Ends runs of data sets beside the steps: stopping one waits for its threads, which a thread of
// the device must not do. Whoever destroys a resource manager waits until its runs have ended.
#pragma once

#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/data/iterator_run.h"
#include "runtime/kernels/resource.h"
#include "runtime/kernels/resource_manager.h"

namespace tensorfleet::data {

// The runs of one resource manager that are being stopped. Thread-safe.
class Disposal {
 public:
  // False once closed.
  bool Begin();
  void End();
  // Waits for those that have begun; from now on whoever has one to stop does it himself.
  void Close();

 private:
  Mutex mu_;
  CondVar changed_;
  int64_t running_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};
using DisposalRef = std::shared_ptr<Disposal>;

// That of `resources`, which closes it when it is cleared or goes.
StatusOr<DisposalRef> DisposalOf(ResourceManager& resources);

// Stops `run`: soon, on another thread; here, where nobody waits for that any more.
void Dispose(const DisposalRef& disposal, std::shared_ptr<IteratorRun> run);

}  // namespace tensorfleet::data
