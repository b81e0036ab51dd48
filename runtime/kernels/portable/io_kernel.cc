#include "runtime/kernels/portable/io_kernel.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/base/thread_pool.h"
#include "runtime/base/thread_priority.h"

namespace tensorfleet::portable {
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

ThreadPool& IoThreads() {
  // Enough to restore several tensors while others wait for a store. Never destroyed: kernels may
  // run until the end of the process.
  constexpr unsigned kLeast = 4, kMost = 16;
  static ThreadPool* const threads = new ThreadPool(
      "file-io", static_cast<int>(std::clamp(std::thread::hardware_concurrency(), kLeast, kMost)));
  return *threads;
}

void RunOnIoThread(std::function<void()> work) { IoThreads().Schedule(std::move(work)); }

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

}  // namespace tensorfleet::portable
