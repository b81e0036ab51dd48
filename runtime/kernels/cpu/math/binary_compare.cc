// Comparisons. Equal and NotEqual take every type, and by attribute also shapes that do not
// broadcast, which are then unequal as a whole.
#include <cmath>
#include <complex>
#include <string>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kCheap = 150;

template <typename T>
struct Equal {
  bool operator()(const T& a, const T& b) const { return a == b; }
};
template <typename T>
struct NotEqual {
  bool operator()(const T& a, const T& b) const { return !(a == b); }
};
template <typename T>
struct Less {
  bool operator()(T a, T b) const { return a < b; }
};
template <typename T>
struct LessEqual {
  bool operator()(T a, T b) const { return a <= b; }
};
template <typename T>
struct Greater {
  bool operator()(T a, T b) const { return a > b; }
};
template <typename T>
struct GreaterEqual {
  bool operator()(T a, T b) const { return a >= b; }
};

template <BinaryLoop loop, DType in_type, bool result_when_incompatible>
class EqualityKernel final : public BinaryKernel {
 public:
  explicit EqualityKernel(KernelInit& init) : BinaryKernel(loop, in_type, DType::kBool, kCheap) {
    init.Get("incompatible_shape_error", &incompatible_shape_error_);
  }
  Status Compute(KernelContext& ctx) const override {
    if (!incompatible_shape_error_ &&
        !BroadcastShapes(ctx.input(0).shape(), ctx.input(1).shape()).ok()) {
      TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, Shape()));
      out.mutable_values<bool>()[0] = result_when_incompatible;
      ctx.SetOutput(0, std::move(out));
      return OkStatus();
    }
    return BinaryKernel::Compute(ctx);
  }

 private:
  bool incompatible_shape_error_ = true;
};

template <typename... Ts>
void AddEquality(KernelRegistry& r, Types<Ts...>) {
  (r.Add<EqualityKernel<&MapBinary<Equal, Ts>, kDTypeOf<Ts>, false>>("Equal", kCpu,
                                                                     {{"T", kDTypeOf<Ts>}}),
   ...);
  (r.Add<EqualityKernel<&MapBinary<NotEqual, Ts>, kDTypeOf<Ts>, true>>("NotEqual", kCpu,
                                                                       {{"T", kDTypeOf<Ts>}}),
   ...);
}

template <typename T>
class ApproximateEqual final : public Kernel {
 public:
  explicit ApproximateEqual(KernelInit& init) { init.Get("tolerance", &tolerance_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return InvalidArgument("x and y must be of the same shape. x shape: ", a.shape().ToString(),
                             ". y shape: ", b.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, a.shape()));
    const T* x = a.values<T>().data();
    const T* y = b.values<T>().data();
    bool* z = out.mutable_values<bool>().data();
    ForElements(ctx, a.num_elements(), kCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        z[i] = WrapAbs(WrapSub(x[i], y[i])) < static_cast<T>(tolerance_);
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  float tolerance_ = 1e-5f;
};

}  // namespace

void RegisterCompareKernels(KernelRegistry& r) {
  AddEquality(r,
              Concat<Numbers, Types<bool, std::string, QInt8, QUInt8, QInt16, QUInt16, QInt32>>());
  AddBinary<Less, kCheap>(r, "Less", Reals());
  AddBinary<LessEqual, kCheap>(r, "LessEqual", Reals());
  AddBinary<Greater, kCheap>(r, "Greater", Reals());
  AddBinary<GreaterEqual, kCheap>(r, "GreaterEqual", Reals());
  AddForTypes<ApproximateEqual>(r, "ApproximateEqual", FullFloats());
}

}  // namespace tensorfleet::cpu
