#include "runtime/data/padding.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/data/rows.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::data {
namespace {

template <typename E>
void FillObjects(void* to, const void* value, int64_t n) {
  std::fill_n(static_cast<E*>(to), n, *static_cast<const E*>(value));
}

void Fill(DType dtype, void* to, const void* value, int64_t n) {
  if (dtype == DType::kString) return FillObjects<std::string>(to, value, n);
  if (dtype == DType::kResource) return FillObjects<ResourceHandle>(to, value, n);
  if (dtype == DType::kVariant) return FillObjects<Variant>(to, value, n);
  const size_t size = ElementSize(dtype);
  const char* const bytes = static_cast<const char*>(value);
  if (n > 0 && std::all_of(bytes, bytes + size, [&](char c) { return c == bytes[0]; })) {
    std::memset(to, bytes[0], n * size);
    return;
  }
  char* out = static_cast<char*>(to);
  for (int64_t k = 0; k < n; ++k, out += size) std::memcpy(out, value, size);
}

// Copies `from`, which fits, to the beginning of each dimension of the row at `to`.
void CopyIntoCorner(const Tensor& from, const Shape& row, char* to) {
  const int rank = row.rank();
  const int64_t size = static_cast<int64_t>(ElementSize(from.dtype()));
  char* source = static_cast<char*>(const_cast<void*>(from.raw()));
  // The last dimensions that are whole, and the one before them, are one piece.
  int outer = rank;
  int64_t piece = 1;
  while (outer > 0) {
    --outer;
    piece *= from.dim(outer);
    if (from.dim(outer) != row.dim(outer)) break;
  }
  if (piece == 0) return;
  std::vector<int64_t> at(outer, 0);
  while (true) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset = offset * row.dim(d) + (d < outer ? at[d] : 0);
    CopyElements(from.dtype(), to + offset * size, source, piece, /*may_take=*/false);
    source += piece * size;
    int d = outer - 1;
    while (d >= 0 && ++at[d] == from.dim(d)) at[d--] = 0;
    if (d < 0) return;
  }
}

}  // namespace

StatusOr<Tensor> PadTogether(const std::vector<Element>& elements, size_t i,
                             const PartialShape& padded, const Tensor& value) {
  const int rank = padded.rank();
  std::vector<int64_t> dims(padded.dims().begin(), padded.dims().end());
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
  bool fills = false;
  for (const Element& element : elements) {
    const Tensor& component = element[i];
    if (component.rank() != rank) {
      return InvalidArgument(
          "All elements in a batch must have the same rank as the padded shape "
          "for component ",
          i, ": expected rank ", rank, " but got element with rank ", component.rank());
    }
    for (int d = 0; d < rank; ++d) {
      if (padded.has_dim(d) && component.dim(d) > padded.dim(d)) {
        return DataLoss("Attempted to pad to a smaller size than the input element.");
      }
      dims[d] = std::max(dims[d], component.dim(d));
    }
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape row, Shape::Make(dims));
  for (const Element& element : elements) fills |= element[i].shape() != row;
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, row.Stacked(static_cast<int64_t>(elements.size())));
  TFLEET_ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(value.dtype(), shape));
  if (shape.num_elements() == 0) return batch;
  char* to = static_cast<char*>(batch.mutable_raw());
  if (fills) Fill(value.dtype(), to, value.raw(), shape.num_elements());
  const int64_t row_bytes = row.num_elements() * static_cast<int64_t>(ElementSize(value.dtype()));
  for (const Element& element : elements) {
    if (element[i].num_elements() > 0) CopyIntoCorner(element[i], row, to);
    to += row_bytes;
  }
  return batch;
}

}  // namespace tensorfleet::data
