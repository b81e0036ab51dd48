// Updates of rows (Scatter*) and of slices named by index tuples (ScatterNd*) of variables, by
// reference and by handle. Schemas: runtime/ops/state/variable_update_ops.cc.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/kernels/row_update.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

class ScatterKernel : public Kernel {
 public:
  explicit ScatterKernel(KernelInit& init)
      : variables_(init, 1),
        op_(RowOpFromName(init.node().op())),
        dtype_(init.node().input_type(2)),
        loop_(RowLoopFor(op_, dtype_)) {
    if (loop_ == nullptr) {
      init.Fail(Unimplemented(init.node().op(), " is not there for ", DTypeName(dtype_)));
    }
  }

  Status Compute(KernelContext& ctx) const final {
    const Tensor& indices = ctx.input(1);
    const Tensor& updates = ctx.input(2);
    VariableUpdate update;
    TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, dtype_));
    TFLEET_RETURN_IF_ERROR(CheckShapes(update.value(0).shape(), indices.shape(), updates.shape()));
    TFLEET_RETURN_IF_ERROR(CheckUpdates(op_, updates));
    TFLEET_ASSIGN_OR_RETURN(const RowIndices rows, ReadIndices(indices, update.value(0).shape()));
    if (rows.size() > 0) TFLEET_RETURN_IF_ERROR(Scatter(ctx, rows, updates, update));
    variables_.ForwardRef(ctx);
    return OkStatus();
  }

 protected:
  bool by_handle() const { return variables_.by_handle(); }

 private:
  virtual Status CheckShapes(const Shape& params, const Shape& indices,
                             const Shape& updates) const = 0;
  virtual StatusOr<RowIndices> ReadIndices(const Tensor& indices, const Shape& params) const = 0;
  // How many elements one index names.
  virtual int64_t ElementsPerIndex(const KernelContext& ctx, const Shape& params) const = 0;

  Status Scatter(KernelContext& ctx, const RowIndices& rows, const Tensor& updates,
                 VariableUpdate& update) const {
    const int64_t n = ElementsPerIndex(ctx, update.value(0).shape());
    if (n == 0) return OkStatus();
    const int64_t bytes = n * static_cast<int64_t>(ElementSize(dtype_));
    TFLEET_RETURN_IF_ERROR(update.PrepareRows(0, rows, bytes));
    char* const base = update.target<char>(0);
    const char* const from = static_cast<const char*>(updates.raw());
    const bool is_scalar = updates.rank() == 0;
    const auto update_row = [&](int64_t i, int64_t row) {
      loop_(base + row * bytes, is_scalar ? from : from + i * bytes, n, is_scalar);
    };
    const auto prefetch = [&](int64_t, int64_t row) { PrefetchRow(base + row * bytes, bytes); };
    rows.ForEach(ctx, 5 + n / 8, update_row, prefetch);
    return OkStatus();
  }

  const VariableInputs variables_;
  const RowOp op_;
  const DType dtype_;
  const RowLoop loop_;
};

class ScatterRowsKernel final : public ScatterKernel {
 public:
  using ScatterKernel::ScatterKernel;

 private:
  Status CheckShapes(const Shape& params, const Shape& indices, const Shape& updates) const final {
    if (params.rank() < 1) {
      return InvalidArgument("params must be at least 1-D, got shape ", params.ToString());
    }
    if (updates.is_scalar()) return OkStatus();
    const bool starts_like_indices =
        updates.rank() >= indices.rank() && updates.SubShape(0, indices.rank()) == indices;
    if (by_handle() && !starts_like_indices) {
      return InvalidArgument("The shape of indices (", indices.ToString(),
                             ") must be a prefix of the shape of updates (", updates.ToString(),
                             ")");
    }
    if (starts_like_indices &&
        updates.SubShape(indices.rank(), updates.rank()) == params.SubShape(1, params.rank())) {
      return OkStatus();
    }
    return InvalidArgument(
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
        "[], got updates.shape ",
        updates.ToString(), ", indices.shape ", indices.ToString(), ", params.shape ",
        params.ToString());
  }
  StatusOr<RowIndices> ReadIndices(const Tensor& indices, const Shape& params) const final {
    return RowIndices::Read(indices, params.dim(0));
  }
  int64_t ElementsPerIndex(const KernelContext&, const Shape& params) const final {
    return params.SubShape(1, params.rank()).num_elements();
  }
};

class ScatterTuplesKernel final : public ScatterKernel {
 public:
  using ScatterKernel::ScatterKernel;

 private:
  Status CheckShapes(const Shape& params, const Shape& indices, const Shape& updates) const final {
    if (params.rank() < 1) {
      return InvalidArgument("Output must be at least 1-D, got shape: ", params.ToString());
    }
    if (indices.rank() < 1) {
      return InvalidArgument("Indices shape must have rank at least one. Found:",
                             indices.ToString());
    }
    const int64_t depth = indices.dim(-1);
    if (depth > params.rank()) {
      return InvalidArgument("The last dimension of indices, ", depth,
                             ", must not exceed the rank of the variable, whose shape is ",
                             params.ToString());
    }
    const int batch = indices.rank() - 1;
    for (int d = 0; d < batch; ++d) {
      if (updates.rank() <= d || updates.dim(d) != indices.dim(d)) {
        return InvalidArgument(
            "Dimensions [0,", batch, ") of indices[shape=", indices.ToString(),
            "] = ", indices.SubShape(0, batch).num_elements(), " must match dimensions [0,", batch,
            ") of updates[shape=", updates.ToString(),
            "] = ", updates.SubShape(0, std::min(batch, updates.rank())).num_elements());
      }
    }
    const int first = static_cast<int>(depth);
    if (updates.SubShape(batch, updates.rank()) != params.SubShape(first, params.rank())) {
      return InvalidArgument("Dimensions [", depth, ",", params.rank(),
                             ") of input[shape=", params.ToString(), "] must match dimensions [",
                             batch, ",", updates.rank(), ") of updates[shape=", updates.ToString(),
                             "]");
    }
    return OkStatus();
  }
  StatusOr<RowIndices> ReadIndices(const Tensor& indices, const Shape& params) const final {
    return RowIndices::ReadTuples(indices, params);
  }
  int64_t ElementsPerIndex(const KernelContext& ctx, const Shape& params) const final {
    const int depth = static_cast<int>(ctx.input(1).dim(-1));
    return params.SubShape(depth, params.rank()).num_elements();
  }
};

// Both forms of Scatter* name the type differently: T, or dtype by handle.
template <typename List>
void AddRows(KernelRegistry& kernels, absl::string_view what, List types) {
  ForEachType(types, [&](auto tag) {
    constexpr DType kType = kDTypeOf<typename decltype(tag)::type>;
    kernels.Add<ScatterRowsKernel>(absl::StrCat("Scatter", what), kCpu, {{"T", kType}});
    kernels.Add<ScatterRowsKernel>(absl::StrCat("ResourceScatter", what), kCpu, {{"dtype", kType}});
  });
}

template <typename List>
void AddTuples(KernelRegistry& kernels, absl::string_view what, List types) {
  ForEachType(types, [&](auto tag) {
    constexpr DType kType = kDTypeOf<typename decltype(tag)::type>;
    kernels.Add<ScatterTuplesKernel>(absl::StrCat("ScatterNd", what), kCpu, {{"T", kType}});
    kernels.Add<ScatterTuplesKernel>(absl::StrCat("ResourceScatterNd", what), kCpu, {{"T", kType}});
  });
}

}  // namespace

void RegisterScatterVariableKernels(KernelRegistry& kernels) {
  for (const char* what : {"Add", "Sub", "Mul", "Div"}) AddRows(kernels, what, Numbers());
  for (const char* what : {"Min", "Max"}) AddRows(kernels, what, Reals());
  for (const char* what : {"Add", "Sub"}) AddTuples(kernels, what, Concat<Numbers, Types<bool>>());
  for (const char* what : {"Min", "Max"}) AddTuples(kernels, what, Reals());
  // A plain copy is the same code for every type.
  kernels.Add<ScatterRowsKernel>("ScatterUpdate", kCpu);
  kernels.Add<ScatterRowsKernel>("ResourceScatterUpdate", kCpu);
  kernels.Add<ScatterTuplesKernel>("ScatterNdUpdate", kCpu);
  kernels.Add<ScatterTuplesKernel>("ResourceScatterNdUpdate", kCpu);
}

}  // namespace tensorfleet::cpu
