// SparseReduceSum and SparseReduceMax, whose results are dense, and SparseReduceSumSparse and
// SparseReduceMaxSparse, whose are sparse. Schemas and shape rules:
// runtime/ops/sparse/sparse_ops.cc and sparse_pair_ops.cc.
#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

// By dimension, whether `axes` names it. Errors: InvalidArgument.
StatusOr<std::vector<bool>> ReducedDims(const Tensor& axes, int rank) {
  std::vector<bool> is_reduced(rank);
  for (const int64_t axis : IntegersOf(axes)) {
    const int64_t at = NormalizedAxis(axis, rank);
    if (at < 0) {
      return InvalidArgument("Invalid reduction dimension ", axis, ", for input with ", rank,
                             " dimensions.");
    }
    is_reduced[at] = true;
  }
  return is_reduced;
}

// The result's dimensions.
std::vector<int64_t> LeftDims(const Shape& shape, const std::vector<bool>& is_reduced, bool keeps) {
  std::vector<int64_t> dims;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!is_reduced[d]) {
      dims.push_back(shape.dim(d));
    } else if (keeps) {
      dims.push_back(1);
    }
  }
  return dims;
}

// What has no entries is 0.
template <typename T, bool takes_max>
class SparseReduce final : public Kernel {
 public:
  explicit SparseReduce(KernelInit& init) { init.Get("keep_dims", &keeps_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    const int rank = sparse.rank();
    TFLEET_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced, ReducedDims(ctx.input(3), rank));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            Shape::Make(LeftDims(sparse.shape, is_reduced, keeps_)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    std::vector<bool> was_met(takes_max ? shape.num_elements() : 0);
    const absl::Span<T> to = out.template mutable_values<T>();
    for (int64_t i = 0; i < sparse.size(); ++i) {
      int64_t at = 0;
      for (int d = 0; d < rank; ++d) {
        if (!is_reduced[d]) at = at * sparse.shape.dim(d) + sparse.At(i)[d];
      }
      const T value = sparse.values->values<T>()[i];
      if constexpr (takes_max) {
        if (!was_met[at] || to[at] < value) to[at] = value;
        was_met[at] = true;
      } else {
        to[at] = WrapAdd(to[at], value);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool keeps_ = false;
};
template <typename T>
using SparseReduceSum = SparseReduce<T, false>;
template <typename T>
using SparseReduceMax = SparseReduce<T, true>;

// An entry for each group of entries that differ along the reduced axes only.
template <typename T, bool takes_max>
class SparseReduceSparse final : public Kernel {
 public:
  explicit SparseReduceSparse(KernelInit& init) { init.Get("keep_dims", &keeps_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    const int rank = sparse.rank();
    TFLEET_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced, ReducedDims(ctx.input(3), rank));
    std::vector<int> left, order;
    for (int d = 0; d < rank; ++d) {
      if (!is_reduced[d]) left.push_back(d);
    }
    order = left;
    for (int d = 0; d < rank; ++d) {
      if (is_reduced[d]) order.push_back(d);
    }
    std::vector<int64_t> entries(sparse.size());
    std::iota(entries.begin(), entries.end(), int64_t{0});
    std::stable_sort(entries.begin(), entries.end(), [&](int64_t a, int64_t b) {
      for (const int d : order) {
        if (sparse.At(a)[d] != sparse.At(b)[d]) return sparse.At(a)[d] < sparse.At(b)[d];
      }
      return false;
    });
    std::vector<int64_t> coordinates;
    std::vector<T> results;
    for (size_t i = 0; i < entries.size(); ++i) {
      const absl::Span<const int64_t> at = sparse.At(entries[i]);
      const T value = sparse.values->values<T>()[entries[i]];
      const bool goes_on = i > 0 && std::all_of(left.begin(), left.end(), [&](int d) {
                             return sparse.At(entries[i - 1])[d] == at[d];
                           });
      if (!goes_on) {
        for (int d = 0; d < rank; ++d) {
          if (!is_reduced[d]) {
            coordinates.push_back(at[d]);
          } else if (keeps_) {
            coordinates.push_back(0);
          }
        }
        results.push_back(value);
      } else if constexpr (takes_max) {
        if (results.back() < value) results.back() = value;
      } else {
        results.back() = WrapAdd(results.back(), value);
      }
    }
    const std::vector<int64_t> dims = LeftDims(sparse.shape, is_reduced, keeps_);
    const auto total = static_cast<int64_t>(results.size());
    TFLEET_ASSIGN_OR_RETURN(Tensor indices,
                            IndexMatrix(coordinates, total, static_cast<int64_t>(dims.size())));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, {total}));
    std::copy(results.begin(), results.end(), values.template mutable_values<T>().begin());
    TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, dims));
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(2, std::move(shape));
    return OkStatus();
  }

 private:
  bool keeps_ = false;
};
template <typename T>
using SparseReduceSumSparse = SparseReduceSparse<T, false>;
template <typename T>
using SparseReduceMaxSparse = SparseReduceSparse<T, true>;

}  // namespace

void RegisterSparseReduceKernels(KernelRegistry& r) {
  AddForTypes<SparseReduceSum>(r, "SparseReduceSum", Numbers());
  AddForTypes<SparseReduceMax>(r, "SparseReduceMax", Reals());
  AddForTypes<SparseReduceSumSparse>(r, "SparseReduceSumSparse", Numbers());
  AddForTypes<SparseReduceMaxSparse>(r, "SparseReduceMaxSparse", Reals());
}

}  // namespace tensorfleet::cpu
