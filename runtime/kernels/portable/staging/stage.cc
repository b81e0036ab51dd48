// Staging areas: tuples of tensors that some steps put in and others take out, in order. Stage,
// Unstage, StagePeek, StageSize, StageClear. Schemas: runtime/ops/portable/staging_ops.cc.
#include <deque>
#include <utility>
#include <vector>

#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/staging/staging_limits.h"
#include "runtime/kernels/portable/staging/waiting_ops.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet::portable {
namespace {

using Tuple = std::vector<Tensor>;

class StagingArea final : public Resource {
 public:
  explicit StagingArea(StagingLimits limits) : limits_(limits) {}
  std::string DebugString() const override { return "Staging area"; }

  WaitingOps& ops() { return ops_; }

  // The rest is called by attempts, or with the lock held.
  std::optional<Status> Put(Tuple* tuple) {
    const int64_t bytes = BytesOf(*tuple);
    if (!limits_.MayEverHold(bytes)) return limits_.TooLarge(bytes);
    if (!limits_.HasRoom(static_cast<int64_t>(tuples_.size()), bytes_, bytes)) return std::nullopt;
    bytes_ += bytes;
    tuples_.push_back(std::move(*tuple));
    return OkStatus();
  }
  std::optional<Status> Take(Tuple* tuple) {
    if (tuples_.empty()) return std::nullopt;
    *tuple = std::move(tuples_.front());
    tuples_.pop_front();
    bytes_ -= BytesOf(*tuple);
    return OkStatus();
  }
  std::optional<Status> Peek(int64_t index, Tuple* tuple) const {
    if (index >= static_cast<int64_t>(tuples_.size())) return std::nullopt;
    *tuple = tuples_[index];
    return OkStatus();
  }
  int64_t size() const { return static_cast<int64_t>(tuples_.size()); }
  void Clear() {
    tuples_.clear();
    bytes_ = 0;
  }

 private:
  const StagingLimits limits_;
  WaitingOps ops_;
  std::deque<Tuple> tuples_;  // these two are guarded by ops_.mu()
  int64_t bytes_ = 0;
};

class StagingKernel : public AsyncKernel {
 public:
  explicit StagingKernel(KernelInit& init) : owned_(init), limits_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) const final {
    StatusOr<ResourceRef<StagingArea>> area =
        owned_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<StagingArea>> {
          return ResourceRef<StagingArea>::Adopt(new StagingArea(limits_));
        });
    if (!area.ok()) return done(area.status());
    Use(ctx, *area, std::move(done));
  }

 protected:
  virtual void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const = 0;

  // Sets the outputs to what `attempt(area, &tuple)` has found once it is done.
  template <typename Attempt>
  static void Await(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done,
                    Attempt attempt) {
    auto found = std::make_shared<Tuple>();
    area->ops().Do(
        ctx, [area, found, attempt] { return attempt(*area, found.get()); },
        [&ctx, area, found, done = std::move(done)](Status status) {
          if (status.ok()) status = SetOutputs(ctx, std::move(*found));
          done(std::move(status));
        });
  }

 private:
  static Status SetOutputs(KernelContext& ctx, Tuple tuple) {
    TFLEET_RETURN_IF_ERROR(CheckTuple(ctx.node().output_types(), tuple));
    for (size_t i = 0; i < tuple.size(); ++i) {
      ctx.SetOutput(static_cast<int>(i), std::move(tuple[i]));
    }
    return OkStatus();
  }

  const OwnedResource<StagingArea> owned_;
  const StagingLimits limits_;
};

class Stage final : public StagingKernel {
 public:
  using StagingKernel::StagingKernel;

 private:
  void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const override {
    auto tuple = std::make_shared<Tuple>();
    for (int i = 0; i < ctx.num_inputs(); ++i) tuple->push_back(ctx.TakeInput(i));
    area->ops().Do(
        ctx, [area, tuple] { return area->Put(tuple.get()); }, std::move(done));
  }
};

class Unstage final : public StagingKernel {
 public:
  using StagingKernel::StagingKernel;

 private:
  void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const override {
    Await(ctx, area, std::move(done),
          [](StagingArea& from, Tuple* found) { return from.Take(found); });
  }
};

class StagePeek final : public StagingKernel {
 public:
  using StagingKernel::StagingKernel;

 private:
  void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const override {
    if (!ctx.input(0).shape().is_scalar()) {
      return done(InvalidArgument("index must be scalar"));
    }
    const int64_t index = ctx.input(0).scalar<int32_t>();
    if (index < 0) return done(InvalidArgument("index must not be negative, but is ", index));
    Await(ctx, area, std::move(done),
          [index](StagingArea& from, Tuple* found) { return from.Peek(index, found); });
  }
};

class StageSize final : public StagingKernel {
 public:
  using StagingKernel::StagingKernel;

 private:
  void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const override {
    int64_t size = 0;
    {
      MutexLock lock(&area->ops().mu());
      size = area->size();
    }
    ctx.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(size)));
    done(OkStatus());
  }
};

class StageClear final : public StagingKernel {
 public:
  using StagingKernel::StagingKernel;

 private:
  void Use(KernelContext& ctx, const ResourceRef<StagingArea>& area, Done done) const override {
    area->ops().Do(
        ctx,
        [area]() -> std::optional<Status> {
          area->Clear();
          return OkStatus();
        },
        std::move(done));
  }
};

}  // namespace

void RegisterStageKernels(KernelRegistry& kernels) {
  kernels.Add<Stage>("Stage", kCpu);
  kernels.Add<Unstage>("Unstage", kCpu);
  kernels.Add<StagePeek>("StagePeek", kCpu);
  kernels.Add<StageSize>("StageSize", kCpu);
  kernels.Add<StageClear>("StageClear", kCpu);
}

}  // namespace tensorfleet::portable
