// ResourceGather and ResourceGatherNd: rows and slices of a variable, read without a copy of the
// whole. Schemas: runtime/ops/state/variable_update_ops.cc.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/kernels/cpu/state/variable_lookup.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/kernels/row_update.h"

namespace tensorfleet::cpu {
namespace {

// out[i] = params[rows[i]], each of `n` elements.
void CopyRows(const KernelContext& ctx, const Tensor& params, const RowIndices& rows, int64_t n,
              Tensor& out) {
  if (rows.size() == 0 || n == 0) return;
  const RowLoop copy = RowLoopFor(RowOp::kUpdate, params.dtype());
  const int64_t bytes = n * static_cast<int64_t>(ElementSize(params.dtype()));
  const char* const from = static_cast<const char*>(params.raw());
  char* const to = static_cast<char*>(out.mutable_raw());
  const auto copy_range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (IsPlainData(params.dtype())) {
        std::memcpy(to + i * bytes, from + rows[i] * bytes, bytes);
      } else {
        copy(to + i * bytes, from + rows[i] * bytes, n, /*is_scalar=*/false);
      }
    }
  };
  if (rows.size() * bytes < 32768) return copy_range(0, rows.size());
  ParallelFor(ctx, rows.size(), 5 + bytes / 8, copy_range);
}

StatusOr<Tensor> ReadVariable(KernelContext& ctx, const VariableLookup& lookup) {
  TFLEET_ASSIGN_OR_RETURN(ResourceRef<Variable> variable, lookup.Find(ctx, 0));
  Tensor value = variable->Read();
  if (!value.is_valid()) return VariableNotFound(ctx, 0);
  if (value.dtype() != ctx.node().output_type(0)) {
    return InvalidArgument("Trying to gather variable with wrong dtype. Expected ",
                           DTypeName(ctx.node().output_type(0)), " got ", DTypeName(value.dtype()));
  }
  return value;
}

class ResourceGatherKernel final : public Kernel {
 public:
  explicit ResourceGatherKernel(KernelInit& init) { init.Get("batch_dims", &batch_dims_); }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, lookup_));
    const Tensor& indices = ctx.input(1);
    if (params.rank() < 1) return InvalidArgument("params must be at least 1 dimensional");
    const int batch_dims =
        static_cast<int>(batch_dims_ < 0 ? indices.rank() + batch_dims_ : batch_dims_);
    if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank()) {
      return InvalidArgument("batch_dims (", batch_dims_, ") must be less than rank(params) (",
                             params.rank(), ") and at most rank(indices) (", indices.rank(), ")");
    }
    if (params.shape().SubShape(0, batch_dims) != indices.shape().SubShape(0, batch_dims)) {
      return InvalidArgument("params.shape ", params.shape().ToString(), " and indices.shape ",
                             indices.shape().ToString(), " must agree in the first ", batch_dims,
                             " dimensions");
    }
    // [batch..., indices' other dimensions..., params' dimensions behind the one that is
    // indexed...]
    const Shape tail = params.shape().SubShape(batch_dims + 1, params.rank());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, indices.shape().Concatenated(tail));
    TFLEET_ASSIGN_OR_RETURN(RowIndices rows, RowIndices::Read(indices, params.dim(batch_dims)));
    const int64_t batches = indices.shape().SubShape(0, batch_dims).num_elements();
    if (batch_dims > 0 && batches > 0)
      rows.OffsetByBatch(rows.size() / batches, params.dim(batch_dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
    CopyRows(ctx, params, rows, tail.num_elements(), out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  VariableLookup lookup_;
  int64_t batch_dims_ = 0;
};

class ResourceGatherNdKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, lookup_));
    const Tensor& indices = ctx.input(1);
    if (params.rank() < 1) return InvalidArgument("params must be at least a vector");
    if (indices.rank() < 1) return InvalidArgument("indices must be at least a vector");
    const int64_t depth = indices.dim(-1);
    if (depth > params.rank()) {
      return InvalidArgument("index innermost dimension length must be <= params rank; saw: ",
                             depth, " vs. ", params.rank());
    }
    const Shape tail = params.shape().SubShape(static_cast<int>(depth), params.rank());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            indices.shape().SubShape(0, indices.rank() - 1).Concatenated(tail));
    TFLEET_ASSIGN_OR_RETURN(const RowIndices rows, RowIndices::ReadTuples(indices, params.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
    CopyRows(ctx, params, rows, tail.num_elements(), out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  VariableLookup lookup_;
};

}  // namespace

void RegisterResourceGatherKernels(KernelRegistry& kernels) {
  kernels.Add<ResourceGatherKernel>("ResourceGather", kCpu);
  kernels.Add<ResourceGatherNdKernel>("ResourceGatherNd", kCpu);
}

}  // namespace tensorfleet::cpu
