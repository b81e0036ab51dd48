// One step of a GRU layer and its gradient. Schemas: runtime/ops/nn/recurrent_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::cpu {
namespace {

struct GruShape {
  int64_t batch = 0, inputs = 0, cells = 0;
  int64_t both() const { return inputs + cells; }
};

Status CheckShape(const KernelContext& ctx, int i, std::initializer_list<int64_t> dims) {
  TFLEET_ASSIGN_OR_RETURN(const Shape want, Shape::Make(dims));
  if (ctx.input(i).shape() == want) return OkStatus();
  return InvalidArgument("input ", i, " of ", ctx.node().op(), " must have shape ", want.ToString(),
                         ", got ", ctx.input(i).shape().ToString());
}

// Of inputs x, h_prev, w_ru, w_c, b_ru and b_c.
StatusOr<GruShape> ReadShape(const KernelContext& ctx) {
  if (ctx.input(0).rank() != 2 || ctx.input(1).rank() != 2) {
    return InvalidArgument("Rank of x and h_prev must be 2, got ", ctx.input(0).rank(), " and ",
                           ctx.input(1).rank());
  }
  GruShape shape{ctx.input(0).dim(0), ctx.input(0).dim(1), ctx.input(1).dim(1)};
  TFLEET_RETURN_IF_ERROR(Shape::Make({shape.cells, 4}).status());
  int64_t both = 0;
  if (__builtin_add_overflow(shape.inputs, shape.cells, &both)) {
    return InvalidArgument("there are too many inputs and cells");
  }
  TFLEET_RETURN_IF_ERROR(CheckShape(ctx, 1, {shape.batch, shape.cells}));
  TFLEET_RETURN_IF_ERROR(CheckShape(ctx, 2, {both, 2 * shape.cells}));
  TFLEET_RETURN_IF_ERROR(CheckShape(ctx, 3, {both, shape.cells}));
  TFLEET_RETURN_IF_ERROR(CheckShape(ctx, 4, {2 * shape.cells}));
  TFLEET_RETURN_IF_ERROR(CheckShape(ctx, 5, {shape.cells}));
  return shape;
}

using Row = ArrayMap<float>;
using ConstRow = ConstArrayMap<float>;

const float* Values(const KernelContext& ctx, int i) { return ctx.input(i).values<float>().data(); }

class GruBlockCell final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const GruShape s, ReadShape(ctx));
    Tensor outputs[4];  // r, u, c, h
    float* to[4];
    for (int i = 0; i < 4; ++i) {
      TFLEET_ASSIGN_OR_RETURN(outputs[i], ctx.Allocate(DType::kFloat, {s.batch, s.cells}));
      to[i] = outputs[i].mutable_values<float>().data();
    }
    const float *const x = Values(ctx, 0), *const h_prev = Values(ctx, 1);
    const int64_t n = s.cells;
    std::vector<float> joined(s.batch * s.both()), gates(s.batch * 2 * n);
    const auto join = [&](const float* h) {
      float* next = joined.data();
      for (int64_t row = 0; row < s.batch; ++row) {
        next = std::copy_n(x + row * s.inputs, s.inputs, next);
        next = std::copy_n(h + row * n, n, next);
      }
    };
    GemmShape product;
    product.m = s.batch;
    product.n = 2 * n;
    product.k = s.both();
    join(h_prev);
    if (s.batch * n > 0) Gemm<float>(&ctx, product, joined.data(), Values(ctx, 2), gates.data());
    for (int64_t row = 0; row < s.batch; ++row) {
      const auto gate = [&](int64_t number) {
        return ConstRow(gates.data() + (row * 2 + number) * n, n) +
               ConstRow(Values(ctx, 4) + number * n, n);
      };
      Row r(to[0] + row * n, n);
      r = 1.0f / (1.0f + (-gate(0)).exp());
      Row(to[1] + row * n, n) = 1.0f / (1.0f + (-gate(1)).exp());
      Row(to[3] + row * n, n) = ConstRow(h_prev + row * n, n) * r;
    }
    join(to[3]);
    product.n = n;
    if (s.batch * n > 0) Gemm<float>(&ctx, product, joined.data(), Values(ctx, 3), to[2]);
    for (int64_t row = 0; row < s.batch; ++row) {
      Row c(to[2] + row * n, n);
      const ConstRow u(to[1] + row * n, n);
      c = (c + ConstRow(Values(ctx, 5), n)).tanh();
      Row(to[3] + row * n, n) = (1.0f - u) * c + u * ConstRow(h_prev + row * n, n);
    }
    for (int i = 0; i < 4; ++i) ctx.SetOutput(i, std::move(outputs[i]));
    return OkStatus();
  }
};

class GruBlockCellGrad final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const GruShape s, ReadShape(ctx));
    for (int i = 6; i < 10; ++i) {
      TFLEET_RETURN_IF_ERROR(CheckShape(ctx, i, {s.batch, s.cells}));
    }
    const int64_t n = s.cells, both = s.both();
    TFLEET_ASSIGN_OR_RETURN(Tensor d_x, ctx.Allocate(DType::kFloat, {s.batch, s.inputs}));
    TFLEET_ASSIGN_OR_RETURN(Tensor d_h_prev, ctx.Allocate(DType::kFloat, {s.batch, n}));
    TFLEET_ASSIGN_OR_RETURN(Tensor d_c_bar, ctx.Allocate(DType::kFloat, {s.batch, n}));
    TFLEET_ASSIGN_OR_RETURN(Tensor d_ru_bar, ctx.Allocate(DType::kFloat, {s.batch, 2 * n}));
    float* const to_x = d_x.mutable_values<float>().data();
    float* const to_h = d_h_prev.mutable_values<float>().data();
    float* const to_c = d_c_bar.mutable_values<float>().data();
    float* const to_ru = d_ru_bar.mutable_values<float>().data();
    std::vector<float> by_c(s.batch * both), by_ru(s.batch * both);
    const auto row_of = [&](int input, int64_t row) {
      return ConstRow(Values(ctx, input) + row * n, n);
    };
    for (int64_t row = 0; row < s.batch; ++row) {
      const auto u = row_of(7, row), c = row_of(8, row), d_h = row_of(9, row);
      Row(to_c + row * n, n) = d_h * (1.0f - u) * (1.0f - c * c);
      Row(to_ru + (2 * row + 1) * n, n) = d_h * (row_of(1, row) - c) * u * (1.0f - u);
    }
    GemmShape product;
    product.transpose_b = true;
    product.m = s.batch;
    product.n = both;
    product.k = n;
    if (s.batch * both > 0) Gemm<float>(&ctx, product, to_c, Values(ctx, 3), by_c.data());
    for (int64_t row = 0; row < s.batch; ++row) {
      const auto r = row_of(6, row);
      const ConstRow d_hr(by_c.data() + row * both + s.inputs, n);
      Row(to_ru + 2 * row * n, n) = d_hr * row_of(1, row) * r * (1.0f - r);
    }
    product.k = 2 * n;
    if (s.batch * both > 0) Gemm<float>(&ctx, product, to_ru, Values(ctx, 2), by_ru.data());
    for (int64_t row = 0; row < s.batch; ++row) {
      const float *const c = by_c.data() + row * both, *const ru = by_ru.data() + row * both;
      for (int64_t i = 0; i < s.inputs; ++i) to_x[row * s.inputs + i] = ru[i] + c[i];
      Row(to_h + row * n, n) = ConstRow(ru + s.inputs, n) +
                               ConstRow(c + s.inputs, n) * row_of(6, row) +
                               row_of(9, row) * row_of(7, row);
    }
    ctx.SetOutput(0, std::move(d_x));
    ctx.SetOutput(1, std::move(d_h_prev));
    ctx.SetOutput(2, std::move(d_c_bar));
    ctx.SetOutput(3, std::move(d_ru_bar));
    return OkStatus();
  }
};

}  // namespace

void RegisterGruKernels(KernelRegistry& r) {
  r.Add<GruBlockCell>("GRUBlockCell", kCpu, {{"T", DType::kFloat}});
  r.Add<GruBlockCellGrad>("GRUBlockCellGrad", kCpu, {{"T", DType::kFloat}});
}

}  // namespace tensorfleet::cpu
