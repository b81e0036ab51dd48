// Gradients of slices: zeros around what was taken.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

void Slice(C& c) {
  const Scope& s = c.scope();
  const Term begin(s, CastTo(s, c.x(1), DType::kInt32));
  const Term after = c.ShapeOfX(0) - c.ShapeOfY(0) - begin;
  c.Set(0, ops::Pad(s, c.g(), ops::Pack(s, {begin, after}, {.axis = 1})));
}

// The masks of StridedSlice and its gradient, which have the same attributes.
template <typename Attrs>
Attrs Masks(C& c) {
  Attrs attrs;
  attrs.begin_mask = c.Attr<int64_t>("begin_mask");
  attrs.end_mask = c.Attr<int64_t>("end_mask");
  attrs.ellipsis_mask = c.Attr<int64_t>("ellipsis_mask");
  attrs.new_axis_mask = c.Attr<int64_t>("new_axis_mask");
  attrs.shrink_axis_mask = c.Attr<int64_t>("shrink_axis_mask");
  return attrs;
}

void StridedSlice(C& c) {
  const Scope& s = c.scope();
  const DType type = c.Attr<DType>("Index") == DType::kInt64 ? DType::kInt64 : DType::kInt32;
  const auto index = [&](int i) { return CastTo(s, c.x(i), type); };
  c.Set(0, ops::StridedSliceGrad(s, c.ShapeOfX(0, type), index(1), index(2), index(3), c.g(),
                                 Masks<ops::StridedSliceGradAttrs>(c)));
}

// Of (shape, begin, end, strides, dy).
void StridedSliceGrad(C& c) {
  c.Set(4, ops::StridedSlice(c.scope(), c.g(), c.x(1), c.x(2), c.x(3),
                             Masks<ops::StridedSliceAttrs>(c)));
}

}  // namespace

void RegisterSliceGradients(GradientRegistry& registry) {
  registry.Add("Slice", Slice);
  registry.Add("StridedSlice", StridedSlice);
  registry.Add("StridedSliceGrad", StridedSliceGrad);
}

}  // namespace tensorfleet
