// Our types, shapes and values in the form of XLA's programs.
#pragma once

#include "proto/tensorfleet/hlo.pb.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::pjrt {

// XLA's number of the type; 0 for one that programs do not have.
int ElementTypeOf(DType dtype);
// The element type that marks a tuple.
inline constexpr int kTupleType = 13;

// `dtype` must have an element type.
void FillShape(DType dtype, const Shape& shape, hlo::Shape* out);

// False for a type without literals.
bool FillLiteral(const Tensor& value, hlo::Literal* out);

// A number as a scalar tensor.
Tensor ScalarTensor(DType dtype, double value);

// The largest finite number of the type, or the lowest, as a scalar.
Tensor FiniteExtreme(DType dtype, bool is_largest);

// "FLOAT", "SIGNED" or "UNSIGNED".
const char* ComparisonType(DType dtype);

}  // namespace tensorfleet::pjrt
