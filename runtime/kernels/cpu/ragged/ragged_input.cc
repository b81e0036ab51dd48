#include "runtime/kernels/cpu/ragged/ragged_input.h"

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"

namespace tensorfleet::cpu {

Status CheckRagged(const Ragged& ragged) {
  if (ragged.values.rank() < 1) {
    return InvalidArgument("the values of a ragged tensor must have a first dimension, but are of ",
                           "shape ", ragged.values.shape().ToString());
  }
  for (size_t level = 0; level < ragged.splits.size(); ++level) {
    const Splits& splits = ragged.splits[level];
    if (splits.empty()) return InvalidArgument("Expected at least one element in splits ", level);
    if (splits[0] != 0) {
      return InvalidArgument("Expected first row_splits value to be 0, but got ", splits[0]);
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) {
        return InvalidArgument("row_splits must be sorted, but ", splits[i], " follows ",
                               splits[i - 1]);
      }
    }
    const int64_t rows = level + 1 < ragged.splits.size()
                             ? static_cast<int64_t>(ragged.splits[level + 1].size()) - 1
                             : ragged.values.dim(0);
    if (splits.back() != rows) {
      return InvalidArgument("row_splits ", level, " end at ", splits.back(), ", but there are ",
                             rows, " rows or values");
    }
  }
  return OkStatus();
}

StatusOr<Ragged> ReadRagged(const KernelContext& ctx, int first, int rank) {
  Ragged ragged;
  for (int i = first; i < first + rank; ++i) {
    const Tensor& splits = ctx.input(i);
    if (splits.rank() != 1) {
      return InvalidArgument("row_splits must be a vector, not of shape ",
                             splits.shape().ToString());
    }
    const Integers values = IntegersOf(splits);
    ragged.splits.emplace_back(values.begin(), values.end());
  }
  ragged.values = ctx.input(first + rank);
  TFLEET_RETURN_IF_ERROR(CheckRagged(ragged));
  return ragged;
}

StatusOr<Tensor> SplitsTensor(DType dtype, const Splits& splits) {
  return IntegerVector(dtype, splits);
}

StatusOr<Tensor> CopiedRows(const Tensor& values, int64_t begin, int64_t end) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, values.shape().WithDim(0, end - begin));
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(values.dtype(), shape));
  if (out.num_elements() == 0) return out;
  const int64_t row = values.num_elements() / values.dim(0);
  CopyElements(values.dtype(), out.mutable_raw(), ElementAt(values, begin * row),
               (end - begin) * row);
  return out;
}

}  // namespace tensorfleet::cpu
