#include "runtime/client/gradients/context.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {

GradientContext::GradientContext(Scope scope, Node* node, std::vector<Gradient> gradients,
                                 std::vector<bool> wanted, ForwardValues* values)
    : scope_(std::move(scope)),
      node_(node),
      gradients_(std::move(gradients)),
      wanted_(std::move(wanted)),
      values_(values),
      results_(node->num_inputs()) {}

Output GradientContext::Input(int i) const {
  const Edge* edge = node_->in_edge(i);
  return Output(edge->src, edge->src_output);
}

Term GradientContext::x(int i) const { return {scope_, values_->Value(scope_, Input(i))}; }

Term GradientContext::y(int i) const { return {scope_, values_->Value(scope_, Output(node_, i))}; }

Term GradientContext::g(int i) const {
  if (has_gradient(i)) return {scope_, ToDense(scope_, gradients_[i])};
  return Of(ops::ZerosLike, y(i));
}

PartialShape GradientContext::StaticShapeOfX(int i) const { return scope_.ShapeOf(Input(i)); }

PartialShape GradientContext::StaticShapeOfY(int i) const {
  return scope_.ShapeOf(Output(node_, i));
}

Term GradientContext::ShapeOfX(int i, DType dtype) const {
  return {scope_, values_->Shape(scope_, Input(i), dtype)};
}

Term GradientContext::ShapeOfY(int i, DType dtype) const {
  return {scope_, values_->Shape(scope_, Output(node_, i), dtype)};
}

Term GradientContext::MeasuredX(int i, Measure measure) const {
  return {scope_, values_->Measured(scope_, Input(i), measure)};
}

Term GradientContext::MeasuredY(int i, Measure measure) const {
  return {scope_, values_->Measured(scope_, Output(node_, i), measure)};
}

std::optional<std::vector<int64_t>> GradientContext::ConstantX(int i) const {
  return ConstantIntegers(Input(i));
}

}  // namespace tensorfleet
