// One axis of a tensor: the tensor as [outer][size][inner].
#pragma once

#include <cstdint>

#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
};

inline AxisView ViewAxis(const Shape& shape, int axis) {
  AxisView view;
  view.size = shape.dim(axis);
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < axis) view.outer *= shape.dim(i);
    if (i > axis) view.inner *= shape.dim(i);
  }
  return view;
}

// The only element of a tensor of int16, int32 or int64.
inline int64_t IntegerScalar(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kInt16:
      return t.scalar<int16_t>();
    case DType::kInt32:
      return t.scalar<int32_t>();
    default:
      return t.scalar<int64_t>();
  }
}

}  // namespace tensorfleet::cpu
