// Shape rules of data sets' ops.
#pragma once

#include "runtime/base/status.h"
#include "runtime/graph/shape_context.h"

namespace tensorfleet::shapes {

// The outputs are the components of an element, of the shapes in `output_shapes`. Errors:
// InvalidArgument when there are more or fewer of these.
Status IteratorElement(ShapeContext& ctx);

}  // namespace tensorfleet::shapes
