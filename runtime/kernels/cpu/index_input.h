// Small integer inputs that steer a kernel: shapes, axes, paddings, multiples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

using Integers = absl::InlinedVector<int64_t, 8>;

// Element `i` of a tensor of any integer type (at most 64 bits). Our bug for other types.
int64_t IntegerAt(const Tensor& t, int64_t i);

// All elements of a tensor of any integer type, whatever its rank.
Integers IntegersOf(const Tensor& t);

// The int32 or int64 elements of `t`, without a copy for int64; other integer types are widened
// into `*storage`.
absl::Span<const int64_t> WidenedIntegers(const Tensor& t, std::vector<int64_t>* storage);

// Input `name` of a kernel, which must be a scalar (or hold one element): the value.
StatusOr<int64_t> ScalarInteger(const Tensor& t, absl::string_view name);

// A vector that spells a shape. Errors: InvalidArgument for another rank, a negative or too large
// product.
StatusOr<Shape> ShapeFromInput(const Tensor& t);

// A vector of integers as an output. Errors: ResourceExhausted; InvalidArgument when a value does
// not fit int32.
StatusOr<Tensor> IntegerVector(DType dtype, absl::Span<const int64_t> values);

// `axis` in [-rank, rank) as one in [0, rank), else -1.
inline int64_t NormalizedAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return -1;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace tensorfleet::cpu
