// Gradients of arrays of tensors. The gradients of an array's elements are an array too, one for
// each gradient computation: what read an element adds to its gradient there, what wrote it takes
// the sum from there. The flow, which orders the ops of the array forward, orders these backward.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The array of gradients of the array that input 0 is the handle of.
ops::TensorArrayGradV3Outputs GradientsOf(C& c, const Output& flow) {
  return ops::TensorArrayGradV3(c.scope(), c.x(0), flow, c.computation());
}

// Of (handle, index, flow) -> value.
void Read(C& c) {
  if (!c.wants(2)) return;
  const auto gradients = GradientsOf(c, c.x(2));
  c.Set(2, ops::TensorArrayWriteV3(c.scope(), gradients.grad_handle, c.x(1), c.g(),
                                   gradients.flow_out));
}

// Of (handle, indices, flow) -> value.
void Gather(C& c) {
  if (!c.wants(2)) return;
  const auto gradients = GradientsOf(c, c.x(2));
  c.Set(2, ops::TensorArrayScatterV3(c.scope(), gradients.grad_handle, c.x(1), c.g(),
                                     gradients.flow_out));
}

// Of (handle, flow) -> (value, lengths).
void Concat(C& c) {
  if (!c.wants(1) || !c.has_gradient(0)) return;
  const auto gradients = GradientsOf(c, c.x(1));
  c.Set(1, ops::TensorArraySplitV3(c.scope(), gradients.grad_handle, c.g(0), c.y(1),
                                   gradients.flow_out));
}

// Of (handle, index, value, flow) -> flow.
void Write(C& c) {
  c.Set(3, c.gradient(0));
  if (!c.wants(2)) return;
  const auto gradients = GradientsOf(c, c.g());
  c.Set(2, ops::TensorArrayReadV3(c.scope(), gradients.grad_handle, c.x(1), gradients.flow_out,
                                  c.Attr<DType>("T")));
}

// What is known of the shape after the first dimension.
PartialShape RowShape(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::Unknown();
  PartialShape row = Shape();
  for (int i = 1; i < shape.rank(); ++i) row.AddDim(shape.dim(i));
  return row;
}

// Of (handle, indices, value, flow) -> flow.
void Scatter(C& c) {
  c.Set(3, c.gradient(0));
  if (!c.wants(2)) return;
  const auto gradients = GradientsOf(c, c.g());
  c.Set(2, ops::TensorArrayGatherV3(c.scope(), gradients.grad_handle, c.x(1), gradients.flow_out,
                                    c.Attr<DType>("T"),
                                    {.element_shape = RowShape(c.StaticShapeOfX(2))}));
}

// Of (handle, value, lengths, flow) -> flow.
void Split(C& c) {
  c.Set(3, c.gradient(0));
  if (!c.wants(1)) return;
  const auto gradients = GradientsOf(c, c.g());
  c.Set(1, ops::TensorArrayConcatV3(c.scope(), gradients.grad_handle, gradients.flow_out,
                                    c.Attr<DType>("T"),
                                    {.element_shape_except0 = RowShape(c.StaticShapeOfX(1))})
               .value);
}

// Of (handle, flow) -> (handle of the gradients, flow): for second derivatives.
void Grad(C& c) { c.Set(1, c.gradient(1)); }

}  // namespace

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  registry.Add("TensorArrayReadV3", Read);
  registry.Add("TensorArrayGatherV3", Gather);
  registry.Add("TensorArrayConcatV3", Concat);
  registry.Add("TensorArrayWriteV3", Write);
  registry.Add("TensorArrayScatterV3", Scatter);
  registry.Add("TensorArraySplitV3", Split);
  registry.Add("TensorArrayGradV3", Grad);
}

}  // namespace tensorfleet
