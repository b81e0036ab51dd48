// Lists in lists, optionals in optionals: whoever copies, adds, sends or drops one calls itself for
// those inside, so there is an end to it.
#pragma once

#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

inline constexpr int kMaxNesting = 100;

// Raises `*depth`, a container's, to hold `element`. Errors: ResourceExhausted.
Status NestWithin(const Tensor& element, int* depth);

}  // namespace tensorfleet::cpu
