#include "runtime/kernels/cpu/io_kernel.h"

#include <utility>

#include "runtime/base/thread_pool.h"

namespace tensorfleet::cpu {

void RunOnIoThread(std::function<void()> work) {
  // A save, a restore and a merge at once, and one more. Never destroyed: kernels may run until the
  // end of the process.
  constexpr int kThreads = 4;
  static ThreadPool* const threads = new ThreadPool("file-io", kThreads);
  threads->Schedule(std::move(work));
}

Status CheckCancelled(const KernelContext& ctx) {
  const CancellationManager* const cancellation = ctx.step().cancellation;
  if (cancellation == nullptr || !cancellation->is_cancelled()) return OkStatus();
  return cancellation->status();
}

}  // namespace tensorfleet::cpu
