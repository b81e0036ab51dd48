// Sparse tensors, which travel as three inputs: indices [n, rank] (int64), values [n] and the dense
// shape [rank] (int64).
#pragma once

#include <vector>

#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

struct SparseInput {
  const Tensor* indices = nullptr;
  const Tensor* values = nullptr;
  Shape shape;

  int64_t size() const { return indices->dim(0); }
  int rank() const { return static_cast<int>(indices->dim(1)); }
  // The coordinates of entry `i`.
  absl::Span<const int64_t> At(int64_t i) const {
    return indices->values<int64_t>().subspan(i * rank(), rank());
  }
  // Where entry `i` is in the dense tensor, row-major; it must be inside.
  int64_t Offset(int64_t i) const;
};

// The three inputs from `first` on. Errors: InvalidArgument when their shapes do not go together.
StatusOr<SparseInput> ReadSparse(const KernelContext& ctx, int first);
// The same, of given tensors.
StatusOr<SparseInput> MakeSparse(const Tensor& indices, const Tensor& values, const Tensor& shape);

// Errors: InvalidArgument `indices[1] = [5,0] is out of bounds: need 0 <= index < [2,3]`.
Status CheckInBounds(const SparseInput& sparse);

// The numbers of the entries, sorted by their coordinates; equal ones keep their order.
std::vector<int64_t> SortedEntries(const SparseInput& sparse);

// Row-major coordinates, row after row, as the indices output [n, rank].
StatusOr<Tensor> IndexMatrix(absl::Span<const int64_t> coordinates, int64_t n, int64_t rank);

// Entries `picked` of a tensor of any type, in that order.
StatusOr<Tensor> PickEntries(const Tensor& values, absl::Span<const int64_t> picked);

}  // namespace tensorfleet::cpu
