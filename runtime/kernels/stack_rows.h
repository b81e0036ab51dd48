// Tensors of one shape as the rows of one tensor, with or without filling up.
#pragma once

#include <vector>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// `rows` of type `dtype` as one tensor with a new first dimension. All have one shape that fits
// `row_shape`; with `pads` each dimension that `row_shape` leaves open is as big as the biggest
// row's, and smaller rows are filled up with zeros or "". Without rows, open dimensions are 0.
// Errors: InvalidArgument for rows of different shapes; ResourceExhausted.
StatusOr<Tensor> StackRows(DType dtype, const PartialShape& row_shape,
                           const std::vector<Tensor>& rows, bool pads = false);

}  // namespace tensorfleet
