// Accumulators of gradients. Schemas: runtime/ops/state/accumulator_ops.cc; what they do:
// accumulator.h.
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/cpu/state/accumulator.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/named_resource.h"

namespace tensorfleet::cpu {
namespace {

// Makes an accumulator of class T and hands out its handle or name.
template <typename T>
class AccumulatorKernel final : public Kernel {
 public:
  explicit AccumulatorKernel(KernelInit& init) : resource_(init) {
    std::string reduction;
    init.Get("dtype", &spec_.dtype);
    init.Get("shape", &spec_.shape);
    init.Get("reduction_type", &reduction);
    spec_.takes_mean = reduction == "MEAN";
    spec_.name = resource_.name();
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<T> accumulator,
                            resource_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<T>> {
                              return ResourceRef<T>::Adopt(new T(spec_));
                            }));
    if (accumulator->spec().dtype != spec_.dtype) {
      return InvalidArgument("Shared accumulator '", spec_.name, "' is of type ",
                             DTypeName(accumulator->spec().dtype), " but requested type was ",
                             DTypeName(spec_.dtype));
    }
    resource_.SetOutput(ctx, "N10tensorflow26ConditionalAccumulatorBaseE");
    return OkStatus();
  }

 private:
  const NamedResource<T> resource_;
  AccumulatorSpec spec_;
};

// For ops that serve both kinds.
StatusOr<ResourceRef<Accumulator>> FindAnyAccumulator(KernelContext& ctx) {
  StatusOr<ResourceRef<DenseAccumulator>> dense = LookupNamedResource<DenseAccumulator>(ctx, 0);
  if (dense.ok()) return ResourceRef<Accumulator>(dense->get());
  if (!absl::IsNotFound(dense.status())) return dense.status();
  const StatusOr<ResourceRef<SparseAccumulator>> sparse =
      LookupNamedResource<SparseAccumulator>(ctx, 0);
  if (sparse.ok()) return ResourceRef<Accumulator>(sparse->get());
  return dense.status();
}

template <typename T>
StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name) {
  if (ctx.input(i).rank() == 0) return ctx.input(i).scalar<T>();
  return InvalidArgument("Argument ", name, " must be scalar, but had bad shape ",
                         ctx.input(i).shape().ToString());
}

class ApplyDenseKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto accumulator, LookupNamedResource<DenseAccumulator>(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 1, "local_step"));
    return accumulator->Apply(ctx, step, ctx.TakeInput(2));
  }
  bool IsExpensive() const override { return true; }
};

class ApplySparseKernel final : public Kernel {
 public:
  explicit ApplySparseKernel(KernelInit& init) { init.Get("has_known_shape", &has_known_shape_); }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto accumulator, LookupNamedResource<SparseAccumulator>(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 1, "local_step"));
    const Tensor& shape = ctx.input(4);
    if (has_known_shape_ && shape.rank() != 1) {
      return InvalidArgument("Input shape should be vector but received shape: ",
                             shape.shape().ToString());
    }
    absl::Span<const int64_t> dims;
    if (has_known_shape_) dims = shape.values<int64_t>();
    return accumulator->Apply(step, ctx.input(2), ctx.input(3), dims);
  }
  bool IsExpensive() const override { return true; }

 private:
  bool has_known_shape_ = false;
};

template <typename T>
class TakeKernel final : public AsyncKernel {
 public:
  explicit TakeKernel(KernelInit& init) { init.Get("dtype", &dtype_); }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const StatusOr<ResourceRef<T>> accumulator = LookupNamedResource<T>(ctx, 0);
    if (!accumulator.ok()) return done(accumulator.status());
    const StatusOr<int32_t> required = ScalarInput<int32_t>(ctx, 1, "num_required");
    if (!required.ok()) return done(required.status());
    if (*required < 1) {
      return done(InvalidArgument("Argument num_required must be positive, but was ", *required));
    }
    if ((*accumulator)->spec().dtype != dtype_) {
      return done(InvalidArgument("Accumulator '", (*accumulator)->spec().name, "' is of type ",
                                  DTypeName((*accumulator)->spec().dtype), ", not ",
                                  DTypeName(dtype_)));
    }
    (*accumulator)
        ->Take(*required, {ctx.step().cancellation, &ctx.step().device->pool()},
               [&ctx, done = std::move(done)](Status status, std::vector<Tensor> taken) {
                 for (size_t i = 0; i < taken.size(); ++i) {
                   ctx.SetOutput(static_cast<int>(i), std::move(taken[i]));
                 }
                 done(std::move(status));
               });
  }

 private:
  DType dtype_ = DType::kInvalid;
};

class SetGlobalStepKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto accumulator, FindAnyAccumulator(ctx));
    TFLEET_ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 1, "new_global_step"));
    accumulator->SetGlobalStep(step);
    return OkStatus();
  }
};

class NumAccumulatedKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto accumulator, FindAnyAccumulator(ctx));
    ctx.SetOutput(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(accumulator->num_accumulated())));
    return OkStatus();
  }
};

}  // namespace

void RegisterAccumulatorKernels(KernelRegistry& kernels) {
  for (const DType dtype : {DType::kHalf, DType::kFloat, DType::kDouble}) {
    const TypeConstraints of_type = {{"dtype", dtype}};
    kernels.Add<AccumulatorKernel<DenseAccumulator>>("ConditionalAccumulator", kCpu, of_type);
    kernels.Add<AccumulatorKernel<DenseAccumulator>>("ResourceConditionalAccumulator", kCpu,
                                                     of_type);
    kernels.Add<AccumulatorKernel<SparseAccumulator>>("SparseConditionalAccumulator", kCpu,
                                                      of_type);
    for (const char* op : {"AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient"}) {
      kernels.Add<ApplyDenseKernel>(op, kCpu, of_type);
    }
    for (const char* op : {"AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"}) {
      kernels.Add<TakeKernel<DenseAccumulator>>(op, kCpu, of_type);
    }
    kernels.Add<ApplySparseKernel>("SparseAccumulatorApplyGradient", kCpu, of_type);
    kernels.Add<TakeKernel<SparseAccumulator>>("SparseAccumulatorTakeGradient", kCpu, of_type);
  }
  for (const char* op : {"AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep"}) {
    kernels.Add<SetGlobalStepKernel>(op, kCpu);
  }
  for (const char* op : {"AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated"}) {
    kernels.Add<NumAccumulatedKernel>(op, kCpu);
  }
}

}  // namespace tensorfleet::cpu
