// _FusedMatMul: a product, a bias and an activation in one pass over the result.
#include <cmath>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/linalg/matmul.h"

namespace tensorfleet::cpu {
namespace {

// y <- activation(y) for n elements; alpha is the slope of LeakyRelu.
using Activation = void (*)(float* y, int64_t n, float alpha);

void Nothing(float*, int64_t, float) {}
void Relu(float* y, int64_t n, float) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}
void Relu6(float* y, int64_t n, float) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < 0 ? 0 : (y[i] > 6 ? 6 : y[i]);
}
void LeakyRelu(float* y, int64_t n, float alpha) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] > 0 ? y[i] : alpha * y[i];
}
void Elu(float* y, int64_t n, float) {
  ArrayMap<float> x(y, n);
  x = (x < 0.0f).select(x.expm1(), x);
}
void Tanh(float* y, int64_t n, float) {
  ArrayMap<float> x(y, n);
  x = x.tanh();
}
void Sigmoid(float* y, int64_t n, float) {
  ArrayMap<float> x(y, n);
  x = 1.0f / (1.0f + (-x).exp());
}
void GeluExact(float* y, int64_t n, float) {
  constexpr float kRoot = 0.70710678f;  // of 1/2
  for (int64_t i = 0; i < n; ++i) y[i] = 0.5f * y[i] * (1.0f + std::erf(y[i] * kRoot));
}
void GeluApproximate(float* y, int64_t n, float) {
  constexpr float kRoot = 0.79788456f;  // of 2/pi
  ArrayMap<float> x(y, n);
  x = 0.5f * x * (1.0f + (kRoot * (x + 0.044715f * x.cube())).tanh());
}

struct NamedActivation {
  const char* name;
  Activation function;
};
constexpr NamedActivation kActivations[] = {
    {"Relu", Relu},           {"Relu6", Relu6},
    {"LeakyRelu", LeakyRelu}, {"Elu", Elu},
    {"Tanh", Tanh},           {"Sigmoid", Sigmoid},
    {"GeluExact", GeluExact}, {"GeluApproximate", GeluApproximate},
};

template <typename T>
class FusedMatMul final : public Kernel {
 public:
  explicit FusedMatMul(KernelInit& init) {
    init.Get("transpose_a", &transpose_a_);
    init.Get("transpose_b", &transpose_b_);
    init.Get("leakyrelu_alpha", &alpha_);
    int64_t num_args = 0;
    init.Get("num_args", &num_args);
    std::vector<std::string> fused;
    init.Get("fused_ops", &fused);
    if (fused.empty() || fused[0] != "BiasAdd" || fused.size() > 2 || num_args != 1) {
      init.Fail(Unimplemented("_FusedMatMul of [", absl::StrJoin(fused, ","),
                              "]: known are BiasAdd alone and BiasAdd with one activation"));
      return;
    }
    if (fused.size() == 2) {
      activation_ = nullptr;
      for (const NamedActivation& known : kActivations) {
        if (fused[1] == known.name) activation_ = known.function;
      }
      if (activation_ == nullptr) {
        init.Fail(Unimplemented("_FusedMatMul with activation ", fused[1]));
      }
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    const Tensor& bias = ctx.input(2);
    TFLEET_ASSIGN_OR_RETURN(const GemmShape shape, MatMulShape(a, b, transpose_a_, transpose_b_));
    if (bias.rank() != 1 || bias.dim(0) != shape.n) {
      return InvalidArgument("the bias must be a vector of ", shape.n, " elements, not ",
                             bias.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(a.dtype(), {shape.m, shape.n}));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_a, WideInput<T>::Of(a));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_b, WideInput<T>::Of(b));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_bias, WideInput<T>::Of(bias));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      Gemm<float>(&ctx, shape, wide_a.data(), wide_b.data(), wide_out.data());
      ParallelFor(ctx, shape.m, 10 + shape.n, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          float* y = wide_out.data() + row * shape.n;
          const float* add = wide_bias.data();
          TFLEET_VECTORIZE
          for (int64_t i = 0; i < shape.n; ++i) y[i] += add[i];
          activation_(y, shape.n, alpha_);
        }
      });
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
  float alpha_ = 0;
  Activation activation_ = Nothing;
};

}  // namespace

void RegisterFusedMatMulKernels(KernelRegistry& r) {
  AddForTypes<FusedMatMul>(r, "_FusedMatMul", Concat<SmallFloats, Types<float>>());
}

}  // namespace tensorfleet::cpu
