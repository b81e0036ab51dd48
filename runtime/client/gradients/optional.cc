// Gradients of optionals. The gradient of an optional is one with a value of the same components.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// Of (components) -> optional.
void FromValue(C& c) {
  std::vector<PartialShape> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.StaticShapeOfX(i));
  const std::vector<Output> gradients =
      ops::OptionalGetValue(c.scope(), c.g(), c.node().input_types(), shapes);
  for (size_t i = 0; i < gradients.size(); ++i) c.Set(static_cast<int>(i), gradients[i]);
}

// Of optional -> (components).
void GetValue(C& c) {
  std::vector<Output> gradients;
  for (int i = 0; i < c.num_outputs(); ++i) gradients.push_back(c.g(i));
  c.Set(0, ops::OptionalFromValue(c.scope(), gradients));
}

}  // namespace

void RegisterOptionalGradients(GradientRegistry& registry) {
  registry.Add("OptionalFromValue", FromValue);
  registry.Add("OptionalGetValue", GetValue);
}

}  // namespace tensorfleet
