// Elements that a data set keeps from run to run.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/data/element_ring.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::data {

// Thread-safe.
class MemoryCache final : public Resource {
 public:
  std::string DebugString() const override { return "MemoryCache"; }
  // All elements; null until a run has been through them.
  std::shared_ptr<const std::vector<Element>> whole() const {
    MutexLock lock(&mu_);
    return whole_;
  }
  // The first one counts.
  void Complete(std::vector<Element> elements) {
    auto whole = std::make_shared<const std::vector<Element>>(std::move(elements));
    MutexLock lock(&mu_);
    if (whole_ == nullptr) whole_ = std::move(whole);
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const std::vector<Element>> whole_ ABSL_GUARDED_BY(mu_);
};
using MemoryCacheRef = ResourceRef<MemoryCache>;

}  // namespace tensorfleet::data
