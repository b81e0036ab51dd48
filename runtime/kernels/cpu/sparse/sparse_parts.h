// Sparse tensors as their three parts, and several of them put together: what serialized ones and
// those in maps have in common.
#pragma once

#include <array>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// Indices, values and dense shape.
using SparseParts = std::array<Tensor, 3>;

// Part `i` of several: is it a sparse tensor with values of `type` and `rank` dimensions? Errors:
// InvalidArgument.
Status CheckParts(const SparseParts& parts, int64_t i, DType type, int64_t rank);

// Sets outputs 0 to 2 to one sparse tensor of checked parts, as many as `outer` has elements, which
// has the outer dimensions before their own; each of these is as large as the largest part's.
Status SetStacked(KernelContext& ctx, DType type, absl::Span<const int64_t> outer,
                  const std::vector<SparseParts>& all);

// Calls visit(row, parts) for each row of a sparse tensor of two dimensions or more, in order: the
// row as a sparse tensor with one dimension less. Ends with the first error of `visit`. Errors:
// InvalidArgument for an entry outside of the rows.
Status VisitRows(const SparseInput& sparse,
                 absl::FunctionRef<Status(int64_t, const SparseParts&)> visit);

}  // namespace tensorfleet::cpu
