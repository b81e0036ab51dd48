// OneShotIterator: an iterator that initializes itself, with the data set that a function makes.
#include <deque>

#include "runtime/base/contain.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator_resource.h"
#include "runtime/kernels/function_runner.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet::data {
namespace {

// One for each node of a session: its steps, whatever else they fetch, share the iterator.
class OneShotKernel final : public AsyncKernel {
 public:
  explicit OneShotKernel(KernelInit& init)
      : resource_(init), factory_(init, "dataset_factory", "") {
    init.Get("output_types", &type_.types);
    init.Get("output_shapes", &type_.shapes);
  }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const StatusOr<ResourceRef<IteratorResource>> iterator = FindOrMake(ctx);
    if (!iterator.ok()) return done(iterator.status());
    if ((*iterator)->run().ok()) return Finish(ctx, OkStatus(), done);
    {
      MutexLock lock(&mu_);
      waiting_.push_back({&ctx, done});
      if (waiting_.size() > 1) return;
    }
    const Status started = RunOnDataThread([this, &ctx, iterator = *iterator] {
      FinishAll(Contained([&] { return Initialize(ctx, *iterator); }));
    });
    if (!started.ok()) FinishAll(started);
  }

 private:
  struct Waiting {
    KernelContext* ctx;
    Done done;
  };

  StatusOr<ResourceRef<IteratorResource>> FindOrMake(KernelContext& ctx) const {
    TFLEET_ASSIGN_OR_RETURN(const DisposalRef disposal, DisposalOf(*ctx.step().resources));
    return resource_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<IteratorResource>> {
      return ResourceRef<IteratorResource>::Adopt(new IteratorResource(type_, disposal));
    });
  }

  Status Initialize(KernelContext& ctx, IteratorResource& iterator) const {
    if (iterator.run().ok()) return OkStatus();  // a shared one, initialized meanwhile
    const CapturedFunctionRef factory = factory_.Capture(ctx);
    IteratorScope scope(&ctx.pool(), ctx.step().cancellation, "a one-shot iterator's data set");
    TFLEET_ASSIGN_OR_RETURN(const BoundFunction function, scope.Bind(factory));
    Element results;
    TFLEET_RETURN_IF_ERROR(function.Call({}, &results));
    if (results.size() != 1) {
      return InvalidArgument("The `dataset_factory` function must return a single dataset.");
    }
    TFLEET_ASSIGN_OR_RETURN(DatasetRef dataset, DatasetIn(results[0]));
    return iterator.Initialize(std::move(dataset), &ctx.pool(), resource_.name());
  }

  void FinishAll(const Status& status) const {
    std::deque<Waiting> waiting;
    {
      MutexLock lock(&mu_);
      waiting.swap(waiting_);
    }
    for (Waiting& one : waiting) Finish(*one.ctx, status, one.done);
  }
  void Finish(KernelContext& ctx, const Status& status, const Done& done) const {
    if (status.ok()) ctx.SetOutput(0, resource_.Handle(ctx, kIteratorTypeName));
    done(status);
  }

  const OwnedResource<IteratorResource> resource_;
  const FunctionAttr factory_;
  ElementType type_;
  mutable Mutex mu_;
  mutable std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RegisterOneShotKernels(KernelRegistry& kernels) {
  kernels.Add<OneShotKernel>("OneShotIterator", kCpu);
}

}  // namespace tensorfleet::data
