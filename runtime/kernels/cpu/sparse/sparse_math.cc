// Arithmetic on sparse tensors: SparseSoftmax, SparseAdd and its gradient, SparseSparseMaximum and
// SparseSparseMinimum. Schemas and shape rules: runtime/ops/sparse/sparse_ops.cc and
// sparse_pair_ops.cc.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

// Over the entries that share all coordinates but the last.
template <typename T>
class SparseSoftmax final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    if (sparse.rank() < 2) {
      return InvalidArgument("Input should be at least rank 2, but has rank ", sparse.rank());
    }
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, sparse.values->shape()));
    const absl::Span<const T> from = sparse.values->values<T>();
    const absl::Span<T> to = out.template mutable_values<T>();
    const std::vector<int64_t> entries = SortedEntries(sparse);
    const auto row_of = [&](size_t i) { return sparse.At(entries[i]).first(sparse.rank() - 1); };
    for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
      while (end < entries.size() && row_of(end) == row_of(begin)) ++end;
      using W = Widened<T>;
      W largest = static_cast<W>(from[entries[begin]]), sum = 0;
      for (size_t i = begin; i < end; ++i) {
        largest = std::max(largest, static_cast<W>(from[entries[i]]));
      }
      for (size_t i = begin; i < end; ++i) {
        sum += std::exp(static_cast<W>(from[entries[i]]) - largest);
      }
      for (size_t i = begin; i < end; ++i) {
        to[entries[i]] = static_cast<T>(std::exp(static_cast<W>(from[entries[i]]) - largest) / sum);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// Two tensors walked side by side, both sorted: visit(a, b) with the numbers of entries that have
// the same coordinates, -1 for none.
template <typename Visit>
void Merge(const SparseInput& a, const SparseInput& b, const Visit& visit) {
  int64_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool takes_a = j == b.size() || (i < a.size() && !(b.At(j) < a.At(i)));
    const bool takes_b = i == a.size() || (j < b.size() && !(a.At(i) < b.At(j)));
    visit(takes_a ? i : -1, takes_b ? j : -1);
    i += takes_a;
    j += takes_b;
  }
}

// The type of |x|.
template <typename T>
struct MagnitudeOf {
  using type = T;
};
template <typename P>
struct MagnitudeOf<std::complex<P>> {
  using type = P;
};

template <typename T>
class SparseAdd final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(ctx, 3));
    const Tensor& threshold = ctx.input(6);
    if (!threshold.shape().is_scalar()) {
      return InvalidArgument("The magnitude threshold must be a scalar: got shape ",
                             threshold.shape().ToString());
    }
    if (a.shape != b.shape) {
      return InvalidArgument("Operands' shapes do not match: got ", a.shape.ToString(), " and ",
                             b.shape.ToString());
    }
    TFLEET_RETURN_IF_ERROR(CheckInBounds(a));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(b));
    using Magnitude = typename MagnitudeOf<T>::type;
    const Magnitude least = threshold.values<Magnitude>()[0];
    std::vector<int64_t> coordinates;
    std::vector<T> sums;
    Merge(a, b, [&](int64_t i, int64_t j) {
      T sum = i < 0 ? T(0) : a.values->values<T>()[i];
      if (j >= 0) sum = WrapAdd(sum, b.values->values<T>()[j]);
      if constexpr (Eigen::NumTraits<T>::IsComplex) {
        if (i >= 0 && j >= 0 && std::abs(sum) < least) return;
      } else {
        if (i >= 0 && j >= 0 && WrapAbs(sum) < least) return;
      }
      const absl::Span<const int64_t> at = i < 0 ? b.At(j) : a.At(i);
      coordinates.insert(coordinates.end(), at.begin(), at.end());
      sums.push_back(sum);
    });
    TFLEET_ASSIGN_OR_RETURN(Tensor indices,
                            IndexMatrix(coordinates, static_cast<int64_t>(sums.size()), a.rank()));
    TFLEET_ASSIGN_OR_RETURN(Tensor values,
                            ctx.Allocate(kDTypeOf<T>, {static_cast<int64_t>(sums.size())}));
    std::copy(sums.begin(), sums.end(), values.template mutable_values<T>().begin());
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(2, ctx.input(2));
    return OkStatus();
  }
};

// Entries of the sum hand their gradient on to the entries that they came from.
template <typename T>
class SparseAddGrad final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& gradient = ctx.input(0);
    const Tensor& sum_indices = ctx.input(3);
    for (const int i : {1, 2, 3}) {
      if (ctx.input(i).rank() != 2 || ctx.input(i).dim(1) != ctx.input(1).dim(-1)) {
        return InvalidArgument("indices of the operands and the sum should be matrices of as many ",
                               "columns, but input ", i, " has shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    if (gradient.rank() != 1 || gradient.dim(0) != sum_indices.dim(0)) {
      return InvalidArgument("# elements in backprop_val_grad and # rows in sum_indices should ",
                             "match: ", gradient.shape().ToString(), " and ",
                             sum_indices.shape().ToString());
    }
    for (int operand = 0; operand < 2; ++operand) {
      const Tensor& indices = ctx.input(1 + operand);
      TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, {indices.dim(0)}));
      SparseInput part, sum;
      part.indices = &indices;
      sum.indices = &sum_indices;
      Merge(part, sum, [&](int64_t i, int64_t j) {
        if (i >= 0 && j >= 0) out.template mutable_values<T>()[i] = gradient.values<T>()[j];
      });
      ctx.SetOutput(operand, std::move(out));
    }
    return OkStatus();
  }
};

// What one has and the other lacks is compared with 0.
template <typename T, bool takes_max>
class SparseExtreme final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(ctx, 3));
    if (a.shape != b.shape) {
      return InvalidArgument("Operands' shapes do not match: got ", a.shape.ToString(), " and ",
                             b.shape.ToString());
    }
    TFLEET_RETURN_IF_ERROR(CheckInBounds(a));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(b));
    std::vector<int64_t> coordinates;
    std::vector<T> extremes;
    Merge(a, b, [&](int64_t i, int64_t j) {
      const T x = i < 0 ? T(0) : a.values->values<T>()[i];
      const T y = j < 0 ? T(0) : b.values->values<T>()[j];
      const absl::Span<const int64_t> at = i < 0 ? b.At(j) : a.At(i);
      coordinates.insert(coordinates.end(), at.begin(), at.end());
      if constexpr (takes_max) {
        extremes.push_back(x < y ? y : x);
      } else {
        extremes.push_back(y < x ? y : x);
      }
    });
    const auto total = static_cast<int64_t>(extremes.size());
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(coordinates, total, a.rank()));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, {total}));
    std::copy(extremes.begin(), extremes.end(), values.template mutable_values<T>().begin());
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    return OkStatus();
  }
};
template <typename T>
using SparseMaximum = SparseExtreme<T, true>;
template <typename T>
using SparseMinimum = SparseExtreme<T, false>;

}  // namespace

void RegisterSparseMathKernels(KernelRegistry& r) {
  AddForTypes<SparseMaximum>(r, "SparseSparseMaximum", Reals());
  AddForTypes<SparseMinimum>(r, "SparseSparseMinimum", Reals());
  AddForTypes<SparseSoftmax>(r, "SparseSoftmax", Concat<Types<Eigen::half>, FullFloats>());
  using Added = Concat<Concat<FullFloats, SignedInts>, Complexes>;
  ForEachType(Added(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Magnitude = typename MagnitudeOf<T>::type;
    r.Add<SparseAdd<T>>("SparseAdd", kCpu, {{"T", kDTypeOf<T>}, {"Treal", kDTypeOf<Magnitude>}});
  });
  AddForTypes<SparseAddGrad>(r, "SparseAddGrad", Added());
}

}  // namespace tensorfleet::cpu
