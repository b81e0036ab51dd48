// RaggedTensorToTensor: rows are filled up, or cut, to one length. Schema:
// runtime/ops/sparse/sparse_serial_ops.cc.
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/ragged/ragged_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {
namespace {

// How many children each row of a level has.
using Counts = std::vector<int64_t>;

StatusOr<Counts> CountsOfSplits(const Tensor& tensor, int64_t rows) {
  const Integers splits = IntegersOf(tensor);
  if (static_cast<int64_t>(splits.size()) != rows + 1 || splits[0] != 0) {
    return InvalidArgument("Invalid row split size: ", splits.size(),
                           " splits, of which the first ", "must be 0, for ", rows, " rows");
  }
  Counts counts;
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1]) return InvalidArgument("row_splits must not decrease");
    counts.push_back(splits[i] - splits[i - 1]);
  }
  return counts;
}

StatusOr<Counts> CountsOfRowIds(const Tensor& tensor, int64_t rows) {
  TFLEET_RETURN_IF_ERROR(CheckWorkSpace(rows, sizeof(int64_t)));
  Counts counts(rows, 0);
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int64_t row = IntegerAt(tensor, i);
    if (row < last || row >= rows) {
      return InvalidArgument("value_rowids[", i, "] = ", row, " is not in [", last, ", ", rows,
                             ")");
    }
    last = row;
    ++counts[row];
  }
  return counts;
}

class RaggedToTensor final : public Kernel {
 public:
  explicit RaggedToTensor(KernelInit& init) {
    init.Get("row_partition_types", &kinds_);
    int64_t partitions = 0;
    init.Get("num_row_partition_tensors", &partitions);
    if (!init.status().ok()) return;
    if (static_cast<int64_t>(kinds_.size()) != partitions) {
      init.Fail(InvalidArgument("row_partition_types has ", kinds_.size(), " entries for ",
                                partitions, " tensors"));
      return;
    }
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const bool is_first = kinds_[i] == "FIRST_DIM_SIZE";
      const bool is_known =
          is_first ? i == 0 : kinds_[i] == "ROW_SPLITS" || (kinds_[i] == "VALUE_ROWIDS" && i > 0);
      if (!is_known) {
        init.Fail(InvalidArgument("row_partition_types[", i, "] is ", kinds_[i],
                                  ": there are ROW_SPLITS, FIRST_DIM_SIZE for the first and then ",
                                  "VALUE_ROWIDS"));
      }
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& values = ctx.input(1);
    if (values.rank() < 1) {
      return InvalidArgument("values must have a first dimension, not the shape ",
                             values.shape().ToString());
    }
    std::vector<Counts> levels;
    TFLEET_ASSIGN_OR_RETURN(const int64_t rows, ReadLevels(ctx, &levels));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx.input(0), values, rows, levels));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(values.dtype(), shape));
    const int outer = static_cast<int>(levels.size()) + 1;
    TFLEET_RETURN_IF_ERROR(FillDefault(ctx.input(2), outer, out));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> places, Places(shape, rows, levels));
    if (static_cast<int64_t>(places.size()) != values.dim(0)) {
      return InvalidArgument("the row partitions are for ", places.size(),
                             " values, but there are ", values.dim(0));
    }
    if (out.num_elements() > 0 && values.num_elements() > 0) {
      const int64_t size = values.num_elements() / values.dim(0);
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i] < 0) continue;
        CopyElements(values.dtype(), MutableElementAt(out, places[i] * size),
                     ElementAt(values, static_cast<int64_t>(i) * size), size);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // The number of rows; for each level below how many children its rows have.
  StatusOr<int64_t> ReadLevels(const KernelContext& ctx, std::vector<Counts>* levels) const {
    constexpr int kFirst = 3;
    int64_t rows = 0;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const Tensor& partition = ctx.input(kFirst + static_cast<int>(i));
      if (kinds_[i] == "FIRST_DIM_SIZE") {
        TFLEET_ASSIGN_OR_RETURN(rows, ScalarInteger(partition, "first_dim_size"));
        if (rows < 0) return InvalidArgument("the first dimension is ", rows, ", below 0");
        continue;
      }
      if (partition.rank() != 1) {
        return InvalidArgument("a row partition must be a vector, not of shape ",
                               partition.shape().ToString());
      }
      if (kinds_[i] == "ROW_SPLITS" && i == 0) {
        if (partition.dim(0) == 0) return InvalidArgument("Expected at least one row split");
        rows = partition.dim(0) - 1;
      }
      int64_t parents = rows;
      if (!levels->empty()) {
        parents = 0;
        for (const int64_t count : levels->back()) parents += count;
      }
      TFLEET_ASSIGN_OR_RETURN(levels->emplace_back(), kinds_[i] == "ROW_SPLITS"
                                                          ? CountsOfSplits(partition, parents)
                                                          : CountsOfRowIds(partition, parents));
    }
    return rows;
  }

  static StatusOr<Shape> OutputShape(const Tensor& wanted, const Tensor& values, int64_t rows,
                                     const std::vector<Counts>& levels) {
    std::vector<int64_t> dims = {rows};
    for (const Counts& counts : levels) {
      dims.push_back(counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end()));
    }
    const size_t outer = dims.size();
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    if (wanted.rank() == 0) {
      if (IntegerAt(wanted, 0) != -1) {
        return InvalidArgument("the only scalar value valid for shape is the fully unknown shape ",
                               "represented as -1");
      }
      return Shape::Make(dims);
    }
    const Integers sizes = IntegersOf(wanted);
    if (wanted.rank() != 1 || sizes.size() != dims.size()) {
      return InvalidArgument("shape must be a vector of ", dims.size(), " elements, not of shape ",
                             wanted.shape().ToString());
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (sizes[d] == -1) continue;
      if (sizes[d] < -1) return InvalidArgument("Dimension ", sizes[d], " must be >= 0");
      if (d >= outer && sizes[d] != dims[d]) {
        return InvalidArgument("dimension ", d, " of shape is ", sizes[d], ", but the values have ",
                               dims[d]);
      }
      dims[d] = sizes[d];
    }
    return Shape::Make(dims);
  }

  // Where each value goes, as the number of an element; -1 for what is cut off.
  static StatusOr<std::vector<int64_t>> Places(const Shape& shape, int64_t rows,
                                               const std::vector<Counts>& levels) {
    TFLEET_RETURN_IF_ERROR(CheckWorkSpace(rows, sizeof(int64_t)));
    std::vector<int64_t> places(rows);
    for (int64_t i = 0; i < rows; ++i) places[i] = i < shape.dim(0) ? i : -1;
    for (size_t level = 0; level < levels.size(); ++level) {
      const int64_t width = shape.dim(static_cast<int>(level) + 1);
      std::vector<int64_t> children;
      for (size_t row = 0; row < places.size(); ++row) {
        for (int64_t k = 0; k < levels[level][row]; ++k) {
          children.push_back(places[row] < 0 || k >= width ? -1 : places[row] * width + k);
        }
      }
      places = std::move(children);
    }
    return places;
  }

  // `value` is broadcast over the dimensions from `outer` on, and over all elements before.
  static Status FillDefault(const Tensor& value, int outer, Tensor& out) {
    const int inner = out.rank() - outer;
    if (value.rank() > inner) {
      return InvalidArgument("default_value of shape ", value.shape().ToString(),
                             " has more dimensions than the values: ", inner);
    }
    for (int d = 0; d < value.rank(); ++d) {
      const int64_t wanted = out.dim(out.rank() - value.rank() + d);
      if (value.dim(d) != 1 && value.dim(d) != wanted) {
        return InvalidArgument("default_value of shape ", value.shape().ToString(),
                               " does not fit the shape ", out.shape().ToString());
      }
    }
    if (out.num_elements() == 0) return OkStatus();
    if (value.num_elements() == 1) {
      FillElements(out.dtype(), out.mutable_raw(), value.raw(), out.num_elements());
      return OkStatus();
    }
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      int64_t rest = i, from = 0, stride = 1;
      for (int d = value.rank() - 1; d >= 0; --d) {
        const int64_t size = out.dim(out.rank() - value.rank() + d);
        if (value.dim(d) != 1) from += rest % size * stride;
        stride *= value.dim(d);
        rest /= size;
      }
      CopyElements(out.dtype(), MutableElementAt(out, i), ElementAt(value, from), 1);
    }
    return OkStatus();
  }

  std::vector<std::string> kinds_;
};

}  // namespace

void RegisterRaggedToTensorKernels(KernelRegistry& r) {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    r.Add<RaggedToTensor>("RaggedTensorToTensor", kCpu, {{"Tindex", type}});
  }
}

}  // namespace tensorfleet::cpu
