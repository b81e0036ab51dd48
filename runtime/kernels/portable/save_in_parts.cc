// Saving beside steps: one begins to write a part of a checkpoint, another ends when it is written.
// Schemas: runtime/ops/portable/checkpoint_ops.cc; the files: runtime/io.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/contain.h"
#include "runtime/base/mutex.h"
#include "runtime/base/random_id.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/io_kernel.h"
#include "runtime/kernels/portable/save_job.h"
#include "runtime/kernels/resource_manager.h"

namespace tensorfleet::portable {
namespace {

// One part that a step has begun and another waits for. Outlives both.
class PendingPart {
 public:
  using Result = StatusOr<CheckpointPart>;
  using Waiter = std::function<void(const Result& result)>;

  void End(Result result) {
    Waiter waiter;
    {
      MutexLock lock(&mu_);
      result_ = std::move(result);
      waiter = std::move(waiter_);
    }
    if (waiter) waiter(*result_);  // nobody sets it again
  }
  // Calls back when it has ended. For one caller.
  void WhenEnded(Waiter done) {
    {
      MutexLock lock(&mu_);
      if (!result_.has_value()) {
        waiter_ = std::move(done);
        return;
      }
    }
    done(*result_);
  }
  bool has_ended() const {
    MutexLock lock(&mu_);
    return result_.has_value();
  }

  CancellationManager cancellation;

 private:
  mutable Mutex mu_;
  std::optional<Result> result_;  // set once, under mu_
  Waiter waiter_ ABSL_GUARDED_BY(mu_);
};

// The parts on one device that nobody has waited for yet, the last of each stem.
class PendingParts final : public Resource {
 public:
  static StatusOr<ResourceRef<PendingParts>> Of(const KernelContext& ctx) {
    return ctx.step().resources->FindOrMake<PendingParts>(
        "", "fleet_pending_parts", []() -> StatusOr<ResourceRef<PendingParts>> {
          return ResourceRef<PendingParts>::Adopt(new PendingParts);
        });
  }
  std::string DebugString() const override { return "PendingParts"; }

  // In place of one that was begun by a step that failed, which is cancelled. Errors:
  // ResourceExhausted when too many run.
  StatusOr<std::shared_ptr<PendingPart>> Add(const std::string& stem) {
    auto added = std::make_shared<PendingPart>();
    std::shared_ptr<PendingPart> last;
    {
      MutexLock lock(&mu_);
      // Whoever began those that have ended is gone, or would have waited for them.
      if (parts_.size() >= kMost) {
        absl::erase_if(parts_, [](const auto& entry) { return entry.second->has_ended(); });
      }
      if (parts_.size() >= kMost) return ResourceExhausted(kMost, " saves run at once");
      last = std::exchange(parts_[stem], added);
    }
    if (last != nullptr) last->cancellation.StartCancel(Cancelled("another save has begun"));
    return added;
  }
  // Null when there is none.
  std::shared_ptr<PendingPart> Take(const std::string& stem) {
    MutexLock lock(&mu_);
    const auto it = parts_.find(stem);
    if (it == parts_.end()) return nullptr;
    std::shared_ptr<PendingPart> part = std::move(it->second);
    parts_.erase(it);
    return part;
  }

 private:
  static constexpr size_t kMost = 64;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<PendingPart>> parts_ ABSL_GUARDED_BY(mu_);
};

StatusOr<std::string> StemOf(const KernelContext& ctx) {
  const Tensor& stem = ctx.input(0);
  if (stem.num_elements() == 1) return stem.values<std::string>()[0];
  return InvalidArgument(ctx.node().op(), " takes one stem, not ", stem.num_elements());
}

// Ends with the values fixed; what becomes of their bytes, FleetEndSave tells. They are written in
// the time that steps leave: nobody waits for them yet.
class BeginSaveKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string stem, StemOf(ctx));
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<SaveJob> job, SaveJob::Freeze(ctx));
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<PendingParts> parts, PendingParts::Of(ctx));
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<PendingPart> pending, parts->Add(stem));
    const auto run = job->has_snapshots() ? RunBesideSteps : RunBetweenSteps;
    run([pending, job = std::move(job)]() mutable {
      // One that is being cancelled may still have the last name open.
      const std::string suffix = absl::StrCat("-", absl::Hex(RandomNonZero64()));
      auto written = std::make_shared<PendingPart::Result>(
          Contained([&] { return job->WritePart(suffix, &pending->cancellation); }));
      job.reset();  // before anybody hears of it: the memory is free then
      // What comes after takes locks that others want: no work for a thread that yields.
      RunOnIoThread([pending, written] { pending->End(std::move(*written)); });
    });
    return OkStatus();
  }
};

class EndSaveKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const StatusOr<std::string> stem = StemOf(ctx);
    if (!stem.ok()) return done(stem.status());
    const StatusOr<ResourceRef<PendingParts>> parts = PendingParts::Of(ctx);
    if (!parts.ok()) return done(parts.status());
    const std::shared_ptr<PendingPart> part = (*parts)->Take(*stem);
    if (part == nullptr) {
      return done(FailedPrecondition("no save to ", *stem, " has begun on this task"));
    }
    // Nobody else will wait for it: it ends with this step. Its thread sees that soon.
    CancellationManager* const step = ctx.step().cancellation;
    CancellationManager::Token token = -1;
    if (step != nullptr) {
      token = step->Register([part, step] { part->cancellation.StartCancel(step->status()); });
      if (token < 0) part->cancellation.StartCancel(step->status());
    }
    part->WhenEnded([&ctx, step, token, done = std::move(done)](const PendingPart::Result& result) {
      if (token >= 0) step->TryDeregister(token);
      if (result.ok()) ctx.SetOutput(0, Tensor::Scalar(result->SerializeAsString()));
      done(result.status());
    });
  }
};

}  // namespace

void RegisterPartSavingKernels(KernelRegistry& kernels) {
  kernels.Add<BeginSaveKernel>("FleetBeginSave", kCpu);
  kernels.Add<EndSaveKernel>("FleetEndSave", kCpu);
}

}  // namespace tensorfleet::portable
