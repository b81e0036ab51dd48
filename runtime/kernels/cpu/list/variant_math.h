// Zeros like, and sums of, what variants hold: lists of tensors and optionals. Gradients of
// functional loops and conditionals need both.
#pragma once

#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

// Zeros of the same type and shape; of a variant tensor, element by element. Errors: Unimplemented
// for values without zeros.
StatusOr<Tensor> ZerosLikeTensor(const Tensor& t);

// a + b, of the same type and shape; of variant tensors, element by element, where an empty variant
// counts for nothing. A list in `a` that nobody else holds becomes the sum: a loop that adds up
// many of them, most elements not set, copies none. Errors: InvalidArgument for values that do not
// go together; Unimplemented for values without sums.
StatusOr<Tensor> AddTensors(Tensor a, const Tensor& b);

}  // namespace tensorfleet::cpu
