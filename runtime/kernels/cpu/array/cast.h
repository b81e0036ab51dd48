// Conversion between element types.
#pragma once

#include <cstdint>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet::cpu {

// The loop that converts `from` to `to`; null when there is none. Out of range, floating numbers
// become what the processor makes of them (integers: the most negative value), integers lose their
// upper bits.
UnaryLoop FindCast(DType from, DType to);

}  // namespace tensorfleet::cpu
