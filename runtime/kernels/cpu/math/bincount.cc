// Counting values in bins: Bincount, SparseBincount, RaggedBincount, HistogramFixedWidth. Schemas:
// runtime/ops/math/counting_ops.cc; DenseBincount: search.cc.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename Index>
StatusOr<int64_t> ReadSize(const Tensor& size) {
  if (size.rank() != 0) return InvalidArgument("Shape must be rank 0 but is rank ", size.rank());
  const Index bins = size.scalar<Index>();
  if (bins < 0) return InvalidArgument("size (", bins, ") must be non-negative");
  return static_cast<int64_t>(bins);
}

// Null when every value counts once.
template <typename T>
StatusOr<const T*> ReadWeights(const Tensor& weights, const Tensor& values) {
  if (weights.num_elements() == 0) return nullptr;
  if (weights.shape() != values.shape()) {
    return InvalidArgument(
        "weights must be the same shape as the values or a length-0 Tensor, in which case it acts "
        "as all weights equal to 1. Received ",
        weights.shape().ToString(), " for ", values.shape().ToString());
  }
  return weights.values<T>().data();
}

template <typename Index>
Status CheckNotNegative(absl::Span<const Index> values) {
  if (std::any_of(values.begin(), values.end(), [](Index v) { return v < 0; })) {
    return InvalidArgument("Input must be non-negative");
  }
  return OkStatus();
}

template <typename T>
class Bincount final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const int64_t bins, ReadSize<int32_t>(ctx.input(1)));
    const absl::Span<const int32_t> values = in.values<int32_t>();
    TFLEET_RETURN_IF_ERROR(CheckNotNegative(values));
    TFLEET_ASSIGN_OR_RETURN(const T* const weights, ReadWeights<T>(ctx.input(2), in));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, {bins}));
    T* const counts = out.mutable_values<T>().data();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < bins) counts[values[i]] += weights == nullptr ? T(1) : weights[i];
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// Where the values of a sparse or ragged tensor belong, and what they count.
template <typename Index, typename T>
struct RowsOfBins {
  int64_t bins = 0;
  bool is_binary = false;
  const T* weights = nullptr;
  T* counts = nullptr;

  void Count(int64_t row, int64_t i, Index value) const {
    if (value >= bins) return;
    T& count = counts[row * bins + value];
    count = is_binary ? T(1) : static_cast<T>(count + (weights == nullptr ? T(1) : weights[i]));
  }
};

template <typename Index, typename T>
class SparseBincount final : public Kernel {
 public:
  explicit SparseBincount(KernelInit& init) { init.Get("binary_output", &is_binary_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &dense_shape = ctx.input(2);
    TFLEET_ASSIGN_OR_RETURN(const int64_t bins, ReadSize<Index>(ctx.input(3)));
    if (indices.rank() != 2 || values.rank() != 1 || dense_shape.rank() != 1 ||
        indices.dim(0) != values.dim(0) || indices.dim(1) != dense_shape.dim(0)) {
      return InvalidArgument(
          "indices must be a matrix with a row per value and a column per dimension, got indices ",
          indices.shape().ToString(), ", values ", values.shape().ToString(), ", dense_shape ",
          dense_shape.shape().ToString());
    }
    // A row of bins for each position along the first dimension; of a vector, one for all.
    const int64_t rank = dense_shape.num_elements();
    if (rank < 1) return InvalidArgument("Input must have at least one dimension");
    const bool is_matrix = rank > 1;
    const absl::Span<const int64_t> at = indices.values<int64_t>();
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      if (at[i] < 0 || at[i] >= dense_shape.values<int64_t>()[i % rank]) {
        return InvalidArgument("Sparse index tuple indices[", i / rank,
                               ", :] is out of bounds: ", at[i]);
      }
    }
    const absl::Span<const Index> of = values.values<Index>();
    TFLEET_RETURN_IF_ERROR(CheckNotNegative(of));
    RowsOfBins<Index, T> rows{bins, is_binary_};
    TFLEET_ASSIGN_OR_RETURN(rows.weights, ReadWeights<T>(ctx.input(4), values));
    const int64_t batch = is_matrix ? dense_shape.values<int64_t>()[0] : 1;
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            is_matrix ? Shape::Make({batch, bins}) : Shape::Make({bins}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    rows.counts = out.mutable_values<T>().data();
    for (size_t i = 0; i < of.size(); ++i) {
      rows.Count(is_matrix ? at[i * rank] : 0, static_cast<int64_t>(i), of[i]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool is_binary_ = false;
};

template <typename Index, typename T>
class RaggedBincount final : public Kernel {
 public:
  explicit RaggedBincount(KernelInit& init) { init.Get("binary_output", &is_binary_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &splits_in = ctx.input(0), &values = ctx.input(1);
    if (splits_in.rank() != 1) {
      return InvalidArgument("Splits must be a vector, got shape: ", splits_in.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const int64_t bins, ReadSize<Index>(ctx.input(2)));
    const absl::Span<const int64_t> splits = splits_in.values<int64_t>();
    const absl::Span<const Index> of = values.values<Index>();
    if (splits.empty() || splits[0] != 0) {
      return InvalidArgument("Splits must start with 0, not with ", splits.empty() ? 0 : splits[0]);
    }
    const int64_t end = static_cast<int64_t>(of.size());
    if (splits.back() != end) {
      return InvalidArgument("Splits must end with the number of values, got ", splits.back(),
                             " instead of ", end);
    }
    if (!std::is_sorted(splits.begin(), splits.end())) {
      return InvalidArgument("Splits must be sorted in increasing order");
    }
    TFLEET_RETURN_IF_ERROR(CheckNotNegative(of));
    RowsOfBins<Index, T> rows{bins, is_binary_};
    TFLEET_ASSIGN_OR_RETURN(rows.weights, ReadWeights<T>(ctx.input(3), values));
    const int64_t batch = static_cast<int64_t>(splits.size()) - 1;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, {batch, bins}));
    rows.counts = out.mutable_values<T>().data();
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) rows.Count(row, i, of[i]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool is_binary_ = false;
};

// Values outside the range go to the first and the last bin.
template <typename T, typename Out>
class HistogramFixedWidth final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &values = ctx.input(0), &range = ctx.input(1), &nbins = ctx.input(2);
    if (range.rank() != 1 || range.dim(0) != 2) {
      return InvalidArgument("value_range should be a vector of 2 elements.");
    }
    if (nbins.rank() != 0) return InvalidArgument("nbins should be a scalar.");
    const T low = range.values<T>()[0], high = range.values<T>()[1];
    if (!(low < high)) {
      return InvalidArgument(
          "value_range should satisfy value_range[0] < value_range[1], but got '[", low, ", ", high,
          "]'");
    }
    const int32_t bins = nbins.scalar<int32_t>();
    if (bins <= 0)
      return InvalidArgument("nbins should be a positive number, but got '", bins, "'");
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<Out>, {bins}));
    Out* const counts = out.mutable_values<Out>().data();
    const double width = (static_cast<double>(high) - static_cast<double>(low)) / bins;
    for (const T value : values.values<T>()) {
      if (value != value) return InvalidArgument("Histogram values must not contain NaN");
      const double place =
          value > low ? (static_cast<double>(value) - static_cast<double>(low)) / width : 0.0;
      ++counts[place < bins - 1 ? static_cast<int64_t>(place) : bins - 1];
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterBincountKernels(KernelRegistry& r) {
  using Weights = Types<int32_t, int64_t, float, double>;
  AddForTypes<Bincount>(r, "Bincount", Weights());
  ForEachType(Types<int32_t, int64_t>(), [&](auto index_tag) {
    using Index = typename decltype(index_tag)::type;
    ForEachType(Weights(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const TypeConstraints types = {{"Tidx", kDTypeOf<Index>}, {"T", kDTypeOf<T>}};
      r.Add<SparseBincount<Index, T>>("SparseBincount", kCpu, types);
      r.Add<RaggedBincount<Index, T>>("RaggedBincount", kCpu, types);
      r.Add<HistogramFixedWidth<T, Index>>("HistogramFixedWidth", kCpu,
                                           {{"T", kDTypeOf<T>}, {"dtype", kDTypeOf<Index>}});
    });
  });
}

}  // namespace tensorfleet::cpu
