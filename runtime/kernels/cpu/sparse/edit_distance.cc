// EditDistance: how many insertions, deletions and substitutions lead from each sequence of a
// sparse tensor to that of another. Schema: runtime/ops/nn/ctc_ops.cc.
#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// A sparse tensor as sequences: entries [begin, end) with the same index but for the last.
struct Sequences {
  absl::Span<const int64_t> indices, shape;
  int64_t rank = 0, entries = 0;

  int64_t EndOf(int64_t begin) const {
    int64_t end = begin + 1;
    while (end < entries &&
           std::equal(indices.begin() + begin * rank, indices.begin() + (begin + 1) * rank - 1,
                      indices.begin() + end * rank)) {
      ++end;
    }
    return end;
  }
};

StatusOr<Sequences> ReadSequences(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                  const char* name) {
  if (indices.rank() != 2) {
    return InvalidArgument(
        name, "_indices should be a matrix, but got shape: ", indices.shape().ToString());
  }
  if (values.rank() != 1 || values.dim(0) != indices.dim(0)) {
    return InvalidArgument(name, "_values should be a vector with an element for each row of ",
                           name, "_indices, but got shape: ", values.shape().ToString());
  }
  if (shape.rank() != 1 || shape.dim(0) != indices.dim(1)) {
    return InvalidArgument(name, "_shape should be a vector with an element for each column of ",
                           name, "_indices, but got shape: ", shape.shape().ToString());
  }
  Sequences read{indices.values<int64_t>(), shape.values<int64_t>(), indices.dim(1),
                 indices.dim(0)};
  if (read.rank < 2) {
    return InvalidArgument(name, " must have at least two dimensions, got ", read.rank);
  }
  for (int64_t i = 0; i < read.entries * read.rank; ++i) {
    const int64_t d = i % read.rank;
    if (read.indices[i] < 0 || read.indices[i] >= read.shape[d]) {
      return InvalidArgument(name, " index ", read.indices[i], " of entry ", i / read.rank,
                             " is out of bounds: need 0 <= index < ", read.shape[d]);
    }
  }
  for (int64_t i = 1; i < read.entries; ++i) {
    const auto before = read.indices.subspan((i - 1) * read.rank, read.rank);
    const auto here = read.indices.subspan(i * read.rank, read.rank);
    if (!std::lexicographical_compare(before.begin(), before.end(), here.begin(), here.end())) {
      return InvalidArgument(name, " indices[", i, "] is out of order or repeated");
    }
  }
  return read;
}

template <typename T>
int64_t Levenshtein(absl::Span<const T> a, absl::Span<const T> b, LoopWatch& watch) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      watch.Pass();
      const int64_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min(changed, std::min(row[j], row[j + 1]) + 1);
    }
  }
  return row.back();
}

template <typename T>
class EditDistance final : public Kernel {
 public:
  explicit EditDistance(KernelInit& init) { init.Get("normalize", &is_normalized_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Sequences hypothesis,
                            ReadSequences(ctx.input(0), ctx.input(1), ctx.input(2), "hypothesis"));
    TFLEET_ASSIGN_OR_RETURN(const Sequences truth,
                            ReadSequences(ctx.input(3), ctx.input(4), ctx.input(5), "truth"));
    if (hypothesis.rank != truth.rank) {
      return InvalidArgument("Expected hypothesis.shape[0] and truth.shape[0] to be equal, got ",
                             hypothesis.rank, " and ", truth.rank);
    }
    absl::InlinedVector<int64_t, 8> dims;
    for (int64_t d = 0; d + 1 < truth.rank; ++d) {
      dims.push_back(std::max(hypothesis.shape[d], truth.shape[d]));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, shape));
    const absl::Span<const T> h = ctx.input(1).values<T>(), t = ctx.input(4).values<T>();
    const absl::Span<float> to = out.mutable_values<float>();
    LoopWatch watch(ctx);
    int64_t i = 0, j = 0;
    while (i < hypothesis.entries || j < truth.entries) {
      const int order = Order(hypothesis, i, truth, j);
      const int64_t i_end = order <= 0 ? hypothesis.EndOf(i) : i;
      const int64_t j_end = order >= 0 ? truth.EndOf(j) : j;
      const int64_t place = order <= 0 ? PlaceOf(hypothesis, i, shape) : PlaceOf(truth, j, shape);
      const int64_t distance =
          Levenshtein<T>(h.subspan(i, i_end - i), t.subspan(j, j_end - j), watch);
      to[place] = static_cast<float>(distance);
      if (is_normalized_) {
        to[place] = j_end > j ? static_cast<float>(distance) / static_cast<float>(j_end - j)
                              : std::numeric_limits<float>::infinity();
      }
      i = i_end;
      j = j_end;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Which sequence comes first: below 0 that of the hypothesis, 0 when both are of one place.
  static int Order(const Sequences& a, int64_t i, const Sequences& b, int64_t j) {
    if (i == a.entries) return 1;
    if (j == b.entries) return -1;
    for (int64_t d = 0; d + 1 < a.rank; ++d) {
      const int64_t x = a.indices[i * a.rank + d], y = b.indices[j * b.rank + d];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }
  static int64_t PlaceOf(const Sequences& of, int64_t entry, const Shape& shape) {
    int64_t place = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      place = place * shape.dim(d) + of.indices[entry * of.rank + d];
    }
    return place;
  }

  bool is_normalized_ = true;
};

}  // namespace

void RegisterEditDistanceKernels(KernelRegistry& r) {
  AddForTypes<EditDistance>(r, "EditDistance", Concat<Numbers, Types<bool, std::string>>());
}

}  // namespace tensorfleet::cpu
