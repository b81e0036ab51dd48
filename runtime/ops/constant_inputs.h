// Values of inputs that are constants, as shape rules need them.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/shape_context.h"

namespace tensorfleet::shapes {

// The elements of integer input `i`, whatever its rank; nothing when they are not known before the
// step.
std::optional<std::vector<int64_t>> ConstantIntegers(const ShapeContext& ctx, int i);

// The value of integer input `i` when it is known and has one element.
std::optional<int64_t> ConstantInteger(const ShapeContext& ctx, int i);

// `axis` in [-rank, rank) as one in [0, rank), else nothing.
std::optional<int> Normalized(int64_t axis, int rank);

// Output 0 has the shape that integer vector input `kInput` spells.
Status SetShapeFromVector(ShapeContext& ctx, int input);
template <int kInput>
Status ShapeFromVector(ShapeContext& ctx) {
  return SetShapeFromVector(ctx, kInput);
}

// Output 0 has the shape in attribute "shape".
Status ShapeFromAttr(ShapeContext& ctx);

// A vector of `length` elements, -1 when open.
inline PartialShape VectorOf(int64_t length) { return PartialShape({length}); }
inline PartialShape ScalarShape() { return PartialShape(Shape()); }

// `a` followed by `b`; unknown when either has no rank.
PartialShape Joined(const PartialShape& a, const PartialShape& b);
// Dimensions [begin, end) of a shape with a rank.
PartialShape Part(const PartialShape& shape, int begin, int end);

// The sum or product of two dimensions, open when either is or when it does not fit in int64.
int64_t AddDims(int64_t a, int64_t b);
int64_t MultiplyDims(int64_t a, int64_t b);

}  // namespace tensorfleet::shapes
