// Ragged tensors: nested row splits, outermost first, and the values of the innermost rows.
#pragma once

#include <vector>

#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

using Splits = std::vector<int64_t>;

struct Ragged {
  std::vector<Splits> splits;
  Tensor values;

  // How many rows it has; of none without splits: its values.
  int64_t rows() const {
    return splits.empty() ? values.dim(0) : static_cast<int64_t>(splits[0].size()) - 1;
  }
};

// `rank` inputs of splits from `first` on, and the values after them. Errors: InvalidArgument for
// splits that do not begin at 0, go back, or end elsewhere than at the end of what they split.
StatusOr<Ragged> ReadRagged(const KernelContext& ctx, int first, int rank);
Status CheckRagged(const Ragged& ragged);

// Splits as an output of int32 or int64. Errors: InvalidArgument for what does not fit.
StatusOr<Tensor> SplitsTensor(DType dtype, const Splits& splits);

// Elements [begin, end) of the first dimension, in new memory.
StatusOr<Tensor> CopiedRows(const Tensor& values, int64_t begin, int64_t end);

}  // namespace tensorfleet::cpu
