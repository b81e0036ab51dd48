// Reductions over the rows of each segment: Segment* (sorted ids) and UnsortedSegment*. Half and
// bfloat16 are added up in float. Schemas and shape rules: runtime/ops/math/segment_ops.cc.
#include <limits>
#include <vector>

#include "runtime/kernels/cpu/array/gather.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

enum class Reduce { kSum, kMean, kProd, kMin, kMax };

template <Reduce reduce, typename W>
W Start() {
  if constexpr (reduce == Reduce::kProd) return W(1);
  if constexpr (reduce == Reduce::kMin) return std::numeric_limits<W>::max();
  if constexpr (reduce == Reduce::kMax) return std::numeric_limits<W>::lowest();
  return W(0);
}
// The extremes of half and bfloat16 are not those of float.
template <Reduce reduce, typename T>
Widened<T> StartOf() {
  if constexpr (kIsSmallFloat<T> && reduce == Reduce::kMin) {
    return static_cast<float>(Eigen::NumTraits<T>::highest());
  } else if constexpr (kIsSmallFloat<T> && reduce == Reduce::kMax) {
    return static_cast<float>(Eigen::NumTraits<T>::lowest());
  } else {
    return Start<reduce, Widened<T>>();
  }
}

template <Reduce reduce, typename W>
W Combine(W a, W b) {
  if constexpr (reduce == Reduce::kProd) {
    return WrapMul(a, b);
  } else if constexpr (reduce == Reduce::kMin) {
    return b < a ? b : a;
  } else if constexpr (reduce == Reduce::kMax) {
    return a < b ? b : a;
  } else {
    return WrapAdd(a, b);
  }
}

// out[rows[i]] <- out[rows[i]] combined with data[i]; rows of `width` elements.
template <Reduce reduce, typename W>
void ReduceRowsInto(const KernelContext& ctx, const W* data, absl::Span<const int64_t> rows,
                    int64_t width, W* out) {
  const auto combine = [&](int64_t i, int64_t row) {
    const W* from = data + i * width;
    W* to = out + row * width;
    TFLEET_VECTORIZE_ROW
    for (int64_t k = 0; k < width; ++k) to[k] = Combine<reduce, W>(to[k], from[k]);
  };
  const auto prefetch = [&](int64_t i, int64_t row) {
    PrefetchRow(data + i * width, width * sizeof(W));
    PrefetchRow(out + row * width, width * sizeof(W));
  };
  ForEachRow(ctx, rows, 5 + width / 8, combine, prefetch);
}

// The same for sorted ids of at least one row, where out[ids[i]] need not hold anything before.
// Threads share the rows, each working on whole segments.
template <Reduce reduce, typename W>
void ReduceSortedRows(const KernelContext& ctx, const W* data, absl::Span<const int64_t> ids,
                      int64_t width, W* out) {
  const int64_t n = static_cast<int64_t>(ids.size());
  const auto first_of_next = [&](int64_t i) {
    while (i > 0 && i < n && ids[i] == ids[i - 1]) ++i;
    return i;
  };
  ParallelFor(ctx, n, 2 + width / 4, [&](int64_t begin, int64_t end) {
    end = first_of_next(end);
    for (int64_t i = first_of_next(begin); i < end;) {
      W* const to = out + ids[i] * width;
      int64_t next = i + 1;
      std::copy_n(data + i * width, width, to);
      for (; next < n && ids[next] == ids[i]; ++next) {
        const W* from = data + next * width;
        TFLEET_VECTORIZE_ROW
        for (int64_t k = 0; k < width; ++k) to[k] = Combine<reduce, W>(to[k], from[k]);
      }
      i = next;
    }
  });
}

// Sorted ids, one for each row.
Status CheckSorted(const Tensor& data, const Tensor& ids, absl::Span<const int64_t> values) {
  if (data.rank() < 1) return InvalidArgument("input must be at least rank 1");
  if (ids.rank() != 1) {
    return InvalidArgument("segment_ids should be a vector, not ", ids.shape().ToString());
  }
  if (ids.dim(0) != data.dim(0)) {
    return InvalidArgument("segment_ids should be the same size as dimension 0 of input, which is ",
                           data.dim(0), ", not ", ids.dim(0));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) return InvalidArgument("segment ids must be >= 0, but got ", values[i]);
    if (i > 0 && values[i] < values[i - 1]) {
      return InvalidArgument("segment ids are not increasing: ", values[i], " follows ",
                             values[i - 1]);
    }
  }
  return OkStatus();
}

template <typename T, Reduce reduce>
class Segment final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor& data = ctx.input(0);
    std::vector<int64_t> storage;
    const absl::Span<const int64_t> ids = WidenedIntegers(ctx.input(1), &storage);
    TFLEET_RETURN_IF_ERROR(CheckSorted(data, ctx.input(1), ids));
    if (!ids.empty() && ids.back() == std::numeric_limits<int64_t>::max()) {
      return InvalidArgument("segment id ", ids.back(), " is too large");
    }
    const int64_t segments = ids.empty() ? 0 : ids.back() + 1;
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, data.shape().WithDim(0, segments));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const int64_t width = out.num_elements() / segments;
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(data));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      ReduceSortedRows<reduce, W>(ctx, from.data(), ids, width, to.data());
      Settle(ids, width, to.data());
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Segments without rows are 0, or 1 for a product; means are divided.
  static void Settle(absl::Span<const int64_t> ids, int64_t width, Widened<T>* out) {
    using W = Widened<T>;
    int64_t next = 0;  // the first segment that has not been settled
    for (size_t begin = 0; begin < ids.size();) {
      const int64_t id = ids[begin];
      size_t end = begin;
      while (end < ids.size() && ids[end] == id) ++end;
      const W empty = reduce == Reduce::kProd ? W(1) : W(0);
      std::fill(out + next * width, out + id * width, empty);
      if constexpr (reduce == Reduce::kMean) {
        const W count = static_cast<W>(end - begin);
        for (int64_t i = id * width; i < (id + 1) * width; ++i) {
          out[i] = static_cast<W>(out[i] / count);
        }
      }
      next = id + 1;
      begin = end;
    }
  }
};

template <typename T, Reduce reduce>
class UnsortedSegment final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor& data = ctx.input(0);
    const Tensor& ids = ctx.input(1);
    if (!ctx.input(2).shape().is_scalar()) {
      return InvalidArgument("num_segments should be a scalar, not shape ",
                             ctx.input(2).shape().ToString());
    }
    const int64_t segments = IntegerAt(ctx.input(2), 0);
    if (segments < 0) {
      return InvalidArgument("Input num_segments == ", segments, " must not be negative.");
    }
    if (ids.rank() > data.rank() || data.shape().SubShape(0, ids.rank()) != ids.shape()) {
      return InvalidArgument("data.shape = ", data.shape().ToString(),
                             " does not start with segment_ids.shape = ", ids.shape().ToString());
    }
    std::vector<int64_t> storage;
    const absl::Span<const int64_t> rows = WidenedIntegers(ids, &storage);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= segments) {
        return InvalidArgument("segment_ids", PositionText(ids.shape(), i), " = ", rows[i],
                               " is out of range [0, ", segments, ")");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape head, Shape::Make({segments}));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            head.Concatenated(data.shape().SubShape(ids.rank(), data.rank())));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(data));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      std::fill_n(to.data(), out.num_elements(), StartOf<reduce, T>());
      ReduceRowsInto<reduce, W>(ctx, from.data(), rows, out.num_elements() / segments, to.data());
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <Reduce reduce, typename List>
void Register(KernelRegistry& r, const char* name, List types) {
  ForEachType(types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const TypeConstraints constraints = {{"T", kDTypeOf<T>}};
    r.Add<Segment<T, reduce>>(absl::StrCat("Segment", name), kCpu, constraints);
    if constexpr (reduce != Reduce::kMean) {
      r.Add<UnsortedSegment<T, reduce>>(absl::StrCat("UnsortedSegment", name), kCpu, constraints);
    }
  });
}

}  // namespace

void RegisterSegmentKernels(KernelRegistry& r) {
  Register<Reduce::kSum>(r, "Sum", Numbers());
  Register<Reduce::kMean>(r, "Mean", Numbers());
  Register<Reduce::kProd>(r, "Prod", Numbers());
  Register<Reduce::kMin>(r, "Min", Reals());
  Register<Reduce::kMax>(r, "Max", Reals());
}

}  // namespace tensorfleet::cpu
