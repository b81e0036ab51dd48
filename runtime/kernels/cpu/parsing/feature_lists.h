// The lists of features of serialized SequenceExamples as tensors.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/cpu/parsing/example_parser.h"

namespace tensorfleet::cpu {

struct FeatureListSpec {
  std::string key;
  FeatureKind kind = FeatureKind::kDense;  // dense, sparse or ragged
  DType type = DType::kInvalid;
  Shape shape;  // of one step of a dense one
  bool may_be_missing = false;
  DType split_type = DType::kInt64;
};

struct FeatureListOutput {
  Tensor values;
  Tensor indices;       // sparse
  Tensor shape;         // sparse
  Tensor lengths;       // dense: how many steps each example has
  Tensor outer_splits;  // ragged: of examples into steps
  Tensor inner_splits;  // ragged: of steps into values
};

// One output for each list, in order. With `is_single` there is one example, and the outputs lack
// its dimension. Steps that an example lacks are zeros or empty strings in a dense output.
// Errors: InvalidArgument; ResourceExhausted.
StatusOr<std::vector<FeatureListOutput>> ParseFeatureLists(
    const std::vector<FeatureListSpec>& specs, absl::Span<const std::string> examples,
    absl::Span<const std::string> names, bool is_single);

}  // namespace tensorfleet::cpu
