// RaggedCross: all combinations of the features of ragged, sparse and dense columns, row by row.
// Schema and shape rule: runtime/ops/sparse/sparse_cross_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/ragged/ragged_input.h"
#include "runtime/kernels/cpu/sparse/cross_columns.h"
#include "runtime/kernels/cpu/string/fingerprint.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Whether the node's inputs agree on the number of rows.
class RowCount {
 public:
  Status Merge(int64_t rows, CrossInput* input) {
    if (!is_known_) input->rows = rows;
    is_known_ = true;
    if (input->rows == rows) return OkStatus();
    return InvalidArgument("Expected batch size ", input->rows, " got ", rows,
                           ": input tensors must have the same number of rows");
  }

 private:
  bool is_known_ = false;
};

template <typename Out>
class RaggedCross final : public Kernel {
 public:
  explicit RaggedCross(KernelInit& init) {
    std::vector<DType> ragged, splits, sparse, dense;
    init.Get("ragged_values_types", &ragged);
    init.Get("ragged_splits_types", &splits);
    init.Get("sparse_values_types", &sparse);
    init.Get("dense_types", &dense);
    init.Get("input_order", &order_);
    init.Get("num_buckets", &buckets_);
    init.Get("out_row_splits_type", &splits_type_);
    int64_t key = 0, num_sparse = 0;
    init.Get("hash_key", &key);
    init.Get("Nsparse", &num_sparse);
    key_ = static_cast<uint64_t>(key);
    num_ragged_ = static_cast<int>(ragged.size());
    num_sparse_ = static_cast<int>(sparse.size());
    const auto count = [&](char kind) {
      return static_cast<size_t>(std::count(order_.begin(), order_.end(), kind));
    };
    if (ragged.size() != splits.size() || sparse.size() != static_cast<size_t>(num_sparse) ||
        count('R') != ragged.size() || count('S') != sparse.size() || count('D') != dense.size() ||
        order_.size() != ragged.size() + sparse.size() + dense.size()) {
      init.Fail(InvalidArgument("input_order '", order_, "' must have an R for each of ",
                                ragged.size(), " ragged columns, an S for each of ", sparse.size(),
                                " sparse ones and a D for each of ", dense.size(), " dense ones"));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const CrossInput input, ReadColumns(ctx));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountCrosses(input));
    Splits splits{0};
    for (const int64_t count : counts) splits.push_back(splits.back() + count);
    const int64_t total = splits.back();
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<Out>, {total}));
    TFLEET_ASSIGN_OR_RETURN(Tensor row_splits, SplitsTensor(splits_type_, splits));
    Out* const value = values.mutable_values<Out>().data();
    const int64_t nanoseconds = 100 * (total / std::max<int64_t>(1, input.rows) + 1);
    ParallelFor(ctx, input.rows, nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t at = splits[row];
        VisitCrosses(input, row, [&](Features features) { value[at++] = Cross(input, features); });
      }
    });
    ctx.SetOutput(0, std::move(values));
    ctx.SetOutput(1, std::move(row_splits));
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  Out Cross(const CrossInput& input, Features features) const {
    if constexpr (std::is_same_v<Out, std::string>) {
      return JoinedFeatures(input, features, "_X_");
    } else {
      uint64_t hash = key_;
      for (size_t c = 0; c < features.size(); ++c) {
        const CrossColumn& column = input.columns[c];
        hash = CombinedHash(hash, column.has_strings()
                                      ? Fingerprint64(column.text(features[c]))
                                      : static_cast<uint64_t>(column.number(features[c])));
      }
      return HashBucket(hash, buckets_);
    }
  }

  StatusOr<CrossInput> ReadColumns(const KernelContext& ctx) const {
    CrossInput input;
    RowCount rows;
    const int first_sparse = 2 * num_ragged_, first_dense = first_sparse + 3 * num_sparse_;
    int ragged = 0, sparse = 0, dense = 0;
    // Sizes first: the sparse columns' tables are made for as many rows as all agree on.
    for (int i = 0; i < num_ragged_; ++i) {
      const Tensor& splits = ctx.input(num_ragged_ + i);
      if (splits.rank() != 1 || splits.dim(0) == 0) {
        return InvalidArgument("tensor row_splits must be a vector of at least one element, not ",
                               splits.shape().ToString());
      }
      TFLEET_RETURN_IF_ERROR(rows.Merge(splits.dim(0) - 1, &input));
    }
    for (int i = 0; i < num_sparse_; ++i) {
      const Tensor& indices = ctx.input(first_sparse + i);
      const Tensor& values = ctx.input(first_sparse + num_sparse_ + i);
      const Tensor& shape = ctx.input(first_sparse + 2 * num_sparse_ + i);
      TFLEET_RETURN_IF_ERROR(CheckSparseColumn(indices, values, shape, i));
      TFLEET_RETURN_IF_ERROR(rows.Merge(shape.values<int64_t>()[0], &input));
    }
    for (int i = first_dense; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).rank() != 2) {
        return InvalidArgument("Dense inputs should be a matrix but received shape ",
                               ctx.input(i).shape().ToString());
      }
      TFLEET_RETURN_IF_ERROR(rows.Merge(ctx.input(i).dim(0), &input));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape table, Shape::Make({input.rows}));
    TFLEET_RETURN_IF_ERROR(Tensor::CheckSize(DType::kInt64, table));
    for (const char kind : order_) {
      if (kind == 'R') {
        TFLEET_ASSIGN_OR_RETURN(input.columns.emplace_back(), RaggedColumn(ctx, ragged++));
      } else if (kind == 'S') {
        input.columns.push_back(SparseColumn(ctx.input(first_sparse + sparse),
                                             ctx.input(first_sparse + num_sparse_ + sparse),
                                             input.rows));
        ++sparse;
      } else {
        CrossColumn& column = input.columns.emplace_back();
        column.values = &ctx.input(first_dense + dense++);
        column.is_dense = true;
      }
    }
    return input;
  }

  StatusOr<CrossColumn> RaggedColumn(const KernelContext& ctx, int i) const {
    CrossColumn column;
    column.values = &ctx.input(i);
    if (column.values->rank() != 1) {
      return InvalidArgument("tensor values must be a vector, not of shape ",
                             column.values->shape().ToString());
    }
    Ragged ragged;
    const Integers splits = IntegersOf(ctx.input(num_ragged_ + i));
    ragged.splits.emplace_back(splits.begin(), splits.end());
    ragged.values = *column.values;
    TFLEET_RETURN_IF_ERROR(CheckRagged(ragged));
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      column.starts.push_back(splits[row]);
      column.counts.push_back(splits[row + 1] - splits[row]);
    }
    return column;
  }

  std::string order_;
  int num_ragged_ = 0, num_sparse_ = 0;
  int64_t buckets_ = 0;
  uint64_t key_ = 0;
  DType splits_type_ = DType::kInt64;
};

}  // namespace

void RegisterRaggedCrossKernels(KernelRegistry& r) {
  for (const DType splits : {DType::kInt32, DType::kInt64}) {
    r.Add<RaggedCross<int64_t>>(
        "RaggedCross", kCpu, {{"out_values_type", DType::kInt64}, {"out_row_splits_type", splits}});
    r.Add<RaggedCross<std::string>>(
        "RaggedCross", kCpu,
        {{"out_values_type", DType::kString}, {"out_row_splits_type", splits}});
  }
}

}  // namespace tensorfleet::cpu
