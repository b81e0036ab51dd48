// When a tensor counts as true, for If and While.
#pragma once

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::portable {

// A scalar number that is not zero, a scalar string that is not empty, or a tensor of higher rank
// that has elements. Errors: InvalidArgument for scalars of other types.
StatusOr<bool> IsTrue(const Tensor& tensor);

}  // namespace tensorfleet::portable
