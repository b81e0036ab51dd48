// The columns that are crossed: of sparse or dense matrices of strings or integers, by row.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::cpu {

// One input: a row has some features, numbered from 0.
struct CrossColumn {
  const Tensor* values = nullptr;  // strings or int64
  bool is_dense = false;
  // Of one that is not dense, by row: where its features begin in `values`, and how many they are.
  std::vector<int64_t> starts;
  std::vector<int64_t> counts;

  int64_t count(int64_t row) const { return is_dense ? values->dim(1) : counts[row]; }
  int64_t start(int64_t row) const { return is_dense ? row * values->dim(1) : starts[row]; }
  bool has_strings() const { return values->dtype() == DType::kString; }
  const std::string& text(int64_t i) const { return values->values<std::string>()[i]; }
  int64_t number(int64_t i) const { return values->values<int64_t>()[i]; }
};

struct CrossInput {
  std::vector<CrossColumn> columns;  // of SparseCross: sparse ones first
  int64_t rows = 0;
};

// How many sparse columns a node has. The lengths of its lists are attributes of their own: those
// that differ fail it.
int64_t NumSparseColumns(KernelInit& init);

// A sparse matrix as a column of `rows` rows: each has the entries with its number, one after the
// other. Errors: InvalidArgument when the parts do not go together, the `i`th of their kind.
Status CheckSparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape,
                         int64_t i);
CrossColumn SparseColumn(const Tensor& indices, const Tensor& values, int64_t rows);

// Inputs 0 to 4 of the cross ops: `num_sparse` indices, values and shapes, then dense matrices up
// to input `end`. Errors: InvalidArgument.
StatusOr<CrossInput> ReadCrossInput(const KernelContext& ctx, int64_t num_sparse, int end);

// How many crosses there are by row: the product of the counts. Errors: ResourceExhausted when all
// together are more than a tensor may have.
StatusOr<std::vector<int64_t>> CountCrosses(const CrossInput& input);

// By column, the place of a feature in the column's values.
using Features = absl::Span<const int64_t>;

// Calls visit(features) for each cross of a row, where features[c] is the place in column c's
// values; the last column's changes fastest.
void VisitCrosses(const CrossInput& input, int64_t row, absl::FunctionRef<void(Features)> visit);

// The features as one text.
std::string JoinedFeatures(const CrossInput& input, Features features, absl::string_view separator);

// TensorFlow's way to make one fingerprint of two.
uint64_t CombinedHash(uint64_t first, uint64_t second);

// The bucket of a hash; without `buckets`, the hash in 63 bits.
int64_t HashBucket(uint64_t hash, int64_t buckets);

}  // namespace tensorfleet::cpu
