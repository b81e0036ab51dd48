#include "runtime/kernels/cpu/io_kernel.h"

#include <utility>

#include "runtime/base/thread_pool.h"
#include "runtime/base/thread_priority.h"

namespace tensorfleet::cpu {
namespace {

constexpr int kSaveThreads = 2;

// On a pool all of whose work is `lower`ed by the same function, which each thread calls once.
void RunLowered(ThreadPool* threads, void (*lower)(), std::function<void()> work) {
  threads->Schedule([lower, work = std::move(work)] {
    thread_local bool is_lowered = false;
    if (!std::exchange(is_lowered, true)) lower();
    work();
  });
}

}  // namespace

void RunOnIoThread(std::function<void()> work) {
  // A restore and a merge at once, and one more. Never destroyed: kernels may run until the end of
  // the process.
  constexpr int kThreads = 3;
  static ThreadPool* const threads = new ThreadPool("file-io", kThreads);
  threads->Schedule(std::move(work));
}

void RunBesideSteps(std::function<void()> work) {
  static ThreadPool* const threads = new ThreadPool("file-save", kSaveThreads);
  RunLowered(threads, YieldToOtherThreads, std::move(work));
}

void RunBetweenSteps(std::function<void()> work) {
  static ThreadPool* const threads = new ThreadPool("file-idle", kSaveThreads);
  RunLowered(threads, RunInIdleTime, std::move(work));
}

Status CheckCancelled(const KernelContext& ctx) {
  const CancellationManager* const cancellation = ctx.step().cancellation;
  if (cancellation == nullptr || !cancellation->is_cancelled()) return OkStatus();
  return cancellation->status();
}

}  // namespace tensorfleet::cpu
