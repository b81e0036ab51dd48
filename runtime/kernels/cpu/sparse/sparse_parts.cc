#include "runtime/kernels/cpu/sparse/sparse_parts.h"

#include <algorithm>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {

Status CheckParts(const SparseParts& parts, int64_t i, DType type, int64_t rank) {
  if (parts[0].dtype() != DType::kInt64 || parts[2].dtype() != DType::kInt64) {
    return InvalidArgument("serialized sparse tensor ", i, " has indices and shape of types ",
                           DTypeName(parts[0].dtype()), " and ", DTypeName(parts[2].dtype()),
                           ", not int64");
  }
  if (parts[1].dtype() != type) {
    return InvalidArgument("Requested SparseTensor of type ", DTypeName(type), " but SparseTensor[",
                           i, "].values.dtype() == ", DTypeName(parts[1].dtype()));
  }
  TFLEET_RETURN_IF_ERROR(MakeSparse(parts[0], parts[1], parts[2]).status());
  if (parts[2].num_elements() != rank) {
    return InvalidArgument("Inconsistent rank across SparseTensors: rank prior to SparseTensor[", i,
                           "] was: ", rank, " but rank of SparseTensor[", i,
                           "] is: ", parts[2].num_elements());
  }
  return OkStatus();
}

Status SetStacked(KernelContext& ctx, DType type, absl::Span<const int64_t> outer,
                  const std::vector<SparseParts>& all) {
  int64_t total = 0;
  for (const SparseParts& parts : all) total += parts[1].num_elements();
  const auto outer_rank = static_cast<int64_t>(outer.size());
  const int64_t inner_rank = all[0][2].num_elements(), rank = outer_rank + inner_rank;
  std::vector<int64_t> shape(outer.begin(), outer.end());
  shape.resize(rank, 0);
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {total, rank}));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(type, {total}));
  std::vector<int64_t> place(outer.size(), 0);
  int64_t* to = indices.mutable_values<int64_t>().data();
  int64_t at = 0;
  for (const SparseParts& parts : all) {
    for (int64_t d = 0; d < inner_rank; ++d) {
      shape[outer_rank + d] = std::max(shape[outer_rank + d], parts[2].values<int64_t>()[d]);
    }
    const int64_t n = parts[1].num_elements();
    const int64_t* from = parts[0].values<int64_t>().data();
    for (int64_t i = 0; i < n; ++i, from += inner_rank) {
      to = std::copy(place.begin(), place.end(), to);
      to = std::copy(from, from + inner_rank, to);
    }
    CopyElements(type, MutableElementAt(values, at), parts[1].raw(), n);
    at += n;
    for (int64_t d = outer_rank - 1; d >= 0 && ++place[d] == outer[d]; --d) place[d] = 0;
  }
  ctx.SetOutput(0, std::move(indices));
  ctx.SetOutput(1, std::move(values));
  ctx.SetOutput(2, Tensor::Vector<int64_t>(absl::MakeConstSpan(shape)));
  return OkStatus();
}

Status VisitRows(const SparseInput& sparse,
                 absl::FunctionRef<Status(int64_t, const SparseParts&)> visit) {
  const int64_t rows = sparse.shape.dim(0), rank = sparse.rank() - 1;
  TFLEET_RETURN_IF_ERROR(CheckWorkSpace(rows, sizeof(std::vector<int64_t>)));
  // Where each row's entries are, in their order.
  std::vector<std::vector<int64_t>> entries(rows);
  for (int64_t i = 0; i < sparse.size(); ++i) {
    const int64_t row = sparse.At(i)[0];
    if (row < 0 || row >= rows) {
      return InvalidArgument("Received unexpected column 0 value in input SparseTensor: ", row,
                             " is not in [0, ", rows, ")");
    }
    entries[row].push_back(i);
  }
  SparseParts parts;
  TFLEET_ASSIGN_OR_RETURN(parts[2], IntegerVector(DType::kInt64, sparse.shape.dims().subspan(1)));
  std::vector<int64_t> coordinates;
  for (int64_t row = 0; row < rows; ++row) {
    coordinates.clear();
    for (const int64_t i : entries[row]) {
      const auto at = sparse.At(i).subspan(1);
      coordinates.insert(coordinates.end(), at.begin(), at.end());
    }
    const auto count = static_cast<int64_t>(entries[row].size());
    TFLEET_ASSIGN_OR_RETURN(parts[0], IndexMatrix(coordinates, count, rank));
    TFLEET_ASSIGN_OR_RETURN(parts[1], PickEntries(*sparse.values, entries[row]));
    TFLEET_RETURN_IF_ERROR(visit(row, parts));
  }
  return OkStatus();
}

}  // namespace tensorfleet::cpu
