// Saving. Schemas: runtime/ops/portable/checkpoint_ops.cc; the files: runtime/io.
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/checkpoint_inputs.h"
#include "runtime/kernels/portable/io_kernel.h"
#include "runtime/kernels/portable/save_job.h"

namespace tensorfleet::portable {

StatusOr<CheckpointInputs> ReadCheckpointInputs(const KernelContext& ctx) {
  const Tensor &prefix = ctx.input(0), &names = ctx.input(1), &slices = ctx.input(2);
  if (prefix.num_elements() != 1) {
    return InvalidArgument("Input prefix should have a single element, got ", prefix.num_elements(),
                           " instead.");
  }
  if (names.rank() != 1) {
    return InvalidArgument("Input tensor_names should be an 1-D tensor, got ",
                           names.shape().ToString(), " instead.");
  }
  if (slices.rank() != 1) {
    return InvalidArgument("Input shape_and_slices should be an 1-D tensor, got ",
                           slices.shape().ToString(), " instead.");
  }
  if (names.num_elements() != slices.num_elements()) {
    return InvalidArgument("tensor_names and shape_and_slices have different number of elements: ",
                           names.num_elements(), " vs. ", slices.num_elements());
  }
  TFLEET_ASSIGN_OR_RETURN(ResolvedPath path, ResolvePath(prefix.values<std::string>()[0]));
  return CheckpointInputs{std::move(path), names.values<std::string>(),
                          slices.values<std::string>()};
}

namespace {

// Training goes on while the bytes go out: the values are frozen at once, and written on another
// thread. The op is done when the files are safe on the disk.
class SaveKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    StatusOr<std::unique_ptr<SaveJob>> frozen = SaveJob::Freeze(ctx);
    if (!frozen.ok()) return done(frozen.status());
    // Somebody may be waiting for what takes no time anyway.
    const bool yields = (*frozen)->is_long();
    // std::function wants what can be copied.
    std::shared_ptr<SaveJob> job = *std::move(frozen);
    (yields ? RunBesideSteps
            : RunOnIoThread)([cancellation = ctx.step().cancellation, yields, job = std::move(job),
                              done = std::move(done)]() mutable {
      const Status saved = Contained([&] { return job->Write(cancellation); });
      job.reset();  // before anybody hears of it: the memory is free then
      if (!yields) return done(saved);
      // The rest of the step takes locks that others want: no work for a thread that yields.
      RunOnIoThread([saved, done = std::move(done)] { done(saved); });
    });
  }
};

}  // namespace

void RegisterSaveKernels(KernelRegistry& kernels) { kernels.Add<SaveKernel>("SaveV2", kCpu); }

}  // namespace tensorfleet::portable
