// Special functions of two and three arguments: the incomplete gamma and beta functions, and the
// next floating number.
#include <cmath>

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
struct Igamma {
  T operator()(T a, T x) const { return Eigen::numext::igamma(a, x); }
};
template <typename T>
struct Igammac {
  T operator()(T a, T x) const { return Eigen::numext::igammac(a, x); }
};
template <typename T>
struct IgammaGradA {
  T operator()(T a, T x) const { return Eigen::numext::igamma_der_a(a, x); }
};
// How a gamma-distributed sample moves with the shape of its distribution.
template <typename T>
struct RandomGammaGrad {
  T operator()(T alpha, T sample) const {
    return Eigen::numext::gamma_sample_der_alpha(alpha, sample);
  }
};
template <typename T>
struct NextAfter {
  T operator()(T from, T to) const { return std::nextafter(from, to); }
};

// Arguments have one shape, or are scalars.
template <typename T>
class Betainc final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    Shape shape;
    for (int i = 2; i >= 0; --i) {
      if (!ctx.input(i).shape().is_scalar()) shape = ctx.input(i).shape();
    }
    for (int i = 0; i < 3; ++i) {
      if (!ctx.input(i).shape().is_scalar() && ctx.input(i).shape() != shape) {
        return InvalidArgument(
            "Shapes of a, b and x are inconsistent: ", ctx.input(0).shape().ToString(), " vs. ",
            ctx.input(1).shape().ToString(), " vs. ", ctx.input(2).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    const T* in[3];
    int64_t step[3];
    for (int i = 0; i < 3; ++i) {
      in[i] = ctx.input(i).values<T>().data();
      step[i] = ctx.input(i).shape().is_scalar() ? 0 : 1;
    }
    T* const to = out.template mutable_values<T>().data();
    ParallelFor(ctx, shape.num_elements(), 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = Eigen::numext::betainc(in[0][i * step[0]], in[1][i * step[1]], in[2][i * step[2]]);
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

constexpr int64_t kSlow = 200'000;

}  // namespace

void RegisterSpecialBinaryKernels(KernelRegistry& r) {
  AddBinary<Igamma, kSlow>(r, "Igamma", FullFloats());
  AddBinary<Igammac, kSlow>(r, "Igammac", FullFloats());
  AddBinary<IgammaGradA, kSlow>(r, "IgammaGradA", FullFloats());
  AddBinary<RandomGammaGrad, kSlow>(r, "RandomGammaGrad", FullFloats());
  AddBinary<NextAfter, 3000>(r, "NextAfter", FullFloats());
  AddForTypes<Betainc>(r, "Betainc", FullFloats());
}

}  // namespace tensorfleet::cpu
