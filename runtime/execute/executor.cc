#include "runtime/execute/executor.h"

#include <atomic>
#include <utility>
#include <vector>

#include "runtime/base/contain.h"
#include "runtime/base/mutex.h"
#include "runtime/execute/compile.h"
#include "runtime/execute/step.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {
namespace {

using execute::CompiledGraph;
using execute::Step;

// Idle step states kept for later runs: more of them at once are a burst. One is kept whatever its
// size.
constexpr size_t kMaxIdleSteps = 16;
constexpr size_t kMaxIdleBytes = 256 << 10;
// Costs are measured in the first runs and then in one of this many.
constexpr uint64_t kMeasuredFirst = 3;
constexpr uint64_t kMeasureEvery = 64;

class CompiledExecutor final : public Executor {
 public:
  CompiledExecutor(std::unique_ptr<const Graph> graph, std::unique_ptr<CompiledGraph> compiled,
                   Device* device)
      : graph_(std::move(graph)), compiled_(std::move(compiled)), device_(device) {}

  void RunAsync(const RunArgs& args, std::function<void(Status)> done) const override {
    std::unique_ptr<Step> step;
    {
      MutexLock lock(&mu_);
      if (!idle_.empty()) {
        step = std::move(idle_.back().step);
        idle_bytes_ -= idle_.back().bytes;
        idle_.pop_back();
      }
    }
    if (step == nullptr) {
      const Status made = Contained([&] { step = std::make_unique<Step>(*compiled_); });
      if (!made.ok()) return done(made);
    }
    const uint64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    const bool measure = run < kMeasuredFirst || run % kMeasureEvery == 0;
    StepContext context = args.step;
    if (context.device == nullptr) context.device = device_;
    MemoryAccount* const memory = args.memory != nullptr ? args.memory : MemoryAccount::Current();
    step.release()->Start(context, args.stats, memory, args.caller_may_work, measure,
                          std::move(done), &CompiledExecutor::Recycle,
                          const_cast<CompiledExecutor*>(this));
  }

  size_t idle_bytes() const override {
    MutexLock lock(&mu_);
    return idle_bytes_;
  }
  const Graph& graph() const override { return *graph_; }

 private:
  struct Idle {
    std::unique_ptr<Step> step;
    size_t bytes;
  };

  static void Recycle(void* executor, Step* step) {
    auto* self = static_cast<CompiledExecutor*>(executor);
    std::unique_ptr<Step> owned(step);  // destroyed outside the lock
    const size_t bytes = step->bytes();
    MutexLock lock(&self->mu_);
    const bool fits =
        self->idle_.size() < kMaxIdleSteps && self->idle_bytes_ + bytes <= kMaxIdleBytes;
    if (!fits && !self->idle_.empty()) return;
    self->idle_bytes_ += bytes;
    self->idle_.push_back({std::move(owned), bytes});
  }

  const std::unique_ptr<const Graph> graph_;
  const std::unique_ptr<CompiledGraph> compiled_;
  Device* const device_;
  mutable std::atomic<uint64_t> runs_{0};
  mutable Mutex mu_;
  mutable std::vector<Idle> idle_ ABSL_GUARDED_BY(mu_);
  mutable size_t idle_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Executor>> Executor::Compile(std::unique_ptr<const Graph> graph,
                                                      const Options& options) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<CompiledGraph> compiled,
                          execute::CompileGraph(*graph, options.kernels));
  return std::unique_ptr<Executor>(
      new CompiledExecutor(std::move(graph), std::move(compiled), options.device));
}

Status Executor::Run(const RunArgs& args) const {
  struct Waiter {
    Notification over;
    Status status;
  } waiter;
  RunArgs run = args;
  run.caller_may_work = true;
  RunAsync(run, [&waiter](Status status) {
    waiter.status = std::move(status);
    waiter.over.Notify();
  });
  waiter.over.Wait();
  return std::move(waiter.status);
}

}  // namespace tensorfleet
