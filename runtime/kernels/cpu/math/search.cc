// Counting values and finding their places in sorted rows. Schemas: runtime/ops/math/search_ops.cc.
#include <algorithm>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename Index, typename T>
class DenseBincount final : public Kernel {
 public:
  explicit DenseBincount(KernelInit& init) { init.Get("binary_output", &binary_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &in = ctx.input(0), &size = ctx.input(1), &weights = ctx.input(2);
    if (in.rank() != 1 && in.rank() != 2) {
      return InvalidArgument("Shape must be rank 1 or 2 but is rank ", in.rank());
    }
    if (size.rank() != 0) {
      return InvalidArgument("Shape must be rank 0 but is rank ", size.rank());
    }
    if (weights.num_elements() > 0 && weights.shape() != in.shape()) {
      return InvalidArgument(
          "`weights` must be the same shape as `arr` or a length-0 `Tensor`; got ",
          weights.shape().ToString(), " for ", in.shape().ToString());
    }
    const Index bins = size.scalar<Index>();
    if (bins < 0) return InvalidArgument("size (", bins, ") must be non-negative");
    const absl::Span<const Index> values = in.values<Index>();
    if (std::any_of(values.begin(), values.end(), [](Index v) { return v < 0; })) {
      return InvalidArgument("Input arr must be non-negative!");
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, in.shape().WithDim(in.rank() - 1, bins));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    const int64_t rows = in.rank() == 2 ? in.dim(0) : 1, columns = in.dim(-1);
    const T* const weigh = weights.num_elements() > 0 ? weights.values<T>().data() : nullptr;
    T* const counts = out.mutable_values<T>().data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
        if (values[i] >= bins) continue;
        T& count = counts[row * bins + values[i]];
        count = binary_ ? T(1) : static_cast<T>(count + (weigh == nullptr ? T(1) : weigh[i]));
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool binary_ = false;
};

template <typename T, typename Place, bool kUpper>
class Bound final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &rows = ctx.input(0), &values = ctx.input(1);
    if (rows.rank() != 2) {
      return InvalidArgument("sorted input argument must be a matrix, got ",
                             rows.shape().ToString());
    }
    if (values.rank() != 2) {
      return InvalidArgument("values argument must be a matrix, got ", values.shape().ToString());
    }
    if (rows.dim(0) != values.dim(0)) {
      return InvalidArgument("Leading dim_size of both tensors must match.");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<Place>, values.shape()));
    const int64_t length = rows.dim(1), wanted = values.dim(1);
    const T* const sorted = rows.values<T>().data();
    const T* const value = values.values<T>().data();
    Place* const place = out.mutable_values<Place>().data();
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const T* const begin = sorted + i / wanted * length;
      const T* const at = kUpper ? std::upper_bound(begin, begin + length, value[i])
                                 : std::lower_bound(begin, begin + length, value[i]);
      place[i] = static_cast<Place>(at - begin);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename Index>
void AddBincount(KernelRegistry& r) {
  ForEachType(Types<int32_t, int64_t, float, double>(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<DenseBincount<Index, T>>("DenseBincount", kCpu,
                                   {{"Tidx", kDTypeOf<Index>}, {"T", kDTypeOf<T>}});
  });
}

template <typename Place>
void AddBounds(KernelRegistry& r) {
  ForEachType(Reals(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::initializer_list<TypeConstraint> types = {{"T", kDTypeOf<T>},
                                                         {"out_type", kDTypeOf<Place>}};
    r.Add<Bound<T, Place, false>>("LowerBound", kCpu, types);
    r.Add<Bound<T, Place, true>>("UpperBound", kCpu, types);
  });
}

}  // namespace

void RegisterSearchKernels(KernelRegistry& r) {
  AddBincount<int32_t>(r);
  AddBincount<int64_t>(r);
  AddBounds<int32_t>(r);
  AddBounds<int64_t>(r);
}

}  // namespace tensorfleet::cpu
