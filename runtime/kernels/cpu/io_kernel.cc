#include "runtime/kernels/cpu/io_kernel.h"

#include <utility>

#include "runtime/base/thread_pool.h"
#include "runtime/base/thread_priority.h"

namespace tensorfleet::cpu {

void RunOnIoThread(std::function<void()> work) {
  // A restore and a merge at once, and one more. Never destroyed: kernels may run until the end of
  // the process.
  constexpr int kThreads = 3;
  static ThreadPool* const threads = new ThreadPool("file-io", kThreads);
  threads->Schedule(std::move(work));
}

void RunBesideSteps(std::function<void()> work) {
  constexpr int kThreads = 2;
  static ThreadPool* const threads = new ThreadPool("file-save", kThreads);
  threads->Schedule([work = std::move(work)] {
    thread_local const bool is_lowered = (YieldToOtherThreads(), true);
    if (is_lowered) work();
  });
}

void RunBetweenSteps(std::function<void()> work) {
  constexpr int kThreads = 2;
  static ThreadPool* const threads = new ThreadPool("file-idle", kThreads);
  threads->Schedule([work = std::move(work)] {
    thread_local const bool is_lowered = (RunInIdleTime(), true);
    if (is_lowered) work();
  });
}

Status CheckCancelled(const KernelContext& ctx) {
  const CancellationManager* const cancellation = ctx.step().cancellation;
  if (cancellation == nullptr || !cancellation->is_cancelled()) return OkStatus();
  return cancellation->status();
}

}  // namespace tensorfleet::cpu
