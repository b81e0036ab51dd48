#include "runtime/kernels/stack_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/kernels/row_update.h"

namespace tensorfleet {
namespace {

// Copies `row` to the corner of the block of shape `dims` that begins at element `at` of `out`.
void CopyToCorner(const Tensor& row, const std::vector<int64_t>& dims, int64_t at, Tensor& out) {
  if (row.num_elements() == 0) return;
  const RowLoop copy = RowLoopFor(RowOp::kUpdate, row.dtype());
  const int64_t size = static_cast<int64_t>(ElementSize(row.dtype()));
  const int rank = row.rank();
  const int64_t run = rank == 0 ? 1 : row.dim(rank - 1);
  std::vector<int64_t> index(rank, 0);
  for (int64_t from = 0; from < row.num_elements(); from += run) {
    int64_t to = 0;
    for (int d = 0; d < rank; ++d) to = to * dims[d] + index[d];
    copy(static_cast<char*>(out.mutable_raw()) + (at + to) * size,
         static_cast<const char*>(row.raw()) + from * size, run, /*is_scalar=*/false);
    for (int d = rank - 2; d >= 0; --d) {
      if (++index[d] < row.dim(d)) break;
      index[d] = 0;
    }
  }
}

}  // namespace

StatusOr<Tensor> StackRows(DType dtype, const PartialShape& row_shape,
                           const std::vector<Tensor>& rows, bool pads) {
  std::vector<int64_t> dims;
  if (rows.empty() || pads) {
    for (const int64_t dim : row_shape.dims()) dims.push_back(std::max<int64_t>(dim, 0));
    for (const Tensor& row : rows) {
      for (int d = 0; d < row.rank(); ++d) dims[d] = std::max(dims[d], row.dim(d));
    }
  } else {
    dims.assign(rows[0].shape().dims().begin(), rows[0].shape().dims().end());
    for (const Tensor& row : rows) {
      if (row.shape() != rows[0].shape()) {
        return InvalidArgument("elements of shapes ", rows[0].shape().ToString(), " and ",
                               row.shape().ToString(), " cannot be put into one tensor");
      }
    }
  }
  std::vector<int64_t> all_dims = dims;
  all_dims.insert(all_dims.begin(), static_cast<int64_t>(rows.size()));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(all_dims));
  TFLEET_ASSIGN_OR_RETURN(Tensor out,
                          pads ? Tensor::Zeros(dtype, shape) : Tensor::Allocate(dtype, shape));
  const int64_t elements =
      rows.empty() ? 0 : shape.num_elements() / static_cast<int64_t>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!pads && IsPlainData(dtype)) {
      std::memcpy(static_cast<char*>(out.mutable_raw()) + i * rows[i].bytes(), rows[i].raw(),
                  rows[i].bytes());
    } else {
      CopyToCorner(rows[i], dims, static_cast<int64_t>(i) * elements, out);
    }
  }
  return out;
}

}  // namespace tensorfleet
