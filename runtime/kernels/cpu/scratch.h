// Parallel loops whose threads need memory to work in.
#pragma once

#include <atomic>

#include "runtime/kernels/kernel_context.h"
#include "runtime/tensor/buffer.h"

namespace tensorfleet::cpu {

// ParallelFor with body(begin, end, T* scratch): `elements` of T of the calling thread's own,
// uninitialised. Errors: ResourceExhausted, with part of the work left undone.
template <typename T, typename Body>
Status ParallelForWithScratch(const KernelContext& ctx, int64_t total, int64_t cost_per_unit,
                              int64_t elements, const Body& body) {
  std::atomic<bool> is_out_of_memory = false;
  ParallelFor(ctx, total, cost_per_unit, [&](int64_t begin, int64_t end) {
    const StatusOr<BufferRef> buffer = AllocateHostBuffer(elements * sizeof(T));
    if (!buffer.ok()) {
      is_out_of_memory = true;
      return;
    }
    body(begin, end, static_cast<T*>((*buffer)->data()));
  });
  if (is_out_of_memory) {
    return ResourceExhausted("no memory for ", elements, " elements to work in");
  }
  return OkStatus();
}

}  // namespace tensorfleet::cpu
