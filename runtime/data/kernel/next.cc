// IteratorGetNext: an element of an iterator.
#include "runtime/data/next.h"
#include "runtime/data/families.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::data {
namespace {

class GetNextKernel final : public AsyncKernel {
 public:
  explicit GetNextKernel(KernelInit& init) { init.Get("output_types", &types_); }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    NextElement(ctx, [this, &ctx, done = std::move(done)](IteratorRun::Result result) {
      if (!result.ok()) return done(result.status());
      if (!result->has_value()) return done(OutOfRange("End of sequence"));
      Element& element = **result;
      if (Status status = CheckTypes(element, types_); !status.ok()) return done(status);
      for (size_t i = 0; i < element.size(); ++i) {
        ctx.SetOutput(static_cast<int>(i), std::move(element[i]));
      }
      done(OkStatus());
    });
  }

 private:
  std::vector<DType> types_;
};

}  // namespace

void NextElement(KernelContext& ctx, IteratorRun::Done done) {
  const StatusOr<ResourceRef<IteratorResource>> iterator = IteratorInput(ctx, 0);
  if (!iterator.ok()) return done(iterator.status());
  const StatusOr<std::shared_ptr<IteratorRun>> run = (*iterator)->run();
  if (!run.ok()) return done(run.status());
  (*run)->Next(ctx.step().cancellation, std::move(done));
}

void RegisterNextKernels(KernelRegistry& kernels) {
  kernels.Add<GetNextKernel>("IteratorGetNext", kCpu);
  kernels.Add<GetNextKernel>("IteratorGetNextSync", kCpu);
}

}  // namespace tensorfleet::data
