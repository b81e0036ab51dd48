// Elements of different shapes as the rows of one tensor.
#pragma once

#include <vector>

#include "runtime/data/dataset.h"

namespace tensorfleet::data {

// Component `i` of each of `elements`, filled up with the scalar `value` to `padded`, or where that
// leaves a dimension open to the largest of them. Errors: InvalidArgument, in TensorFlow's words,
// for what is larger or of another rank; ResourceExhausted.
StatusOr<Tensor> PadTogether(const std::vector<Element>& elements, size_t i,
                             const PartialShape& padded, const Tensor& value);

}  // namespace tensorfleet::data
