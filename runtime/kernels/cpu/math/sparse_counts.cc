// DenseCountSparseOutput, SparseCountSparseOutput and RaggedCountSparseOutput: how often each value
// occurs in each row, as a sparse tensor. Schemas: runtime/ops/math/counting_ops.cc.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

// What the attributes of the ops say.
struct CountRules {
  explicit CountRules(KernelInit& init) {
    init.Get("minlength", &least);
    init.Get("maxlength", &most);
    init.Get("binary_output", &is_binary);
  }
  // -1: no limit. The output is as wide as the largest value asks for between these.
  int64_t least = -1, most = -1;
  bool is_binary = false;
};

// Adds up weights by row and value.
template <typename W>
class Counts {
 public:
  // `weights` is null when each value counts once.
  Counts(const KernelContext& ctx, const CountRules& rules, const W* weights)
      : rules_(rules), weights_(weights), watch_(ctx, 20) {}

  // Element `i`, a value of `row`, not negative. Rows come in any order; those that come in their
  // own are faster.
  void Add(int64_t row, int64_t value, int64_t i) {
    watch_.Pass();
    if (rules_.most >= 0 && value >= rules_.most) return;
    if (row != row_) EndRow();
    row_ = row;
    largest_ = std::max(largest_, value);
    W& count = of_row_[value];
    count = rules_.is_binary ? W(1) : WrapAdd(count, weights_ == nullptr ? W(1) : weights_[i]);
  }

  // Sets the outputs: a matrix of `rows` rows, or a vector when `is_vector`.
  Status SetOutputs(KernelContext& ctx, int64_t rows, bool is_vector) {
    EndRow();
    Merge();
    const auto total = static_cast<int64_t>(entries_.size());
    TFLEET_ASSIGN_OR_RETURN(Tensor indices,
                            ctx.Allocate(DType::kInt64, {total, is_vector ? 1 : 2}));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<W>, {total}));
    int64_t* index = indices.mutable_values<int64_t>().data();
    W* count = values.template mutable_values<W>().data();
    for (const Entry& entry : entries_) {
      if (!is_vector) *index++ = entry.row;
      *index++ = entry.value;
      *count++ = entry.count;
    }
    int64_t width = rules_.most;
    if (width < 0) width = std::max(WrapAdd(largest_, int64_t{1}), rules_.least);
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(
        2, is_vector ? Tensor::Vector<int64_t>({width}) : Tensor::Vector<int64_t>({rows, width}));
    return OkStatus();
  }

 private:
  struct Entry {
    int64_t row, value;
    W count;
    bool operator<(const Entry& other) const {
      return row != other.row ? row < other.row : value < other.value;
    }
  };

  // Appends the row's counts, sorted by value.
  void EndRow() {
    const size_t begin = entries_.size();
    for (const auto& [value, count] : of_row_) entries_.push_back({row_, value, count});
    std::sort(entries_.begin() + static_cast<int64_t>(begin), entries_.end());
    of_row_.clear();
  }

  // Brings rows that came in parts together.
  void Merge() {
    const auto goes_back = [](const Entry& a, const Entry& b) { return !(a < b); };
    if (std::adjacent_find(entries_.begin(), entries_.end(), goes_back) == entries_.end()) return;
    std::stable_sort(entries_.begin(), entries_.end());
    size_t end = 0;
    for (const Entry& entry : entries_) {
      if (end > 0 && !(entries_[end - 1] < entry)) {
        W& count = entries_[end - 1].count;
        count = rules_.is_binary ? W(1) : WrapAdd(count, entry.count);
      } else {
        entries_[end++] = entry;
      }
    }
    entries_.resize(end);
  }

  const CountRules& rules_;
  const W* const weights_;
  LoopWatch watch_;
  int64_t row_ = 0, largest_ = 0;
  absl::flat_hash_map<int64_t, W> of_row_;
  std::vector<Entry> entries_;
};

// Null when every value counts once.
template <typename W>
StatusOr<const W*> ReadWeights(const Tensor& weights, const Tensor& values) {
  if (weights.num_elements() == 0) return nullptr;
  if (weights.shape() != values.shape()) {
    return InvalidArgument(
        "Weights and values must have the same shape. Weight shape: ", weights.shape().ToString(),
        "; values shape: ", values.shape().ToString());
  }
  return weights.values<W>().data();
}

template <typename T>
Status CheckNotNegative(const Tensor& values) {
  const absl::Span<const T> all = values.values<T>();
  if (std::any_of(all.begin(), all.end(), [](T v) { return v < 0; })) {
    return InvalidArgument("Input values must all be non-negative");
  }
  return OkStatus();
}

template <typename T, typename W>
class DenseCount final : public Kernel {
 public:
  explicit DenseCount(KernelInit& init) : rules_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& values = ctx.input(0);
    if (values.rank() != 1 && values.rank() != 2) {
      return InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ",
                             values.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const W* const weights, ReadWeights<W>(ctx.input(1), values));
    const bool is_vector = values.rank() == 1;
    const int64_t rows = is_vector ? 1 : values.dim(0), columns = values.dim(-1);
    TFLEET_RETURN_IF_ERROR(CheckNotNegative<T>(values));
    Counts<W> counts(ctx, rules_, weights);
    const T* value = values.values<T>().data();
    for (int64_t i = 0; i < values.num_elements(); ++i) counts.Add(i / columns, value[i], i);
    return counts.SetOutputs(ctx, rows, is_vector);
  }
  bool IsExpensive() const override { return true; }

 private:
  const CountRules rules_;
};

template <typename T, typename W>
class SparseCount final : public Kernel {
 public:
  explicit SparseCount(KernelInit& init) : rules_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 ||
        indices.dim(0) != values.dim(0) || indices.dim(1) != shape.dim(0)) {
      return InvalidArgument(
          "indices must be a matrix with a row per value and a column per dimension, got indices ",
          indices.shape().ToString(), ", values ", values.shape().ToString(), ", dense_shape ",
          shape.shape().ToString());
    }
    const int64_t rank = shape.dim(0);
    if (rank < 1) {
      return InvalidArgument("The shape argument requires at least one element.");
    }
    const absl::Span<const int64_t> dims = shape.values<int64_t>();
    const absl::Span<const int64_t> at = indices.values<int64_t>();
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      if (at[i] < 0 || at[i] >= dims[i % rank]) {
        return InvalidArgument("Sparse index tuple indices[", i / rank,
                               ", :] is out of bounds: ", at[i], " is not in [0, ", dims[i % rank],
                               ")");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const W* const weights, ReadWeights<W>(ctx.input(3), values));
    const bool is_vector = rank == 1;
    TFLEET_RETURN_IF_ERROR(CheckNotNegative<T>(values));
    Counts<W> counts(ctx, rules_, weights);
    const absl::Span<const T> value = values.values<T>();
    for (size_t i = 0; i < value.size(); ++i) {
      counts.Add(is_vector ? 0 : at[i * rank], value[i], static_cast<int64_t>(i));
    }
    return counts.SetOutputs(ctx, is_vector ? 1 : dims[0], is_vector);
  }
  bool IsExpensive() const override { return true; }

 private:
  const CountRules rules_;
};

template <typename T, typename W>
class RaggedCount final : public Kernel {
 public:
  explicit RaggedCount(KernelInit& init) : rules_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& values = ctx.input(1);
    if (ctx.input(0).rank() != 1 || values.rank() != 1) {
      return InvalidArgument("splits and values must be vectors, not of shapes ",
                             ctx.input(0).shape().ToString(), " and ", values.shape().ToString());
    }
    const absl::Span<const int64_t> splits = ctx.input(0).values<int64_t>();
    if (splits.size() < 2) {
      return InvalidArgument("Must provide at least 2 elements for the splits argument");
    }
    if (splits[0] != 0) return InvalidArgument("Splits must start with 0, not with ", splits[0]);
    if (splits.back() != values.dim(0)) {
      return InvalidArgument("Splits must end with the number of values, got ", splits.back(),
                             " instead of ", values.dim(0));
    }
    if (!std::is_sorted(splits.begin(), splits.end())) {
      return InvalidArgument("Splits must be sorted in increasing order");
    }
    TFLEET_ASSIGN_OR_RETURN(const W* const weights, ReadWeights<W>(ctx.input(2), values));
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    TFLEET_RETURN_IF_ERROR(CheckNotNegative<T>(values));
    Counts<W> counts(ctx, rules_, weights);
    const absl::Span<const T> value = values.values<T>();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) counts.Add(row, value[i], i);
    }
    return counts.SetOutputs(ctx, rows, false);
  }
  bool IsExpensive() const override { return true; }

 private:
  const CountRules rules_;
};

}  // namespace

void RegisterSparseCountKernels(KernelRegistry& r) {
  ForEachType(Types<int32_t, int64_t>(), [&](auto value_tag) {
    using T = typename decltype(value_tag)::type;
    ForEachType(Types<int32_t, int64_t, float, double>(), [&](auto tag) {
      using W = typename decltype(tag)::type;
      const TypeConstraints types = {{"T", kDTypeOf<T>}, {"output_type", kDTypeOf<W>}};
      r.Add<DenseCount<T, W>>("DenseCountSparseOutput", kCpu, types);
      r.Add<SparseCount<T, W>>("SparseCountSparseOutput", kCpu, types);
      r.Add<RaggedCount<T, W>>("RaggedCountSparseOutput", kCpu, types);
    });
  });
}

}  // namespace tensorfleet::cpu
