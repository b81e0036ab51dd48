// Restoring. Schemas: runtime/ops/portable/checkpoint_ops.cc; the files: runtime/io.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/saved_tensors.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/checkpoint_inputs.h"
#include "runtime/kernels/portable/io_kernel.h"

namespace tensorfleet::portable {
namespace {

StatusOr<Tensor> RestoreOne(const SavedTensors& saved, const std::string& name,
                            const std::string& spec, DType wanted) {
  TFLEET_ASSIGN_OR_RETURN(const SavedTensors::Info info, saved.Describe(name));
  if (info.dtype != wanted) {
    return InvalidArgument("tensor_name = ", name, "; expected dtype ", DTypeName(wanted),
                           " does not equal original dtype ", DTypeName(info.dtype));
  }
  if (spec.empty()) return saved.Read(name);
  TFLEET_ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(spec));
  if (parsed.shape != info.shape) {
    return InvalidArgument(
        "tensor_name = ", name, "; shape in shape_and_slice spec ", parsed.shape.ToString(),
        " does not match the shape stored in checkpoint: ", info.shape.ToString());
  }
  return saved.ReadSlice(name, parsed.slice);
}

class RestoreV2Kernel final : public IoKernel {
  Status ComputeIo(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const CheckpointInputs in, ReadCheckpointInputs(ctx));
    if (static_cast<int>(in.names.size()) != ctx.num_outputs()) {
      return InvalidArgument("Got ", in.names.size(), " tensor names, but ", ctx.num_outputs(),
                             " expected dtypes.");
    }
    TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<SavedTensors> saved,
                            OpenSavedTensors(in.prefix.file_system, in.prefix.path));
    const int64_t n = ctx.num_outputs();
    std::vector<StatusOr<Tensor>> restored(n, Unknown("not read"));
    IoThreads().ParallelFor(n, /*cost_per_unit=*/100'000, [&](int64_t begin, int64_t end) {
      const ScopedIoInterest interest(ctx.step().cancellation);  // of each thread
      for (int64_t i = begin; i < end; ++i) {
        const Status cancelled = CheckCancelled(ctx);
        restored[i] = cancelled.ok() ? RestoreOne(*saved, in.names[i], in.shapes_and_slices[i],
                                                  ctx.node().output_type(static_cast<int>(i)))
                                     : StatusOr<Tensor>(cancelled);
      }
    });
    for (int64_t i = 0; i < n; ++i) {
      TFLEET_RETURN_IF_ERROR(restored[i].status());
      ctx.SetOutput(static_cast<int>(i), *std::move(restored[i]));
    }
    return OkStatus();
  }
};

// Restore and RestoreSlice: one tensor.
class RestoreV1Kernel final : public IoKernel {
  Status ComputeIo(KernelContext& ctx) const override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).num_elements() != 1) {
        return InvalidArgument("Input ", i, " of ", ctx.node().op(),
                               " must have one element, not the shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    const auto text = [&](int i) { return ctx.input(i).values<std::string>()[0]; };
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(text(0)));
    TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<SavedTensors> saved,
                            OpenSavedTensors(path.file_system, path.path));
    const std::string spec = ctx.num_inputs() > 2 ? text(2) : "";
    TFLEET_ASSIGN_OR_RETURN(Tensor restored,
                            RestoreOne(*saved, text(1), spec, ctx.node().output_type(0)));
    ctx.SetOutput(0, std::move(restored));
    return OkStatus();
  }
};

}  // namespace

void RegisterRestoreKernels(KernelRegistry& kernels) {
  kernels.Add<RestoreV2Kernel>("RestoreV2", kCpu);
  kernels.Add<RestoreV1Kernel>("Restore", kCpu);
  kernels.Add<RestoreV1Kernel>("RestoreSlice", kCpu);
}

}  // namespace tensorfleet::portable
