// What the collective ops of the third version name by a handle: a group that was formed once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/kernels/resource.h"

namespace tensorfleet::portable {

class Communicator final : public Resource {
 public:
  Communicator(int32_t group_key, int32_t rank, int32_t group_size,
               std::chrono::nanoseconds timeout)
      : group_key(group_key), rank(rank), group_size(group_size), timeout(timeout) {}
  std::string DebugString() const override;
  // Ops get their instances in the order in which they begin, which must be the same everywhere.
  int32_t NextInstance() const { return next_instance_.fetch_add(1, std::memory_order_relaxed); }

  const int32_t group_key;
  const int32_t rank;
  const int32_t group_size;
  const std::chrono::nanoseconds timeout;

 private:
  mutable std::atomic<int32_t> next_instance_{0};
};

}  // namespace tensorfleet::portable
