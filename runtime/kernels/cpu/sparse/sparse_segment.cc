// Reductions over rows that are named one by one for each segment, as embeddings of several words
// are: SparseSegmentSum, -Mean, -SqrtN, with and without a number of segments, and their gradients.
// Schemas and shape rules: runtime/ops/math/segment_ops.cc.
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

enum class Scale { kNone, kMean, kSqrtN };

Scale ScaleOf(const KernelInit& init) {
  const std::string& op = init.node().op();
  if (absl::StartsWith(op, "SparseSegmentMean")) return Scale::kMean;
  if (absl::StartsWith(op, "SparseSegmentSqrtN")) return Scale::kSqrtN;
  return Scale::kNone;
}

// factors[s]: what the sum over segment `s` is multiplied by.
template <typename W>
std::vector<W> FactorsOf(Scale scale, absl::Span<const int64_t> ids, int64_t segments) {
  std::vector<W> factors(segments, W(1));
  if (scale == Scale::kNone) return factors;
  std::vector<int64_t> counts(segments);
  for (const int64_t id : ids) ++counts[id];
  for (int64_t s = 0; s < segments; ++s) {
    if (counts[s] < 2) continue;
    const double count = static_cast<double>(counts[s]);
    factors[s] = static_cast<W>(1 / (scale == Scale::kMean ? count : std::sqrt(count)));
  }
  return factors;
}

// out[to[i]] += data[from[i]] * factors[of[i]].
template <typename W>
void AddRows(const KernelContext& ctx, const W* data, absl::Span<const int64_t> from,
             absl::Span<const int64_t> to, absl::Span<const int64_t> of,
             const std::vector<W>& factors, int64_t width, W* out) {
  const auto add = [&](int64_t i, int64_t row) {
    const W* x = data + from[i] * width;
    W* y = out + row * width;
    const W factor = factors[of[i]];
    TFLEET_VECTORIZE_ROW
    for (int64_t k = 0; k < width; ++k) y[k] = static_cast<W>(y[k] + x[k] * factor);
  };
  const auto prefetch = [&](int64_t i, int64_t row) {
    PrefetchRow(data + from[i] * width, width * sizeof(W));
    PrefetchRow(out + row * width, width * sizeof(W));
  };
  ForEachRow(ctx, to, 5 + width / 8, add, prefetch);
}

// out[to[i]] = the sum of data[from[i]], times factors[to[i]]; `to` is sorted, and rows of `out`
// that it does not name become 0. Threads share the entries, each working on whole rows of `out`.
template <typename W>
void SumSortedRows(const KernelContext& ctx, const W* data, absl::Span<const int64_t> from,
                   absl::Span<const int64_t> to, const std::vector<W>& factors, int64_t width,
                   W* out) {
  const int64_t n = static_cast<int64_t>(to.size());
  const auto first_of_next = [&](int64_t i) {
    while (i > 0 && i < n && to[i] == to[i - 1]) ++i;
    return i;
  };
  // The rows before the first that entry i names which no earlier entry names.
  const auto clear_before = [&](int64_t i) {
    const int64_t first = i == 0 ? 0 : to[i - 1] + 1;
    const int64_t last = i == n ? static_cast<int64_t>(factors.size()) : to[i];
    std::fill(out + first * width, out + last * width, W(0));
  };
  if (n > 0) {
    ParallelFor(ctx, n, 4 + width / 4, [&](int64_t begin, int64_t end) {
      end = first_of_next(end);
      for (int64_t i = first_of_next(begin); i < end;) {
        clear_before(i);
        W* const y = out + to[i] * width;
        int64_t next = i + 1;
        std::copy_n(data + from[i] * width, width, y);
        for (; next < n && to[next] == to[i]; ++next) {
          const W* x = data + from[next] * width;
          if (next + kRowsAhead < n) {
            PrefetchRow(data + from[next + kRowsAhead] * width, width * sizeof(W));
          }
          TFLEET_VECTORIZE_ROW
          for (int64_t k = 0; k < width; ++k) y[k] = static_cast<W>(y[k] + x[k]);
        }
        const W factor = factors[to[i]];
        if (factor != W(1)) {
          TFLEET_VECTORIZE_ROW
          for (int64_t k = 0; k < width; ++k) y[k] = static_cast<W>(y[k] * factor);
        }
        i = next;
      }
    });
  }
  clear_before(n);
}

// Inputs 1 and 2: for each entry the row it names and the segment it belongs to.
struct Entries {
  std::vector<int64_t> index_storage, id_storage;
  absl::Span<const int64_t> indices, ids;
};

Status ReadEntries(const KernelContext& ctx, Entries* entries) {
  const Tensor& indices = ctx.input(1);
  const Tensor& ids = ctx.input(2);
  if (ctx.input(0).rank() < 1) return InvalidArgument("Shape must be at least rank 1");
  if (indices.rank() != 1) return InvalidArgument("indices should be a vector.");
  if (ids.rank() != 1) return InvalidArgument("segment_ids should be a vector.");
  if (indices.dim(0) != ids.dim(0)) {
    return InvalidArgument("segment_ids and indices should have same size, but have ", ids.dim(0),
                           " and ", indices.dim(0));
  }
  entries->indices = WidenedIntegers(indices, &entries->index_storage);
  entries->ids = WidenedIntegers(ids, &entries->id_storage);
  return OkStatus();
}

Status CheckInRange(const char* what, absl::Span<const int64_t> values, int64_t limit) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limit) {
      return InvalidArgument(what, "[", i, "] == ", values[i], " out of range [0, ", limit, ")");
    }
  }
  return OkStatus();
}

StatusOr<int64_t> CountInput(const KernelContext& ctx, int i, const char* name) {
  if (!ctx.input(i).shape().is_scalar()) {
    return InvalidArgument(name, " should be a scalar, not shape ",
                           ctx.input(i).shape().ToString());
  }
  const int64_t count = IntegerAt(ctx.input(i), 0);
  if (count < 0) return InvalidArgument(name, " must not be negative, but is ", count);
  return count;
}

template <typename T>
class SparseSegment final : public Kernel {
 public:
  explicit SparseSegment(KernelInit& init)
      : scale_(ScaleOf(init)), has_count_(absl::EndsWith(init.node().op(), "WithNumSegments")) {}

  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor& data = ctx.input(0);
    Entries entries;
    TFLEET_RETURN_IF_ERROR(ReadEntries(ctx, &entries));
    TFLEET_ASSIGN_OR_RETURN(const int64_t segments, Segments(ctx, entries.ids));
    TFLEET_RETURN_IF_ERROR(CheckInRange("indices", entries.indices, data.dim(0)));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, data.shape().WithDim(0, segments));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(data));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      SumSortedRows<W>(ctx, from.data(), entries.indices, entries.ids,
                       FactorsOf<W>(scale_, entries.ids, segments), out.num_elements() / segments,
                       to.data());
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // The ids are sorted.
  StatusOr<int64_t> Segments(const KernelContext& ctx, absl::Span<const int64_t> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) return InvalidArgument("segment ids must be >= 0, but got ", ids[i]);
      if (i > 0 && ids[i] < ids[i - 1]) {
        return InvalidArgument("segment ids are not increasing: ", ids[i], " follows ", ids[i - 1]);
      }
    }
    const int64_t last = ids.empty() ? -1 : ids.back();
    if (!has_count_) {
      constexpr int64_t kTooMany = int64_t{1} << 48;
      if (last >= kTooMany) return InvalidArgument("segment id ", last, " is too large");
      return last + 1;
    }
    TFLEET_ASSIGN_OR_RETURN(const int64_t segments, CountInput(ctx, 3, "num_segments"));
    if (last >= segments) {
      return InvalidArgument("segment ids must be < num_segments, but got ", last, " and ",
                             segments);
    }
    return segments;
  }

  const Scale scale_;
  const bool has_count_;
};

template <typename T>
class SparseSegmentGrad final : public Kernel {
 public:
  explicit SparseSegmentGrad(KernelInit& init)
      : scale_(ScaleOf(init)), is_compact_(absl::EndsWith(init.node().op(), "V2")) {}

  Status Compute(KernelContext& ctx) const override {
    const Tensor& gradient = ctx.input(0);
    Entries entries;
    TFLEET_RETURN_IF_ERROR(ReadEntries(ctx, &entries));
    TFLEET_ASSIGN_OR_RETURN(int64_t rows, CountInput(ctx, 3, "output_dim0"));
    TFLEET_RETURN_IF_ERROR(CheckInRange("Segment id", entries.ids, gradient.dim(0)));
    TFLEET_RETURN_IF_ERROR(CheckInRange("Index", entries.indices, rows));
    if (is_compact_) TFLEET_RETURN_IF_ERROR(Compact(ctx, &entries, &rows));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, gradient.shape().WithDim(0, rows));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      using W = Widened<T>;
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      std::fill_n(to.data(), out.num_elements(), W(0));
      AddRows<W>(ctx, from.data(), entries.ids, entries.indices, entries.ids,
                 FactorsOf<W>(scale_, entries.ids, gradient.dim(0)), out.num_elements() / rows,
                 to.data());
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Numbers the rows that occur, in ascending order, which are output 1.
  static Status Compact(KernelContext& ctx, Entries* entries, int64_t* rows) {
    std::vector<int64_t> distinct(entries->indices.begin(), entries->indices.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<int64_t> numbers;
    for (const int64_t index : entries->indices) {
      numbers.push_back(std::lower_bound(distinct.begin(), distinct.end(), index) -
                        distinct.begin());
    }
    *rows = static_cast<int64_t>(distinct.size());
    entries->index_storage = std::move(numbers);
    entries->indices = entries->index_storage;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, IntegerVector(ctx.input(1).dtype(), distinct));
    ctx.SetOutput(1, std::move(out));
    return OkStatus();
  }

  const Scale scale_;
  const bool is_compact_;
};

}  // namespace

void RegisterSparseSegmentKernels(KernelRegistry& r) {
  AddForTypes<SparseSegment>(r, "SparseSegmentSum", Reals());
  AddForTypes<SparseSegment>(r, "SparseSegmentSumWithNumSegments", Reals());
  for (const char* name : {"SparseSegmentMean", "SparseSegmentSqrtN"}) {
    AddForTypes<SparseSegment>(r, name, Floats());
    AddForTypes<SparseSegment>(r, absl::StrCat(name, "WithNumSegments"), Floats());
  }
  for (const char* name : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    AddForTypes<SparseSegmentGrad>(r, absl::StrCat(name, "Grad"), Floats());
    AddForTypes<SparseSegmentGrad>(r, absl::StrCat(name, "GradV2"), Floats());
  }
}

}  // namespace tensorfleet::cpu
