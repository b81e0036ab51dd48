// Gradients of element-wise functions, in terms of the function's result or argument.
#include <cmath>
#include <complex>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kCheap = 250;
constexpr int64_t kWithExp = 8000;

template <typename T>
T Conj(const T& x) {
  if constexpr (Eigen::NumTraits<T>::IsComplex)
    return std::conj(x);
  else
    return x;
}

// (y, dy): the result of the function and the gradient that comes in. Complex results are
// conjugated or not as TensorFlow does it.
template <typename T>
struct TanhGrad {
  T operator()(const T& y, const T& dy) const { return dy * (T(1) - y * y); }
};
template <typename T>
struct SigmoidGrad {
  T operator()(const T& y, const T& dy) const { return dy * y * (T(1) - y); }
};
template <typename T>
struct SqrtGrad {
  // No gradient has none at 0 either, where its factor is infinite.
  T operator()(const T& y, const T& dy) const { return dy == T(0) ? T(0) : T(0.5) * dy / Conj(y); }
};
template <typename T>
struct RsqrtGrad {
  T operator()(const T& y, const T& dy) const {
    return T(-0.5) * (dy * Conj(y)) * (Conj(y) * Conj(y));
  }
};
template <typename T>
struct ReciprocalGrad {
  T operator()(const T& y, const T& dy) const { return -(Conj(y) * Conj(y)) * dy; }
};

// (gradients, features) or (gradients, outputs).
template <typename T>
struct ReluGrad {
  T operator()(T g, T x) const { return g * static_cast<T>(x > T(0)); }
};
template <typename T>
struct Relu6Grad {
  T operator()(T g, T x) const { return g * static_cast<T>(x > T(0) && x < T(6)); }
};
template <typename T>
struct SoftplusGrad {
  T operator()(T g, T x) const { return g / (std::exp(-x) + T(1)); }
};
template <typename T>
struct SoftsignGrad {
  T operator()(T g, T x) const {
    const T d = T(1) + std::abs(x);
    return g / (d * d);
  }
};
template <typename T>
struct EluGrad {
  T operator()(T g, T y) const { return y < T(0) ? (y + T(1)) * g : g; }
};
template <typename T>
struct SeluGrad {
  T operator()(T g, T y) const {
    return y < T(0) ? g * (y + T(1.7580993408473768599402175208123))
                    : g * T(1.0507009873554804934193349852946);
  }
};

// Leaky functions have a slope below zero that is an attribute.
template <typename T>
class LeakyRelu final : public Kernel {
 public:
  explicit LeakyRelu(KernelInit& init) { init.Get("alpha", &alpha_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.ForwardOrAllocate(0, kDTypeOf<T>, ctx.input(0).shape()));
    const T* x = ctx.input(0).values<T>().data();
    T* y = out.mutable_values<T>().data();
    const T alpha = static_cast<T>(alpha_);
    ForElements(ctx, out.num_elements(), kCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] > T(0) ? x[i] : alpha * x[i];
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  float alpha_ = 0;
};

template <typename T>
class LeakyReluGrad final : public Kernel {
 public:
  explicit LeakyReluGrad(KernelInit& init) { init.Get("alpha", &alpha_); }
  Status Compute(KernelContext& ctx) const override {
    if (ctx.input(0).shape() != ctx.input(1).shape()) {
      return InvalidArgument("gradients ", ctx.input(0).shape().ToString(), " and features ",
                             ctx.input(1).shape().ToString(), " must have one shape");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.ForwardOrAllocate(0, kDTypeOf<T>, ctx.input(0).shape()));
    const T* g = ctx.input(0).values<T>().data();
    const T* x = ctx.input(1).values<T>().data();
    T* y = out.mutable_values<T>().data();
    const T alpha = static_cast<T>(alpha_);
    ForElements(ctx, out.num_elements(), kCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] > T(0) ? g[i] : alpha * g[i];
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  float alpha_ = 0;
};

}  // namespace

void RegisterActivationGradKernels(KernelRegistry& r) {
  AddSameShape<TanhGrad, kCheap>(r, "TanhGrad", FloatsAndComplexes());
  AddSameShape<SigmoidGrad, kCheap>(r, "SigmoidGrad", FloatsAndComplexes());
  AddSameShape<SqrtGrad, kCheap>(r, "SqrtGrad", FloatsAndComplexes());
  AddSameShape<RsqrtGrad, kCheap>(r, "RsqrtGrad", FloatsAndComplexes());
  AddSameShape<ReciprocalGrad, kCheap>(r, "ReciprocalGrad", FloatsAndComplexes());
  AddSameShape<ReciprocalGrad, kCheap>(r, "InvGrad", FloatsAndComplexes());
  AddSameShape<ReluGrad, kCheap>(r, "ReluGrad", Reals());
  AddSameShape<Relu6Grad, kCheap>(r, "Relu6Grad", Reals());
  AddSameShape<SoftplusGrad, kWithExp>(r, "SoftplusGrad", Floats());
  AddSameShape<SoftsignGrad, kCheap>(r, "SoftsignGrad", Floats());
  AddSameShape<EluGrad, kCheap>(r, "EluGrad", Floats());
  AddSameShape<SeluGrad, kCheap>(r, "SeluGrad", Floats());
  AddForTypes<LeakyRelu>(r, "LeakyRelu", Floats());
  AddForTypes<LeakyReluGrad>(r, "LeakyReluGrad", Floats());
}

}  // namespace tensorfleet::cpu
