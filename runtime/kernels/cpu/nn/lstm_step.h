// One step of an LSTM layer and its gradient, for LSTMBlockCell and BlockLSTM. All is float here;
// matrices are row-major, [batch, cells] unless said otherwise.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorfleet {
class KernelContext;
}

namespace tensorfleet::cpu {

// Sizes, and where the four gates are in the columns of the weights.
struct LstmShape {
  int64_t batch = 0, inputs = 0, cells = 0;
  int input_gate = 0, candidate = 1, forget_gate = 2, output_gate = 3;
  float forget_bias = 0, clip = 0;  // no clipping unless above 0
  bool has_peephole = false;
};

struct LstmWeights {
  const float* w;                    // [inputs + cells, 4 cells]
  const float *wci, *wcf, *wco, *b;  // [cells] each, and [4 cells]
};

// What a step gives, or gave.
template <typename Pointer>
struct LstmOutputs {
  Pointer i, cs, f, o, ci, co, h;
};

// Memory that the steps of one layer share.
class LstmScratch {
 public:
  explicit LstmScratch(const LstmShape& shape)
      : xh(shape.batch * (shape.inputs + shape.cells)), gates(shape.batch * 4 * shape.cells) {}
  std::vector<float> xh, gates;
};

void LstmForward(KernelContext& ctx, const LstmShape& shape, const LstmWeights& weights,
                 const float* x, const float* cs_prev, const float* h_prev, LstmScratch& scratch,
                 const LstmOutputs<float*>& out);

// Gradients of peepholes are added to; `dgates` ([batch, 4 cells]) is in the order of the weights.
void LstmGateGradients(const LstmShape& shape, const LstmWeights& weights, const float* cs_prev,
                       const LstmOutputs<const float*>& out, const float* cs_grad,
                       const float* h_grad, float* dgates, float* cs_prev_grad, float* wci_grad,
                       float* wcf_grad, float* wco_grad);

// [x, h] side by side.
void JoinColumns(const LstmShape& shape, const float* x, const float* h, float* joined);

}  // namespace tensorfleet::cpu
