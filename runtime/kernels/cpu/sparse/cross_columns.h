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
  std::vector<int64_t> starts;  // of a sparse one, by row: where its features begin in `values`
  std::vector<int64_t> counts;  // of a sparse one, by row

  int64_t count(int64_t row) const { return is_dense ? values->dim(1) : counts[row]; }
  int64_t start(int64_t row) const { return is_dense ? row * values->dim(1) : starts[row]; }
  bool has_strings() const { return values->dtype() == DType::kString; }
  const std::string& text(int64_t i) const { return values->values<std::string>()[i]; }
  int64_t number(int64_t i) const { return values->values<int64_t>()[i]; }
};

struct CrossInput {
  std::vector<CrossColumn> columns;  // sparse ones first
  int64_t rows = 0;
};

// How many sparse columns a node has. The lengths of its lists are attributes of their own: those
// that differ fail it.
int64_t NumSparseColumns(KernelInit& init);

// Inputs 0 to 4 of the cross ops: `num_sparse` indices, values and shapes, then dense matrices up
// to input `end`. Errors: InvalidArgument.
StatusOr<CrossInput> ReadCrossInput(const KernelContext& ctx, int64_t num_sparse, int end);

// How many crosses there are by row: the product of the counts. Errors: ResourceExhausted when all
// together are more than a tensor may have.
StatusOr<std::vector<int64_t>> CountCrosses(const CrossInput& input);

// Calls visit(features) for each cross of a row, where features[c] is the place in column c's
// values; the last column's changes fastest.
void VisitCrosses(const CrossInput& input, int64_t row,
                  absl::FunctionRef<void(absl::Span<const int64_t>)> visit);

}  // namespace tensorfleet::cpu
