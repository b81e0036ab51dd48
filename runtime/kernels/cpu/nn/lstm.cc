// LSTM layers, of one step (LSTMBlockCell) and of all (BlockLSTM), with their gradients. Schemas:
// runtime/ops/nn/recurrent_ops.cc; the arithmetic: lstm_step.h.
#include <array>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/nn/lstm_step.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Inputs x, cs_prev, h_prev, w, wci, wcf, wco and b of a node, from input `first` on; x is a matrix
// or, of a whole layer, a stack of them.
struct LstmInputs {
  int first = 0;
  int64_t steps = 1;
  LstmShape shape;
};

Status CheckShape(const KernelContext& ctx, int i, std::initializer_list<int64_t> dims) {
  TFLEET_ASSIGN_OR_RETURN(const Shape want, Shape::Make(dims));
  if (ctx.input(i).shape() == want) return OkStatus();
  return InvalidArgument("input ", i, " of ", ctx.node().op(), " must have shape ", want.ToString(),
                         ", got ", ctx.input(i).shape().ToString());
}

class LstmAttrs {
 public:
  explicit LstmAttrs(KernelInit& init) {
    const std::string& op = init.node().op();
    takes_steps_ = op.substr(0, 5) == "Block";
    if (op.substr(op.size() - 2) == "V2") {
      shape_.forget_gate = 1;
      shape_.candidate = 2;
    }
    init.Get("use_peephole", &shape_.has_peephole);
    const OpSchema& schema = init.node().schema();
    if (schema.FindAttr("forget_bias") != nullptr) init.Get("forget_bias", &shape_.forget_bias);
    if (schema.FindAttr("cell_clip") != nullptr) init.Get("cell_clip", &shape_.clip);
  }
  StatusOr<LstmInputs> Read(const KernelContext& ctx) const {
    LstmInputs in;
    in.shape = shape_;
    in.first = takes_steps_ ? 1 : 0;
    const int x = in.first, rank = takes_steps_ ? 3 : 2;
    if (ctx.input(x).rank() != rank || ctx.input(x + 1).rank() != 2) {
      return InvalidArgument("x must have rank ", rank, " and cs_prev rank 2, got ",
                             ctx.input(x).shape().ToString(), " and ",
                             ctx.input(x + 1).shape().ToString());
    }
    in.steps = takes_steps_ ? ctx.input(x).dim(0) : 1;
    in.shape.batch = ctx.input(x).dim(-2);
    in.shape.inputs = ctx.input(x).dim(-1);
    in.shape.cells = ctx.input(x + 1).dim(1);
    const int64_t n = in.shape.cells;
    // Four times as many cells, and these with the inputs, must fit.
    TFLEET_RETURN_IF_ERROR(Shape::Make({n, 4}).status());
    if (__builtin_add_overflow(in.shape.inputs, n, &in.shape.inputs)) {
      return InvalidArgument("there are too many inputs and cells");
    }
    const int64_t both = in.shape.inputs;
    in.shape.inputs -= n;
    TFLEET_RETURN_IF_ERROR(CheckShape(ctx, x + 1, {in.shape.batch, n}));
    TFLEET_RETURN_IF_ERROR(CheckShape(ctx, x + 2, {in.shape.batch, n}));
    TFLEET_RETURN_IF_ERROR(CheckShape(ctx, x + 3, {both, 4 * n}));
    for (int i = x + 4; i < x + 7; ++i) TFLEET_RETURN_IF_ERROR(CheckShape(ctx, i, {n}));
    return CheckedBias(ctx, in);
  }
  // How many steps are to be made.
  static StatusOr<int64_t> Length(const KernelContext& ctx, const LstmInputs& in) {
    if (in.first == 0) return 1;
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("seq_len_max must be rank 0 but is rank ", ctx.input(0).rank());
    }
    const int64_t length = ctx.input(0).scalar<int64_t>();
    if (length >= 0 && length <= in.steps) return length;
    return InvalidArgument("seq_len_max must be from 0 to ", in.steps, ", got ", length);
  }

 private:
  static StatusOr<LstmInputs> CheckedBias(const KernelContext& ctx, const LstmInputs& in) {
    TFLEET_RETURN_IF_ERROR(CheckShape(ctx, in.first + 7, {4 * in.shape.cells}));
    return in;
  }
  bool takes_steps_ = false;
  LstmShape shape_;
};

// The inputs as float.
template <typename T, int kCount>
class FloatInputs {
 public:
  Status Read(const KernelContext& ctx, int first) {
    for (int i = 0; i < kCount; ++i) {
      TFLEET_ASSIGN_OR_RETURN(views_[i], WideInput<T>::Of(ctx.input(first + i)));
    }
    return OkStatus();
  }
  const float* operator[](int i) const { return views_[i].data(); }

 private:
  std::array<WideInput<T>, kCount> views_;
};

template <typename T>
class LstmForwardKernel final : public Kernel {
 public:
  explicit LstmForwardKernel(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const LstmInputs in, attrs_.Read(ctx));
    TFLEET_ASSIGN_OR_RETURN(const int64_t length, LstmAttrs::Length(ctx, in));
    FloatInputs<T, 8> v;
    TFLEET_RETURN_IF_ERROR(v.Read(ctx, in.first));
    const LstmShape& shape = in.shape;
    TFLEET_ASSIGN_OR_RETURN(
        const Shape out_shape,
        ctx.input(in.first).shape().WithDim(ctx.input(in.first).rank() - 1, shape.cells));
    std::array<Tensor, 7> outputs;
    std::array<WideOutput<T>, 7> wide;
    for (int i = 0; i < 7; ++i) {
      TFLEET_ASSIGN_OR_RETURN(outputs[i], ctx.Allocate(kDTypeOf<T>, out_shape));
      TFLEET_ASSIGN_OR_RETURN(wide[i], WideOutput<T>::For(outputs[i]));
      // Steps after the last one that counts are zero.
      const int64_t made = length * shape.batch * shape.cells;
      std::fill(wide[i].data() + made, wide[i].data() + out_shape.num_elements(), 0.0f);
    }
    const LstmWeights weights{v[3], v[4], v[5], v[6], v[7]};
    const int64_t size = shape.batch * shape.cells;
    if (size > 0) {
      LstmScratch scratch(shape);
      const float *cs_prev = v[1], *h_prev = v[2];
      for (int64_t t = 0; t < length; ++t) {
        const auto at = [&](int i) { return wide[i].data() + t * size; };
        const LstmOutputs<float*> out{at(0), at(1), at(2), at(3), at(4), at(5), at(6)};
        LstmForward(ctx, shape, weights, v[0] + t * shape.batch * shape.inputs, cs_prev, h_prev,
                    scratch, out);
        cs_prev = out.cs;
        h_prev = out.h;
      }
    }
    for (int i = 0; i < 7; ++i) {
      wide[i].Finish();
      ctx.SetOutput(i, std::move(outputs[i]));
    }
    return OkStatus();
  }

 private:
  const LstmAttrs attrs_;
};

// Allocates output `i`, zero.
template <typename T>
Status MakeOutput(const KernelContext& ctx, const Shape& shape, Tensor* tensor,
                  WideOutput<T>* wide) {
  TFLEET_ASSIGN_OR_RETURN(*tensor, ctx.Allocate(kDTypeOf<T>, shape));
  TFLEET_ASSIGN_OR_RETURN(*wide, WideOutput<T>::For(*tensor));
  std::fill_n(wide->data(), shape.num_elements(), 0.0f);
  return OkStatus();
}

// Outputs of the forward op and the gradients that come in follow the forward op's inputs.
Status CheckGradientInputs(const KernelContext& ctx, const LstmInputs& in, int count) {
  TFLEET_ASSIGN_OR_RETURN(const Shape want, ctx.input(in.first).shape().WithDim(
                                                ctx.input(in.first).rank() - 1, in.shape.cells));
  for (int i = in.first + 8; i < in.first + 8 + count; ++i) {
    if (ctx.input(i).shape() != want) {
      return InvalidArgument("input ", i, " of ", ctx.node().op(), " must have shape ",
                             want.ToString(), ", got ", ctx.input(i).shape().ToString());
    }
  }
  return OkStatus();
}

template <typename T>
class LstmBlockCellGrad final : public Kernel {
 public:
  explicit LstmBlockCellGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const LstmInputs in, attrs_.Read(ctx));
    TFLEET_RETURN_IF_ERROR(CheckGradientInputs(ctx, in, 8));
    FloatInputs<T, 16> v;
    TFLEET_RETURN_IF_ERROR(v.Read(ctx, 0));
    const int64_t n = in.shape.cells;
    TFLEET_ASSIGN_OR_RETURN(const Shape state, Shape::Make({in.shape.batch, n}));
    TFLEET_ASSIGN_OR_RETURN(const Shape gates, Shape::Make({in.shape.batch, 4 * n}));
    TFLEET_ASSIGN_OR_RETURN(const Shape peephole, Shape::Make({n}));
    std::array<Tensor, 5> outputs;
    std::array<WideOutput<T>, 5> wide;
    for (int i = 0; i < 5; ++i) {
      TFLEET_RETURN_IF_ERROR(MakeOutput<T>(ctx,
                                           i == 0   ? state
                                           : i == 1 ? gates
                                                    : peephole,
                                           &outputs[i], &wide[i]));
    }
    // Of the forward op's outputs h is not among the inputs, nor needed.
    LstmGateGradients(in.shape, {v[3], v[4], v[5], v[6], v[7]}, v[1],
                      {v[8], v[9], v[10], v[11], v[12], v[13], nullptr}, v[14], v[15],
                      wide[1].data(), wide[0].data(), wide[2].data(), wide[3].data(),
                      wide[4].data());
    for (int i = 0; i < 5; ++i) {
      wide[i].Finish();
      ctx.SetOutput(i, std::move(outputs[i]));
    }
    return OkStatus();
  }

 private:
  const LstmAttrs attrs_;
};

template <typename T>
class BlockLstmGrad final : public Kernel {
 public:
  explicit BlockLstmGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const LstmInputs in, attrs_.Read(ctx));
    TFLEET_ASSIGN_OR_RETURN(const int64_t length, LstmAttrs::Length(ctx, in));
    TFLEET_RETURN_IF_ERROR(CheckGradientInputs(ctx, in, 9));
    FloatInputs<T, 17> v;
    TFLEET_RETURN_IF_ERROR(v.Read(ctx, 1));
    // Gradients of the first eight inputs.
    std::array<Tensor, 8> outputs;
    std::array<WideOutput<T>, 8> wide;
    for (int i = 0; i < 8; ++i) {
      TFLEET_RETURN_IF_ERROR(MakeOutput<T>(ctx, ctx.input(1 + i).shape(), &outputs[i], &wide[i]));
    }
    if (in.shape.batch * in.shape.cells > 0) {
      std::array<float*, 8> to;
      for (int i = 0; i < 8; ++i) to[i] = wide[i].data();
      GoBack(ctx, in.shape, length, v, to);
    }
    for (int i = 0; i < 8; ++i) {
      wide[i].Finish();
      ctx.SetOutput(i, std::move(outputs[i]));
    }
    return OkStatus();
  }

 private:
  static void GoBack(KernelContext& ctx, const LstmShape& shape, int64_t length,
                     const FloatInputs<T, 17>& v, const std::array<float*, 8>& to) {
    const int64_t n = shape.cells, size = shape.batch * n, both = shape.inputs + n;
    LstmScratch scratch(shape);
    std::vector<float> cs_grad(size), h_grad(size), xh_grad(shape.batch * both),
        w_grad(both * 4 * n);
    float *const cs_prev_grad = to[1], *const h_prev_grad = to[2];
    GemmShape back;
    back.transpose_b = true;
    back.m = shape.batch;
    back.n = both;
    back.k = 4 * n;
    GemmShape of_weights;
    of_weights.transpose_a = true;
    of_weights.m = both;
    of_weights.n = 4 * n;
    of_weights.k = shape.batch;
    for (int64_t t = length - 1; t >= 0; --t) {
      const auto at = [&](int i) { return v[i] + t * size; };
      const float* const cs_prev = t == 0 ? v[1] : v[9] + (t - 1) * size;
      const float* const h_prev = t == 0 ? v[2] : v[14] + (t - 1) * size;
      for (int64_t i = 0; i < size; ++i) {
        cs_grad[i] = at(15)[i] + cs_prev_grad[i];
        h_grad[i] = at(16)[i] + h_prev_grad[i];
      }
      float* const dgates = scratch.gates.data();
      LstmGateGradients(shape, {v[3], v[4], v[5], v[6], v[7]}, cs_prev,
                        {at(8), at(9), at(10), at(11), at(12), at(13), at(14)}, cs_grad.data(),
                        h_grad.data(), dgates, cs_prev_grad, to[4], to[5], to[6]);
      Gemm<float>(&ctx, back, dgates, v[3], xh_grad.data());
      for (int64_t row = 0; row < shape.batch; ++row) {
        const float* const from = xh_grad.data() + row * both;
        std::copy_n(from, shape.inputs, to[0] + (t * shape.batch + row) * shape.inputs);
        std::copy_n(from + shape.inputs, n, h_prev_grad + row * n);
        for (int64_t i = 0; i < 4 * n; ++i) to[7][i] += dgates[row * 4 * n + i];
      }
      JoinColumns(shape, v[0] + t * shape.batch * shape.inputs, h_prev, scratch.xh.data());
      Gemm<float>(&ctx, of_weights, scratch.xh.data(), dgates, w_grad.data());
      for (int64_t i = 0; i < both * 4 * n; ++i) to[3][i] += w_grad[i];
    }
  }

  const LstmAttrs attrs_;
};

}  // namespace

void RegisterLstmKernels(KernelRegistry& r) {
  using Both = Types<Eigen::half, float>;
  for (const char* op : {"LSTMBlockCell", "BlockLSTM", "BlockLSTMV2"}) {
    AddForTypes<LstmForwardKernel>(r, op, Both());
  }
  AddForTypes<LstmBlockCellGrad>(r, "LSTMBlockCellGrad", Both());
  for (const char* op : {"BlockLSTMGrad", "BlockLSTMGradV2"}) {
    AddForTypes<BlockLstmGrad>(r, op, Both());
  }
}

}  // namespace tensorfleet::cpu
