#include "runtime/kernels/cpu/nn/lstm_step.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/linalg/gemm.h"

namespace tensorfleet::cpu {
namespace {

using Row = ArrayMap<float>;
using ConstRow = ConstArrayMap<float>;

template <typename X>
auto Sigmoid(const X& x) {
  return 1.0f / (1.0f + (-x).exp());
}

}  // namespace

void JoinColumns(const LstmShape& shape, const float* x, const float* h, float* joined) {
  for (int64_t row = 0; row < shape.batch; ++row) {
    joined = std::copy_n(x + row * shape.inputs, shape.inputs, joined);
    joined = std::copy_n(h + row * shape.cells, shape.cells, joined);
  }
}

void LstmForward(KernelContext& ctx, const LstmShape& shape, const LstmWeights& weights,
                 const float* x, const float* cs_prev, const float* h_prev, LstmScratch& scratch,
                 const LstmOutputs<float*>& out) {
  const int64_t n = shape.cells;
  JoinColumns(shape, x, h_prev, scratch.xh.data());
  GemmShape product;
  product.m = shape.batch;
  product.n = 4 * n;
  product.k = shape.inputs + n;
  Gemm<float>(&ctx, product, scratch.xh.data(), weights.w, scratch.gates.data());
  ParallelFor(ctx, shape.batch, 1 + 20 * n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const gates = scratch.gates.data() + row * 4 * n;
      const auto gate = [&](int number) {
        return ConstRow(gates + number * n, n) + ConstRow(weights.b + number * n, n);
      };
      const int64_t at = row * n;
      const ConstRow before(cs_prev + at, n);
      Row i(out.i + at, n), cs(out.cs + at, n), f(out.f + at, n), o(out.o + at, n);
      Row ci(out.ci + at, n), co(out.co + at, n), h(out.h + at, n);
      i = gate(shape.input_gate);
      f = gate(shape.forget_gate) + shape.forget_bias;
      o = gate(shape.output_gate);
      if (shape.has_peephole) {
        i += before * ConstRow(weights.wci, n);
        f += before * ConstRow(weights.wcf, n);
      }
      i = Sigmoid(i);
      f = Sigmoid(f);
      ci = gate(shape.candidate).tanh();
      cs = ci * i + f * before;
      if (shape.clip > 0) cs = cs.min(shape.clip).max(-shape.clip);
      if (shape.has_peephole) o += cs * ConstRow(weights.wco, n);
      o = Sigmoid(o);
      co = cs.tanh();
      h = co * o;
    }
  });
}

void LstmGateGradients(const LstmShape& shape, const LstmWeights& weights, const float* cs_prev,
                       const LstmOutputs<const float*>& out, const float* cs_grad,
                       const float* h_grad, float* dgates, float* cs_prev_grad, float* wci_grad,
                       float* wcf_grad, float* wco_grad) {
  const int64_t n = shape.cells;
  for (int64_t row = 0; row < shape.batch; ++row) {
    const int64_t at = row * n;
    float* const gates = dgates + row * 4 * n;
    Row di(gates + shape.input_gate * n, n), dci(gates + shape.candidate * n, n);
    Row df(gates + shape.forget_gate * n, n), d_o(gates + shape.output_gate * n, n);
    const ConstRow i(out.i + at, n), cs(out.cs + at, n), f(out.f + at, n), o(out.o + at, n);
    const ConstRow ci(out.ci + at, n), co(out.co + at, n), before(cs_prev + at, n);
    const ConstRow dh(h_grad + at, n);
    d_o = o * (1.0f - o) * dh * co;
    Eigen::Array<float, Eigen::Dynamic, 1> dcs =
        (1.0f - co * co) * dh * o + ConstRow(cs_grad + at, n);
    if (shape.has_peephole) dcs += d_o * ConstRow(weights.wco, n);
    dci = (1.0f - ci * ci) * dcs * i;
    df = f * (1.0f - f) * dcs * before;
    di = i * (1.0f - i) * dcs * ci;
    Row back(cs_prev_grad + at, n);
    back = dcs * f;
    if (shape.has_peephole) {
      back += di * ConstRow(weights.wci, n) + df * ConstRow(weights.wcf, n);
      Row(wci_grad, n) += di * before;
      Row(wcf_grad, n) += df * before;
      Row(wco_grad, n) += d_o * cs;
    }
  }
}

}  // namespace tensorfleet::cpu
