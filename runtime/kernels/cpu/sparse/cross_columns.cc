#include "runtime/kernels/cpu/sparse/cross_columns.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace tensorfleet::cpu {
namespace {

// The rows' features are where the entries with the row's number are, one after the other; entries
// of rows that come out of order or are outside are passed over, as TensorFlow does.
void FindRows(const Tensor& indices, int64_t rows, CrossColumn* column) {
  const auto index = indices.values<int64_t>();
  const int64_t size = indices.dim(0);
  column->starts.resize(rows);
  column->counts.resize(rows);
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    column->starts[row] = at;
    while (at < size && index[2 * at] == row) ++at;
    column->counts[row] = at - column->starts[row];
  }
}

}  // namespace

Status CheckSparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape,
                         int64_t i) {
  if (indices.rank() != 2) {
    return InvalidArgument("Input indices should be a matrix but received shape ",
                           indices.shape().ToString(), " at position ", i);
  }
  if (indices.dim(1) != 2) {
    return InvalidArgument("Expected D2 of index to be 2 got ", indices.dim(1), " at position ", i);
  }
  if (values.rank() != 1) {
    return InvalidArgument("Input values should be a vector but received shape ",
                           values.shape().ToString(), " at position ", i);
  }
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Expected size of values to be ", indices.dim(0), " got ", values.dim(0),
                           " at position ", i);
  }
  if (shape.rank() != 1 || shape.dim(0) != 2) {
    return InvalidArgument("shape should imply a 2D tensor, but got ", shape.shape().ToString(),
                           " at position ", i);
  }
  return OkStatus();
}

CrossColumn SparseColumn(const Tensor& indices, const Tensor& values, int64_t rows) {
  CrossColumn column;
  column.values = &values;
  FindRows(indices, rows, &column);
  return column;
}

int64_t NumSparseColumns(KernelInit& init) {
  int64_t columns = 0;
  std::vector<DType> types;
  init.Get("N", &columns);
  init.Get("sparse_types", &types);
  if (columns != static_cast<int64_t>(types.size())) {
    init.Fail(InvalidArgument("N is ", columns, ", but there are ", types.size(),
                              " sparse_types: each sparse column has indices, values and a shape"));
  }
  return columns;
}

StatusOr<CrossInput> ReadCrossInput(const KernelContext& ctx, int64_t num_sparse, int end) {
  CrossInput input;
  const int n = static_cast<int>(num_sparse);
  bool has_rows = false;
  const auto check_rows = [&](int64_t rows, const char* where, int i) {
    if (!has_rows) input.rows = rows;
    has_rows = true;
    if (input.rows == rows) return OkStatus();
    return InvalidArgument("Expected batch size ", input.rows, " got ", rows, " at ", where, i);
  };
  for (int i = 0; i < n; ++i) {
    const Tensor& indices = ctx.input(i);
    const Tensor& shape = ctx.input(2 * n + i);
    TFLEET_RETURN_IF_ERROR(CheckSparseColumn(indices, ctx.input(n + i), shape, i));
    TFLEET_RETURN_IF_ERROR(check_rows(shape.values<int64_t>()[0], "position ", i));
    // As many rows as a tensor may have: a table of them is made.
    TFLEET_ASSIGN_OR_RETURN(const Shape rows, Shape::Make({input.rows}));
    TFLEET_RETURN_IF_ERROR(Tensor::CheckSize(DType::kInt64, rows));
  }
  for (int i = 3 * n; i < end; ++i) {
    if (ctx.input(i).rank() != 2) {
      return InvalidArgument("Dense inputs should be a matrix but received shape ",
                             ctx.input(i).shape().ToString(), " at position ", i - 3 * n);
    }
    TFLEET_RETURN_IF_ERROR(check_rows(ctx.input(i).dim(0), "dense tensor ", i - 3 * n));
  }
  for (int i = 0; i < n; ++i) {
    input.columns.push_back(SparseColumn(ctx.input(i), ctx.input(n + i), input.rows));
  }
  for (int i = 3 * n; i < end; ++i) {
    CrossColumn& column = input.columns.emplace_back();
    column.values = &ctx.input(i);
    column.is_dense = true;
  }
  return input;
}

StatusOr<std::vector<int64_t>> CountCrosses(const CrossInput& input) {
  std::vector<int64_t> counts(input.rows, input.columns.empty() ? 0 : 1);
  int64_t total = 0;
  for (int64_t row = 0; row < input.rows; ++row) {
    for (const CrossColumn& column : input.columns) {
      if (__builtin_mul_overflow(counts[row], column.count(row), &counts[row])) {
        return ResourceExhausted("row ", row, " has more crosses than can be counted");
      }
    }
    if (__builtin_add_overflow(total, counts[row], &total)) {
      return ResourceExhausted("there are more crosses than can be counted");
    }
  }
  return counts;
}

void VisitCrosses(const CrossInput& input, int64_t row,
                  absl::FunctionRef<void(absl::Span<const int64_t>)> visit) {
  std::vector<int64_t> features;
  for (const CrossColumn& column : input.columns) {
    if (column.count(row) == 0) return;
    features.push_back(column.start(row));
  }
  while (true) {
    visit(features);
    size_t c = features.size();
    while (c > 0) {
      const CrossColumn& column = input.columns[c - 1];
      if (++features[c - 1] < column.start(row) + column.count(row)) break;
      features[c - 1] = column.start(row);
      --c;
    }
    if (c == 0) return;
  }
}

std::string JoinedFeatures(const CrossInput& input, Features features,
                           absl::string_view separator) {
  std::string text;
  for (size_t c = 0; c < features.size(); ++c) {
    if (c > 0) text.append(separator.data(), separator.size());
    const CrossColumn& column = input.columns[c];
    if (column.has_strings()) {
      text += column.text(features[c]);
    } else {
      absl::StrAppend(&text, column.number(features[c]));
    }
  }
  return text;
}

uint64_t CombinedHash(uint64_t first, uint64_t second) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  const auto mixed = [](uint64_t v) { return v ^ (v >> 47); };
  uint64_t result = first ^ kMultiplier;
  result ^= mixed(second * kMultiplier) * kMultiplier;
  result *= kMultiplier;
  result = mixed(result) * kMultiplier;
  return mixed(result);
}

int64_t HashBucket(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>(
      hash % static_cast<uint64_t>(buckets > 0 ? buckets : std::numeric_limits<int64_t>::max()));
}

}  // namespace tensorfleet::cpu
