// Serialized Examples as tensors: the work of ParseExample and its kin. The features are read from
// the wire format straight into the outputs.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/kernels/cpu/parsing/feature_column.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

struct FeatureSpec {
  std::string key;
  FeatureKind kind = FeatureKind::kDense;
  DType type = DType::kInvalid;  // string, float or int64
  PartialShape shape;            // of a dense feature; the first dimension of a padded one is open
  int64_t stride = 1;            // elements of a dense one; of one row of a padded one
  Tensor fallback;  // of a dense one, without elements when it is required; what pads a padded one
  DType split_type = DType::kInt64;  // of a ragged one
};

// Sets kind, shape and stride by a dense feature's declared shape.
// Errors: InvalidArgument when other than the first dimension is open.
Status SetDenseShape(const PartialShape& shape, int index, FeatureSpec* spec);
// Sets `fallback`. Errors: InvalidArgument when it doesn't fit type and shape.
Status SetFallback(const Tensor& fallback, int index, FeatureSpec* spec);

// What a feature became; members that its kind has no use for stay invalid.
struct FeatureOutput {
  Tensor values;   // of every kind
  Tensor indices;  // sparse
  Tensor shape;    // sparse
  Tensor splits;   // ragged
};

class ExampleParser {
 public:
  // Of features with one key, the first is found, the others are missing. `specs` outlive it.
  // `beside` is a field that somebody else reads (example_wire.h), as those of sequences have one.
  explicit ExampleParser(const std::vector<FeatureSpec>& specs, uint32_t beside = 0);

  // One output for each feature, in order. `names`, for messages, are as many as examples, or none.
  // With `is_single` there is one example, and the outputs lack the dimension for the batch.
  // Errors: InvalidArgument; ResourceExhausted.
  StatusOr<std::vector<FeatureOutput>> Parse(const KernelContext& ctx,
                                             absl::Span<const std::string> examples,
                                             absl::Span<const std::string> names,
                                             bool is_single) const;

 private:
  struct Batch;
  struct Chunk;

  int IndexOf(absl::string_view key) const;
  Status ParseChunk(const Batch& batch, Chunk* chunk) const;
  Status ParseOne(const Batch& batch, int64_t example, Chunk* chunk) const;
  Status TakeFeature(const Batch& batch, int64_t example, size_t feature, absl::string_view bytes,
                     Chunk* chunk) const;
  Status TakeMissing(const Batch& batch, int64_t example, size_t feature, Chunk* chunk) const;

  const std::vector<FeatureSpec>& specs_;
  const uint32_t beside_;
  absl::flat_hash_map<absl::string_view, int> by_key_;
};

}  // namespace tensorfleet::cpu
