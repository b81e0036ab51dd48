// RaggedRange, RaggedGather, RaggedTensorToSparse. Schemas:
// runtime/ops/sparse/sparse_serial_ops.cc.
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/ragged/ragged_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
class RaggedRange final : public Kernel {
 public:
  explicit RaggedRange(KernelInit& init) { init.Get("Tsplits", &type_); }
  Status Compute(KernelContext& ctx) const override {
    constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    int64_t rows = 1;
    bool is_vector = false;
    for (int i = 0; i < 3; ++i) {
      const Tensor& input = ctx.input(i);
      if (input.rank() > 1) return InvalidArgument(kNames[i], " must be a scalar or vector");
      if (input.rank() == 0) continue;
      if (is_vector && input.dim(0) != rows) {
        return InvalidArgument("starts, limits, and deltas must have the same shape");
      }
      rows = input.dim(0);
      is_vector = true;
    }
    const auto at = [&](int i, int64_t row) {
      return ctx.input(i).values<T>()[ctx.input(i).rank() == 0 ? 0 : row];
    };
    TFLEET_RETURN_IF_ERROR(CheckWorkSpace(rows + 1, sizeof(int64_t)));
    Splits splits = {0};
    for (int64_t row = 0; row < rows; ++row) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t size, Size(at(0, row), at(1, row), at(2, row)));
      if (size > std::numeric_limits<int64_t>::max() - splits.back()) {
        return InvalidArgument("the ranges have too many elements");
      }
      splits.push_back(splits.back() + size);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, {splits.back()}));
    T* to = values.template mutable_values<T>().data();
    for (int64_t row = 0; row < rows; ++row) {
      T value = at(0, row);
      const T delta = at(2, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        *to++ = value;
        if constexpr (std::is_integral_v<T>) {
          __builtin_add_overflow(value, delta, &value);  // beyond the last one only
        } else {
          value += delta;
        }
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, SplitsTensor(type_, splits));
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(values));
    return OkStatus();
  }

 private:
  static StatusOr<int64_t> Size(T start, T limit, T delta) {
    if (delta == T(0)) return InvalidArgument("Requires delta != 0");
    if ((delta > T(0) && limit < start) || (delta < T(0) && limit > start)) return 0;
    if constexpr (std::is_integral_v<T>) {
      // Distances as unsigned numbers, so that none overflows.
      const auto from = static_cast<uint64_t>(static_cast<int64_t>(start));
      const auto to = static_cast<uint64_t>(static_cast<int64_t>(limit));
      const uint64_t distance = delta > 0 ? to - from : from - to;
      const auto signed_step = static_cast<int64_t>(delta);
      const uint64_t step = signed_step > 0 ? static_cast<uint64_t>(signed_step)
                                            : uint64_t{0} - static_cast<uint64_t>(signed_step);
      const uint64_t count = distance / step + (distance % step != 0);
      if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return InvalidArgument("Requires ((limit - start) / delta) <= ",
                               std::numeric_limits<int64_t>::max());
      }
      return static_cast<int64_t>(count);
    } else {
      const double count = std::ceil(std::abs((limit - start) / delta));
      if (!(count <= 9e18)) {
        return InvalidArgument("Requires ((limit - start) / delta) <= ",
                               std::numeric_limits<int64_t>::max());
      }
      return static_cast<int64_t>(count);
    }
  }

  DType type_ = DType::kInt64;
};

class RaggedGather final : public Kernel {
 public:
  explicit RaggedGather(KernelInit& init) {
    init.Get("PARAMS_RAGGED_RANK", &rank_);
    init.Get("OUTPUT_RAGGED_RANK", &output_rank_);
    init.Get("Tsplits", &type_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Ragged params, ReadRagged(ctx, 0, static_cast<int>(rank_)));
    const Tensor& indices = ctx.input(ctx.num_inputs() - 1);
    if (output_rank_ != indices.rank() - 1 + rank_) {
      return InvalidArgument("OUTPUT_RAGGED_RANK is ", output_rank_, ": it must be ",
                             indices.rank() - 1 + rank_, " for indices of rank ", indices.rank());
    }
    // Pieces of what each level splits: first the rows that are asked for.
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t row = IntegerAt(indices, i);
      if (row < 0 || row >= params.rows()) {
        return InvalidArgument("indices[", i, "] = ", row, " is not in [0, ", params.rows(), ")");
      }
      pieces.emplace_back(row, row + 1);
    }
    int output = 0;
    int64_t rows = indices.rank() > 0 ? indices.dim(0) : 1;
    for (int d = 1; d < indices.rank(); ++d) {
      Splits uniform(rows + 1);
      for (int64_t i = 0; i <= rows; ++i) uniform[i] = i * indices.dim(d);
      TFLEET_RETURN_IF_ERROR(SetSplits(ctx, output++, uniform));
      rows *= indices.dim(d);
    }
    for (size_t level = 0; level < params.splits.size(); ++level) {
      const Splits& all = params.splits[level];
      Splits splits = {0};
      for (auto& [begin, end] : pieces) {
        TFLEET_RETURN_IF_ERROR(CheckWorkSpace(end - begin, sizeof(int64_t)));
        for (int64_t i = begin; i < end; ++i) {
          splits.push_back(splits.back() + all[i + 1] - all[i]);
        }
        begin = all[begin];
        end = all[end];
      }
      // The result of a scalar index is the row, not a list of one.
      if (indices.rank() > 0 || level > 0) TFLEET_RETURN_IF_ERROR(SetSplits(ctx, output++, splits));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor values, Values(params.values, pieces));
    ctx.SetOutput(static_cast<int>(output_rank_), std::move(values));
    return OkStatus();
  }

 private:
  Status SetSplits(KernelContext& ctx, int i, const Splits& splits) const {
    TFLEET_ASSIGN_OR_RETURN(Tensor tensor, SplitsTensor(type_, splits));
    ctx.SetOutput(i, std::move(tensor));
    return OkStatus();
  }
  static StatusOr<Tensor> Values(const Tensor& values,
                                 const std::vector<std::pair<int64_t, int64_t>>& pieces) {
    int64_t total = 0;
    for (const auto& [begin, end] : pieces) {
      if (__builtin_add_overflow(total, end - begin, &total)) {
        return ResourceExhausted("more values are gathered than can be counted");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, values.shape().WithDim(0, total));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(values.dtype(), shape));
    if (out.num_elements() == 0) return out;
    const int64_t row = out.num_elements() / total;
    int64_t at = 0;
    for (const auto& [begin, end] : pieces) {
      CopyElements(values.dtype(), MutableElementAt(out, at), ElementAt(values, begin * row),
                   (end - begin) * row);
      at += (end - begin) * row;
    }
    return out;
  }

  int64_t rank_ = 1, output_rank_ = 0;
  DType type_ = DType::kInt64;
};

class RaggedToSparse final : public Kernel {
 public:
  explicit RaggedToSparse(KernelInit& init) { init.Get("RAGGED_RANK", &rank_); }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Ragged ragged, ReadRagged(ctx, 0, static_cast<int>(rank_)));
    const Shape& inner = ragged.values.shape();
    const int64_t rank = rank_ + inner.rank(), n = ragged.values.num_elements();
    std::vector<int64_t> shape = {ragged.rows()};
    for (const Splits& splits : ragged.splits) {
      int64_t longest = 0;
      for (size_t i = 1; i < splits.size(); ++i) {
        longest = std::max(longest, splits[i] - splits[i - 1]);
      }
      shape.push_back(longest);
    }
    shape.insert(shape.end(), inner.dims().begin() + 1, inner.dims().end());
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {n, rank}));
    // Row of each level that the value is in.
    std::vector<int64_t> row(ragged.splits.size(), 0);
    const int64_t per_value = inner.dim(0) == 0 ? 0 : n / inner.dim(0);
    int64_t* to = indices.mutable_values<int64_t>().data();
    LoopWatch watch(ctx, 4 * rank);
    for (int64_t v = 0; v < inner.dim(0); ++v) {
      int64_t at = v;
      std::vector<int64_t> place(ragged.splits.size() + 1);
      for (int64_t level = rank_ - 1; level >= 0; --level) {
        const Splits& splits = ragged.splits[level];
        while (splits[row[level] + 1] <= at) ++row[level];
        place[level + 1] = at - splits[row[level]];
        at = row[level];
      }
      place[0] = at;
      for (int64_t k = 0; k < per_value; ++k) {
        watch.Pass();
        to = std::copy(place.begin(), place.end(), to);
        int64_t rest = k;
        for (int d = inner.rank() - 1; d >= 1; --d) {
          to[d - 1] = rest % inner.dim(d);
          rest /= inner.dim(d);
        }
        to += inner.rank() - 1;
      }
    }
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, ragged.values.Flat());
    ctx.SetOutput(2, Tensor::Vector<int64_t>(absl::MakeConstSpan(shape)));
    return OkStatus();
  }

 private:
  int64_t rank_ = 1;
};

}  // namespace

void RegisterRaggedKernels(KernelRegistry& r) {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    ForEachType(Types<float, double, int32_t, int64_t>(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      r.Add<RaggedRange<T>>("RaggedRange", kCpu, {{"T", kDTypeOf<T>}, {"Tsplits", type}});
    });
    r.Add<RaggedGather>("RaggedGather", kCpu, {{"Tsplits", type}});
    r.Add<RaggedToSparse>("RaggedTensorToSparse", kCpu, {{"Tsplits", type}});
  }
}

}  // namespace tensorfleet::cpu
