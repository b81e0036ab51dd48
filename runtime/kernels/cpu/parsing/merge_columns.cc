#include "runtime/kernels/cpu/parsing/merge_columns.h"

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"

namespace tensorfleet::cpu {
namespace {

using Columns = std::vector<const FeatureColumn*>;

int64_t Rows(const Columns& columns) {
  int64_t rows = 0;
  for (const FeatureColumn* column : columns) rows += column->rows();
  return rows;
}

int64_t Widest(const Columns& columns) {
  int64_t widest = 0;
  for (const FeatureColumn* column : columns) widest = std::max(widest, column->widest());
  return widest;
}

StatusOr<Tensor> AllValues(DType type, const Columns& columns) {
  int64_t total = 0;
  for (const FeatureColumn* column : columns) total += column->size();
  TFLEET_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(type, {total}));
  int64_t to = 0;
  for (const FeatureColumn* column : columns) {
    column->CopyTo(0, column->size(), &values, to);
    to += column->size();
  }
  return values;
}

StatusOr<FeatureOutput> Sparse(const FeatureSpec& spec, const Columns& columns, bool is_single) {
  FeatureOutput out;
  TFLEET_ASSIGN_OR_RETURN(out.values, AllValues(spec.type, columns));
  const int64_t total = out.values.num_elements(), width = is_single ? 1 : 2;
  TFLEET_ASSIGN_OR_RETURN(out.indices, Tensor::Allocate(DType::kInt64, {total, width}));
  int64_t* index = out.indices.mutable_values<int64_t>().data();
  int64_t row = 0;
  for (const FeatureColumn* column : columns) {
    for (int64_t r = 0; r < column->rows(); ++r, ++row) {
      for (int64_t i = 0; i < column->RowSize(r); ++i) {
        if (!is_single) *index++ = row;
        *index++ = i;
      }
    }
  }
  const int64_t dims[] = {row, Widest(columns)};
  TFLEET_ASSIGN_OR_RETURN(out.shape,
                          IntegerVector(DType::kInt64, absl::MakeSpan(dims).last(width)));
  return out;
}

StatusOr<FeatureOutput> Padded(const FeatureSpec& spec, const Columns& columns, bool is_single) {
  PartialShape row_shape = spec.shape;
  row_shape.set_dim(0, Widest(columns) / spec.stride);
  TFLEET_ASSIGN_OR_RETURN(Shape shape, row_shape.ToShape());
  const int64_t row_size = shape.num_elements();
  if (!is_single) {
    TFLEET_ASSIGN_OR_RETURN(shape, shape.Stacked(Rows(columns)));
  }
  FeatureOutput out;
  TFLEET_ASSIGN_OR_RETURN(out.values, Tensor::Allocate(spec.type, shape));
  int64_t to = 0;
  for (const FeatureColumn* column : columns) {
    for (int64_t r = 0; r < column->rows(); ++r, to += row_size) {
      const int64_t size = column->RowSize(r);
      column->CopyTo(column->RowBegin(r), size, &out.values, to);
      if (size < row_size) {
        FillElements(spec.type, MutableElementAt(out.values, to + size), spec.fallback.raw(),
                     row_size - size);
      }
    }
  }
  return out;
}

}  // namespace

StatusOr<Tensor> RowSplits(const Columns& columns, DType type) {
  std::vector<int64_t> splits = {0};
  splits.reserve(Rows(columns) + 1);
  int64_t before = 0;
  for (const FeatureColumn* column : columns) {
    for (const int64_t end : column->ends) splits.push_back(before + end);
    before += column->size();
  }
  return IntegerVector(type, splits);
}

StatusOr<FeatureOutput> MergeColumns(const FeatureSpec& spec, const Columns& columns,
                                     bool is_single) {
  if (spec.kind == FeatureKind::kSparse) return Sparse(spec, columns, is_single);
  if (spec.kind == FeatureKind::kPadded) return Padded(spec, columns, is_single);
  FeatureOutput out;
  TFLEET_ASSIGN_OR_RETURN(out.values, AllValues(spec.type, columns));
  // One example alone has no rows to split.
  if (is_single) {
    TFLEET_ASSIGN_OR_RETURN(out.splits, Tensor::Allocate(spec.split_type, {0}));
  } else {
    TFLEET_ASSIGN_OR_RETURN(out.splits, RowSplits(columns, spec.split_type));
  }
  return out;
}

}  // namespace tensorfleet::cpu
