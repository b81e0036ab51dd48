// What a reduction does to a shape, in the fewest dimensions.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

struct ReductionPlan {
  Shape out_shape;
  // Neighbouring dimensions that are all kept or all reduced are one; kept and reduced ones
  // alternate. Dimensions of 1 are left out, so this may be empty.
  absl::InlinedVector<int64_t, 4> dims;
  bool first_is_reduced = false;
  int64_t reduced_elements = 1;  // input elements per output element
};

// `axes` is an int32 or int64 tensor of any shape; negative axes count from the end.
// Errors: InvalidArgument for an axis out of range or given twice.
StatusOr<ReductionPlan> PlanReduction(const Shape& shape, const Tensor& axes, bool keep_dims);

}  // namespace tensorfleet::cpu
