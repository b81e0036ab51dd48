// Shapes and axes as tensors, for gradient functions and layers.
#pragma once

#include <optional>
#include <vector>

#include "runtime/client/term.h"

namespace tensorfleet {

// Constants of type int32.
Output Int(const Scope& scope, int32_t value);
Output Ints(const Scope& scope, absl::Span<const int64_t> values);
// A vector of int32 or int64.
Output IntsOf(const Scope& scope, DType dtype, absl::Span<const int64_t> values);

// The elements of an integer constant; nothing for any other output.
std::optional<std::vector<int64_t>> ConstantIntegers(const Output& output);

// The shape as a constant when it is known, else by an op that reads it.
Output ShapeTensor(const Scope& scope, const Output& output, DType dtype = DType::kInt32);

// `value` as a scalar of type `dtype`, unless it is of that type already.
Output CastTo(const Scope& scope, const Output& value, DType dtype);

// vector[begin:end]; `end` 0 means all the rest.
Output VectorSlice(const Scope& scope, const Output& vector, int begin, int end = 0);
// vector[i] as a scalar; a negative `i` counts from the end.
Output VectorElement(const Scope& scope, const Output& vector, int i);

// The value with its shape given by a vector.
Term Reshaped(const Term& value, const Output& shape);
// A new axis of size 1 at `axis`.
Term Expanded(const Term& value, int axis);
// The sum over all elements, over the given axes, or over axes that a tensor lists.
Term SumOf(const Term& value, absl::Span<const int64_t> axes, bool keep_dims = false);
Term SumOver(const Term& value, const Output& axes, bool keep_dims = false);
// [0, 1, ..., n-1].
Term RangeTo(const Scope& scope, const Output& n);
// The product of a vector's elements, as a scalar.
Term ProductOf(const Term& vector);
// The vectors one after the other.
Output Joined(const Scope& scope, absl::Span<const Output> vectors);

}  // namespace tensorfleet
