// Combining rows of a variable with rows of updates: what Scatter* and ScatterNd* do to one row.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

enum class RowOp { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

// "Add" is kAdd and so on: the end of the op's name.
RowOp RowOpFromName(absl::string_view op);

// row[i] = row[i] op update[i] for n elements. With `is_scalar` every element meets update[0].
using RowLoop = void (*)(void* row, const void* update, int64_t n, bool is_scalar);

// Null when there is no such operation on the type.
RowLoop RowLoopFor(RowOp op, DType dtype);

// InvalidArgument when `op` is a division of whole numbers and `updates` has a zero.
Status CheckUpdates(RowOp op, const Tensor& updates);

}  // namespace tensorfleet
