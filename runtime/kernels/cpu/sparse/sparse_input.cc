#include "runtime/kernels/cpu/sparse/sparse_input.h"

#include <numeric>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/elements.h"

namespace tensorfleet::cpu {

int64_t SparseInput::Offset(int64_t i) const {
  int64_t offset = 0;
  const absl::Span<const int64_t> at = At(i);
  for (int d = 0; d < rank(); ++d) offset = offset * shape.dim(d) + at[d];
  return offset;
}

StatusOr<SparseInput> MakeSparse(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return InvalidArgument("Expected indices to be a matrix, got shape ",
                           indices.shape().ToString());
  }
  if (values.rank() != 1) {
    return InvalidArgument("Expected values to be a vector, got shape ", values.shape().ToString());
  }
  if (shape.rank() != 1) {
    return InvalidArgument("Expected dense_shape to be a vector, got shape ",
                           shape.shape().ToString());
  }
  if (indices.dim(0) != values.dim(0)) {
    return InvalidArgument("Number of values must match first dimension of indices. Got ",
                           values.dim(0), " values, indices shape: ", indices.shape().ToString());
  }
  if (indices.dim(1) != shape.dim(0)) {
    return InvalidArgument("Number of dimensions must match second dimension of indices. Got ",
                           shape.dim(0),
                           " dimensions, indices shape: ", indices.shape().ToString());
  }
  SparseInput sparse;
  sparse.indices = &indices;
  sparse.values = &values;
  TFLEET_ASSIGN_OR_RETURN(sparse.shape, Shape::Make(shape.values<int64_t>()));
  return sparse;
}

StatusOr<SparseInput> ReadSparse(const KernelContext& ctx, int first) {
  return MakeSparse(ctx.input(first), ctx.input(first + 1), ctx.input(first + 2));
}

Status CheckInBounds(const SparseInput& sparse) {
  for (int64_t i = 0; i < sparse.size(); ++i) {
    const absl::Span<const int64_t> at = sparse.At(i);
    for (int d = 0; d < sparse.rank(); ++d) {
      if (at[d] < 0 || at[d] >= sparse.shape.dim(d)) {
        return InvalidArgument("indices[", i, "] = [", absl::StrJoin(at, ","),
                               "] is out of bounds: need 0 <= index < ", sparse.shape.ToString());
      }
    }
  }
  return OkStatus();
}

std::vector<int64_t> SortedEntries(const SparseInput& sparse) {
  std::vector<int64_t> entries(sparse.size());
  std::iota(entries.begin(), entries.end(), int64_t{0});
  std::stable_sort(entries.begin(), entries.end(),
                   [&](int64_t a, int64_t b) { return sparse.At(a) < sparse.At(b); });
  return entries;
}

StatusOr<Tensor> IndexMatrix(absl::Span<const int64_t> coordinates, int64_t n, int64_t rank) {
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, {n, rank}));
  std::copy(coordinates.begin(), coordinates.end(), indices.mutable_values<int64_t>().begin());
  return indices;
}

StatusOr<Tensor> PickEntries(const Tensor& values, absl::Span<const int64_t> picked) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out,
                          Tensor::Allocate(values.dtype(), {static_cast<int64_t>(picked.size())}));
  VisitElement(values.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::Type;
    const E* from = ElementsOf<E>(values);
    E* to = MutableElementsOf<E>(out);
    for (const int64_t i : picked) *to++ = from[i];
  });
  return out;
}

}  // namespace tensorfleet::cpu
