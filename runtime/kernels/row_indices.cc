#include "runtime/kernels/row_indices.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {
namespace {

// Where the i-th element lies: "3", or "0,3" in two dimensions.
std::string Position(const Shape& shape, int64_t i) {
  std::vector<int64_t> at(shape.rank());
  for (int d = shape.rank(); d-- > 0;) {
    at[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  return absl::StrJoin(at, ",");
}

template <typename T>
Status Copy(const Tensor& indices, int64_t num_rows, int64_t* out) {
  const absl::Span<const T> values = indices.values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = values[i];
    if (row < 0 || row >= num_rows) {
      const std::string position =
          indices.rank() == 0 ? "" : absl::StrCat("[", Position(indices.shape(), i), "]");
      return InvalidArgument("indices", position, " = ", row, " is not in [0, ", num_rows, ")");
    }
    out[i] = row;
  }
  return OkStatus();
}

// `strides[d]` is how many slices one step in dimension d passes.
template <typename T>
Status CopyTuples(const Tensor& indices, const Shape& params, absl::Span<const int64_t> strides,
                  int64_t* out, int64_t n) {
  const T* tuple = indices.values<T>().data();
  const int depth = static_cast<int>(strides.size());
  for (int64_t i = 0; i < n; ++i, tuple += depth) {
    int64_t slice = 0;
    bool is_inside = true;
    for (int d = 0; d < depth; ++d) {
      is_inside &= tuple[d] >= 0 && tuple[d] < params.dim(d);
      slice += is_inside ? tuple[d] * strides[d] : 0;
    }
    if (!is_inside) {
      return InvalidArgument("indices[",
                             Position(indices.shape().SubShape(0, indices.rank() - 1), i), "] = [",
                             absl::StrJoin(absl::MakeConstSpan(tuple, depth), ", "),
                             "] does not index into shape ", params.ToString());
    }
    out[i] = slice;
  }
  return OkStatus();
}

}  // namespace

RowShards::RowShards(absl::Span<const int64_t> rows) {
  std::array<int64_t, kShards> next{};
  for (const int64_t row : rows) {
    if (row >= 0) ++next[row % kShards];
  }
  for (int shard = 0; shard < kShards; ++shard) {
    begin_[shard + 1] = begin_[shard] + next[shard];
    next[shard] = begin_[shard];
  }
  positions_.resize(begin_[kShards]);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0) positions_[next[rows[i] % kShards]++] = static_cast<int64_t>(i);
  }
}

StatusOr<RowIndices> RowIndices::ReadTuples(const Tensor& indices, const Shape& params) {
  TFLEET_CHECK(indices.rank() >= 1 && indices.dim(-1) <= params.rank());
  const int depth = static_cast<int>(indices.dim(-1));
  const int64_t n = indices.shape().SubShape(0, indices.rank() - 1).num_elements();
  std::vector<int64_t> strides(depth, 1);
  for (int d = depth - 1; d > 0; --d) strides[d - 1] = strides[d] * params.dim(d);
  TFLEET_RETURN_IF_ERROR(CheckWorkSpace(n, sizeof(int64_t)));
  RowIndices made;
  made.rows_.resize(n);
  if (indices.dtype() == DType::kInt32) {
    TFLEET_RETURN_IF_ERROR(CopyTuples<int32_t>(indices, params, strides, made.rows_.data(), n));
  } else if (indices.dtype() == DType::kInt64) {
    TFLEET_RETURN_IF_ERROR(CopyTuples<int64_t>(indices, params, strides, made.rows_.data(), n));
  } else {
    return InvalidArgument("indices must be int32 or int64, not ", DTypeName(indices.dtype()));
  }
  return made;
}

StatusOr<RowIndices> RowIndices::Read(const Tensor& indices, int64_t num_rows) {
  TFLEET_RETURN_IF_ERROR(CheckWorkSpace(indices.num_elements(), sizeof(int64_t)));
  RowIndices made;
  made.rows_.resize(indices.num_elements());
  if (indices.dtype() == DType::kInt32) {
    TFLEET_RETURN_IF_ERROR(Copy<int32_t>(indices, num_rows, made.rows_.data()));
  } else if (indices.dtype() == DType::kInt64) {
    TFLEET_RETURN_IF_ERROR(Copy<int64_t>(indices, num_rows, made.rows_.data()));
  } else {
    return InvalidArgument("indices must be int32 or int64, not ", DTypeName(indices.dtype()));
  }
  return made;
}

}  // namespace tensorfleet
