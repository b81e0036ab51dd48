#include "runtime/kernels/cpu/io_kernel.h"

#include <unistd.h>

#include <utility>

#include "runtime/base/thread_pool.h"

namespace tensorfleet::cpu {

void RunOnIoThread(std::function<void()> work) {
  // A restore and a merge at once, and one more. Never destroyed: kernels may run until the end of
  // the process.
  constexpr int kThreads = 3;
  static ThreadPool* const threads = new ThreadPool("file-io", kThreads);
  threads->Schedule(std::move(work));
}

void RunBesideSteps(std::function<void()> work) {
  constexpr int kThreads = 2, kNice = 10;
  static ThreadPool* const threads = new ThreadPool("file-save", kThreads);
  threads->Schedule([work = std::move(work)] {
    // Of this thread alone, as Linux has it. Not to be taken back: that needs a privilege.
    thread_local const int lowered = ::nice(kNice);
    (void)lowered;
    work();
  });
}

Status CheckCancelled(const KernelContext& ctx) {
  const CancellationManager* const cancellation = ctx.step().cancellation;
  if (cancellation == nullptr || !cancellation->is_cancelled()) return OkStatus();
  return cancellation->status();
}

}  // namespace tensorfleet::cpu
