#include "runtime/ops/data/data_shapes.h"

namespace tensorfleet::shapes {

Status IteratorElement(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<PartialShape> declared,
                          ctx.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(declared.size()) != ctx.num_outputs()) {
    return InvalidArgument("`output_shapes` must be the same length as `output_types` (",
                           declared.size(), " vs. ", ctx.num_outputs(), ")");
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, declared[i]);
  return OkStatus();
}

}  // namespace tensorfleet::shapes
