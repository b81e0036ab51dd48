// A sparse tensor beside a dense one: SparseDenseCwiseAdd, SparseDenseCwiseMul, SparseDenseCwiseDiv
// and SparseTensorDenseAdd. Schemas and shape rules: runtime/ops/sparse/sparse_pair_ops.cc.
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

struct AddPair {
  template <typename T>
  static T Of(T a, T b) {
    return WrapAdd(a, b);
  }
};
struct MultiplyPair {
  template <typename T>
  static T Of(T a, T b) {
    return WrapMul(a, b);
  }
};
struct DividePair {
  // The caller has seen to it that no integer is divided by 0; the lowest by -1 stays what it is.
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (b == T(-1)) return WrapSub(T(0), a);
    }
    return static_cast<T>(a / b);
  }
};

// Where an entry's partner is in a dense tensor that is broadcast to the sparse one.
class DensePlaces {
 public:
  static StatusOr<DensePlaces> Make(const Shape& sparse, const Shape& dense) {
    const auto refusal = [&] {
      return InvalidArgument(
          "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: ",
          sparse.ToString(), " vs. ", dense.ToString());
    };
    if (dense.rank() > sparse.rank()) return refusal();
    DensePlaces places;
    places.strides_.resize(sparse.rank());
    int64_t stride = 1;
    for (int d = 1; d <= dense.rank(); ++d) {
      const int64_t size = dense.dim(-d);
      if (size != sparse.dim(-d) && size != 1) return refusal();
      places.strides_[sparse.rank() - d] = size == 1 ? 0 : stride;
      stride *= size;
    }
    return places;
  }
  int64_t Of(absl::Span<const int64_t> at) const {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d) place += at[d] * strides_[d];
    return place;
  }

 private:
  std::vector<int64_t> strides_;
};

template <typename T, typename Pair>
class SparseDensePair final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    const Tensor& dense = ctx.input(3);
    if (sparse.rank() == 0) return InvalidArgument("sp_shape must not be empty");
    TFLEET_ASSIGN_OR_RETURN(const DensePlaces places,
                            DensePlaces::Make(sparse.shape, dense.shape()));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, {sparse.size()}));
    const T* const a = sparse.values->values<T>().data();
    const T* const b = dense.values<T>().data();
    T* const to = out.mutable_values<T>().data();
    std::atomic<bool> divides_by_zero{false};
    ParallelFor(ctx, sparse.size(), 4 + 2 * sparse.rank(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T second = b[places.Of(sparse.At(i))];
        if constexpr (std::is_integral_v<T> && std::is_same_v<Pair, DividePair>) {
          if (second == T(0)) {
            divides_by_zero = true;
            return;
          }
        }
        to[i] = Pair::template Of<T>(a[i], second);
      }
    });
    if (divides_by_zero) return InvalidArgument("Integer division by zero");
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};
template <typename T>
using SparseDenseAdd = SparseDensePair<T, AddPair>;
template <typename T>
using SparseDenseMultiply = SparseDensePair<T, MultiplyPair>;
template <typename T>
using SparseDenseDivide = SparseDensePair<T, DividePair>;

// Into a dense result: the dense tensor with the entries added where they are.
template <typename T, typename Index>
class SparseTensorDenseAdd final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    const Shape dense = ctx.input(3).shape();
    const int rank = dense.rank();
    if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 ||
        values.dim(0) != indices.dim(0) || shape.dim(0) != indices.dim(1)) {
      return InvalidArgument(
          "a_indices, a_values and a_shape do not go together: ", indices.shape().ToString(), ", ",
          values.shape().ToString(), " and ", shape.shape().ToString());
    }
    if (shape.dim(0) != rank) {
      return InvalidArgument("Two operands have different ranks; received: ", shape.dim(0), " and ",
                             rank);
    }
    if (rank == 0) return InvalidArgument("Only tensors of rank 1 and more are supported");
    for (int d = 0; d < rank; ++d) {
      if (static_cast<int64_t>(shape.values<Index>()[d]) != dense.dim(d)) {
        return InvalidArgument("Dimension ", d,
                               " does not equal (no broadcasting is supported): sparse side ",
                               shape.values<Index>()[d], " vs dense side ", dense.dim(d));
      }
    }
    const Index* const at = indices.values<Index>().data();
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      if (at[i] < 0 || static_cast<int64_t>(at[i]) >= dense.dim(static_cast<int>(i % rank))) {
        return InvalidArgument("Sparse tensor has some invalid index on dimension ", i % rank,
                               "; dense tensor shape: ", dense.ToString());
      }
    }
    const Tensor before = ctx.input(3);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, dense));
    CopyElements(kDTypeOf<T>, out.mutable_raw(), before.raw(), before.num_elements());
    T* const to = out.mutable_values<T>().data();
    const T* const value = values.values<T>().data();
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      int64_t place = 0;
      for (int d = 0; d < rank; ++d) place = place * dense.dim(d) + at[i * rank + d];
      to[place] = WrapAdd(to[place], value[i]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseWithDenseKernels(KernelRegistry& r) {
  AddForTypes<SparseDenseAdd>(r, "SparseDenseCwiseAdd", Reals());
  AddForTypes<SparseDenseMultiply>(r, "SparseDenseCwiseMul", Reals());
  AddForTypes<SparseDenseDivide>(r, "SparseDenseCwiseDiv", Reals());
  ForEachType(Numbers(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<SparseTensorDenseAdd<T, int32_t>>("SparseTensorDenseAdd", kCpu,
                                            {{"T", kDTypeOf<T>}, {"Tindices", DType::kInt32}});
    r.Add<SparseTensorDenseAdd<T, int64_t>>("SparseTensorDenseAdd", kCpu,
                                            {{"T", kDTypeOf<T>}, {"Tindices", DType::kInt64}});
  });
}

}  // namespace tensorfleet::cpu
