#include "runtime/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/contain.h"
#include "runtime/base/flush_denormals.h"
#include "runtime/base/log.h"

namespace tensorfleet {
namespace {

// Below this much work a second thread costs more than it gives: waking one takes tens of
// microseconds.
constexpr int64_t kMinNanosPerRange = 40'000;

// How long a range may take before a cancellation is noticed.
constexpr int64_t kMaxNanosPerRange = 5'000'000;

// Shared by the caller and the helpers of one ParallelFor. Helpers that start after the last range
// was taken find nothing to do, so the body (which lives on the caller's stack) is never touched
// late.
struct LoopState {
  int64_t total = 0;
  int64_t grain = 0;
  const CancellationManager* cancellation = nullptr;
  std::atomic<int64_t> next{0};
  Mutex mu;
  CondVar idle;
  int running ABSL_GUARDED_BY(mu) = 0;
  bool closed ABSL_GUARDED_BY(mu) = false;
  std::exception_ptr thrown ABSL_GUARDED_BY(mu);  // the first one

  // Runs ranges until none is left.
  void Drain(absl::FunctionRef<void(int64_t, int64_t)> body) {
    try {
      while (true) {
        const int64_t begin = next.fetch_add(grain);
        if (begin >= total) return;
        if (cancellation != nullptr) cancellation->LeaveIfCancelled();
        body(begin, std::min(begin + grain, total));
      }
    } catch (...) {
      next.store(total);
      MutexLock lock(&mu);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }
};

}  // namespace

ThreadPool::ThreadPool(absl::string_view name, int num_threads) {
  TFLEET_CHECK(num_threads >= 1);
  threads_.reserve(num_threads);
  const std::string short_name(name.substr(0, 15));
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Loop(); });
    pthread_setname_np(threads_.back().native_handle(), short_name.c_str());
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    has_work_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Schedule(std::function<void()> work) {
  MutexLock lock(&mu_);
  queue_.push_back(std::move(work));
  has_work_.NotifyOne();
}

void ThreadPool::Loop() {
  const ScopedFlushDenormals flush;
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mu_);
      while (queue_.empty() && !stopping_) has_work_.Wait(&mu_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    if (Status status = Contained([&] { work(); }); !status.ok()) {
      LogError("work on a thread pool was broken off", {{"error", status.ToString()}});
    }
  }
}

void ThreadPool::ParallelFor(int64_t total, int64_t cost_per_unit,
                             absl::FunctionRef<void(int64_t, int64_t)> body,
                             const CancellationManager* cancellation) {
  if (total <= 0) return;
  cost_per_unit = std::max<int64_t>(cost_per_unit, 1);
  const int64_t min_units = std::max<int64_t>(1, kMinNanosPerRange / cost_per_unit);
  const int64_t workers = std::min<int64_t>(num_threads() + 1, (total - 1) / min_units + 1);
  if (workers <= 1) {
    body(0, total);
    return;
  }
  auto state = std::make_shared<LoopState>();
  state->total = total;
  state->cancellation = cancellation;
  // Several ranges per worker even out unequal speeds.
  state->grain = std::max(min_units, (total - 1) / (workers * 4) + 1);
  if (cancellation != nullptr) {
    state->grain = std::min(state->grain, std::max<int64_t>(1, kMaxNanosPerRange / cost_per_unit));
  }
  const auto help = [state, body] {
    {
      MutexLock lock(&state->mu);
      if (state->closed) return;
      ++state->running;
    }
    state->Drain(body);
    MutexLock lock(&state->mu);
    if (--state->running == 0) state->idle.NotifyAll();
  };
  // Without memory to ask for help the caller does it all.
  (void)Contained([&] {
    for (int64_t i = 1; i < workers; ++i) Schedule(help);
  });
  state->Drain(body);
  MutexLock lock(&state->mu);
  state->closed = true;
  while (state->running > 0) state->idle.Wait(&state->mu);
  if (state->thrown != nullptr) std::rethrow_exception(state->thrown);
}

}  // namespace tensorfleet
