#include "runtime/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "runtime/base/check.h"

namespace tensorfleet {
namespace {

// Below this much work a second thread costs more than it gives: waking one takes tens of
// microseconds.
constexpr int64_t kMinNanosPerRange = 40'000;

// Shared by the caller and the helpers of one ParallelFor. Helpers that start after the last range
// was taken find nothing to do, so the body (which lives on the caller's stack) is never touched
// late.
struct LoopState {
  int64_t total = 0;
  int64_t grain = 0;
  std::atomic<int64_t> next{0};
  Mutex mu;
  CondVar idle;
  int running ABSL_GUARDED_BY(mu) = 0;
  bool closed ABSL_GUARDED_BY(mu) = false;

  // Runs ranges until none is left.
  void Drain(absl::FunctionRef<void(int64_t, int64_t)> body) {
    while (true) {
      const int64_t begin = next.fetch_add(grain);
      if (begin >= total) return;
      body(begin, std::min(begin + grain, total));
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
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mu_);
      while (queue_.empty() && !stopping_) has_work_.Wait(&mu_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

void ThreadPool::ParallelFor(int64_t total, int64_t cost_per_unit,
                             absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (total <= 0) return;
  cost_per_unit = std::max<int64_t>(cost_per_unit, 1);
  const int64_t min_units = std::max<int64_t>(1, kMinNanosPerRange / cost_per_unit);
  const int64_t workers = std::min<int64_t>(num_threads() + 1, (total + min_units - 1) / min_units);
  if (workers <= 1) {
    body(0, total);
    return;
  }
  auto state = std::make_shared<LoopState>();
  state->total = total;
  // Several ranges per worker even out unequal speeds.
  state->grain = std::max(min_units, (total + workers * 4 - 1) / (workers * 4));
  for (int64_t i = 1; i < workers; ++i) {
    Schedule([state, body] {
      {
        MutexLock lock(&state->mu);
        if (state->closed) return;
        ++state->running;
      }
      state->Drain(body);
      MutexLock lock(&state->mu);
      if (--state->running == 0) state->idle.NotifyAll();
    });
  }
  state->Drain(body);
  MutexLock lock(&state->mu);
  state->closed = true;
  while (state->running > 0) state->idle.Wait(&state->mu);
}

}  // namespace tensorfleet
