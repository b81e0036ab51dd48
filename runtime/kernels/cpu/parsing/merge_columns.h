// From columns of values to tensors.
#pragma once

#include <vector>

#include "runtime/kernels/cpu/parsing/example_parser.h"

namespace tensorfleet::cpu {

// Puts the columns of consecutive ranges of examples together, as the kind of the feature has it.
// With `is_single` there is one row, and the outputs lack its dimension.
// Errors: ResourceExhausted; InvalidArgument when splits do not fit their type.
StatusOr<FeatureOutput> MergeColumns(const FeatureSpec& spec,
                                     const std::vector<const FeatureColumn*>& columns,
                                     bool is_single);

// The row splits of consecutive columns as a tensor of `type`.
StatusOr<Tensor> RowSplits(const std::vector<const FeatureColumn*>& columns, DType type);

}  // namespace tensorfleet::cpu
