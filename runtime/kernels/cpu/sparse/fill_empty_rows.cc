// SparseFillEmptyRows, RaggedFillEmptyRows and their gradients. Schemas and shape rules:
// runtime/ops/sparse/sparse_ops.cc and sparse_serial_ops.cc.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

// Entries by rows, of either kind of tensor.
struct RowEntries {
  const int64_t* indices = nullptr;  // `rank` for each entry; the first is its row
  int64_t rank = 1;
  const Tensor* values = nullptr;
  int64_t rows = 0;
};

// Sets the outputs; `make_indices(total)` gives the memory for the indices of that many entries.
// Rows keep the order of their entries.
template <typename MakeIndices>
Status FillRows(KernelContext& ctx, const RowEntries& in, const Tensor& fallback,
                const MakeIndices& make_indices) {
  if (!fallback.shape().is_scalar()) {
    return InvalidArgument("default_value must be a scalar, saw: ", fallback.shape().ToString());
  }
  const int64_t size = in.values->dim(0), rank = in.rank, rows = in.rows;
  TFLEET_ASSIGN_OR_RETURN(Tensor is_empty, ctx.Allocate(DType::kBool, {rows}));
  TFLEET_ASSIGN_OR_RETURN(Tensor moved_to, ctx.Allocate(DType::kInt64, {size}));
  // First the number of entries in each row, then where the row's next entry goes.
  TFLEET_ASSIGN_OR_RETURN(Tensor places, Tensor::Zeros(DType::kInt64, {rows}));
  const absl::Span<int64_t> place = places.mutable_values<int64_t>();
  for (int64_t i = 0; i < size; ++i) {
    const int64_t row = in.indices[i * rank];
    if (row < 0 || row >= rows) {
      return InvalidArgument("indices(", i, ", 0) is invalid: ", row, " is not in [0, ", rows, ")");
    }
    ++place[row];
  }
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    is_empty.mutable_values<bool>()[row] = place[row] == 0;
    const int64_t count = std::max<int64_t>(1, place[row]);
    place[row] = total;
    total += count;
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, make_indices(total));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(in.values->dtype(), {total}));
  int64_t* const to = indices.mutable_values<int64_t>().data();
  for (int64_t row = 0; row < rows; ++row) {
    if (!is_empty.values<bool>()[row]) continue;
    to[place[row] * rank] = row;
    CopyElements(values.dtype(), MutableElementAt(values, place[row]), fallback.raw(), 1);
  }
  for (int64_t i = 0; i < size; ++i) {
    const int64_t* const at = in.indices + i * rank;
    const int64_t target = place[at[0]]++;
    moved_to.mutable_values<int64_t>()[i] = target;
    std::copy(at, at + rank, to + target * rank);
    CopyElements(values.dtype(), MutableElementAt(values, target), ElementAt(*in.values, i), 1);
  }
  ctx.SetOutput(0, std::move(indices));
  ctx.SetOutput(1, std::move(values));
  ctx.SetOutput(2, std::move(is_empty));
  ctx.SetOutput(3, std::move(moved_to));
  return OkStatus();
}

class SparseFillEmptyRows final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    if (sparse.rank() < 1) return InvalidArgument("Dense shape cannot be empty.");
    const RowEntries in{sparse.indices->values<int64_t>().data(), sparse.rank(), sparse.values,
                        sparse.shape.dim(0)};
    return FillRows(ctx, in, ctx.input(3), [&](int64_t total) {
      return Tensor::Zeros(DType::kInt64, {total, in.rank});
    });
  }
};

class RaggedFillEmptyRows final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &ids = ctx.input(0), &values = ctx.input(1), &rows = ctx.input(2);
    if (ids.rank() != 1 || values.rank() != 1 || ids.dim(0) != values.dim(0)) {
      return InvalidArgument("value_rowids and values must be vectors of one length, saw: ",
                             ids.shape().ToString(), " and ", values.shape().ToString());
    }
    if (!rows.shape().is_scalar()) {
      return InvalidArgument("nrows must be a scalar, saw: ", rows.shape().ToString());
    }
    const RowEntries in{ids.values<int64_t>().data(), 1, &values, rows.scalar<int64_t>()};
    if (in.rows < 0) return InvalidArgument("nrows must not be negative, saw: ", in.rows);
    return FillRows(ctx, in, ctx.input(3),
                    [&](int64_t total) { return ctx.Allocate(DType::kInt64, {total}); });
  }
};

template <typename T>
class FillEmptyRowsGrad final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& moved_to = ctx.input(0);
    const Tensor& gradient = ctx.input(1);
    if (moved_to.rank() != 1) {
      return InvalidArgument("reverse_index_map must be a vector, saw: ",
                             moved_to.shape().ToString());
    }
    if (gradient.rank() != 1) {
      return InvalidArgument("grad_values must be a vector, saw: ", gradient.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, moved_to.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor fallback, Tensor::Zeros(kDTypeOf<T>, Shape()));
    std::vector<bool> was_there(gradient.dim(0));
    for (int64_t i = 0; i < moved_to.dim(0); ++i) {
      const int64_t at = moved_to.values<int64_t>()[i];
      if (at < 0 || at >= gradient.dim(0)) {
        return InvalidArgument("Elements in reverse index must be in [0, ", gradient.dim(0),
                               ") but got ", at);
      }
      values.template mutable_values<T>()[i] = gradient.values<T>()[at];
      was_there[at] = true;
    }
    T& sum = fallback.template mutable_values<T>()[0];
    for (int64_t i = 0; i < gradient.dim(0); ++i) {
      if (!was_there[i]) sum = WrapAdd(sum, gradient.values<T>()[i]);
    }
    ctx.SetOutput(0, std::move(values));
    ctx.SetOutput(1, std::move(fallback));
    return OkStatus();
  }
};

}  // namespace

void RegisterFillEmptyRowsKernels(KernelRegistry& r) {
  r.Add<SparseFillEmptyRows>("SparseFillEmptyRows", kCpu);
  r.Add<RaggedFillEmptyRows>("RaggedFillEmptyRows", kCpu);
  AddForTypes<FillEmptyRowsGrad>(r, "SparseFillEmptyRowsGrad", Numbers());
  AddForTypes<FillEmptyRowsGrad>(r, "RaggedFillEmptyRowsGrad", Numbers());
}

}  // namespace tensorfleet::cpu
