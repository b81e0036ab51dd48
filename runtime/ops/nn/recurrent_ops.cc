// Layers of LSTM and GRU cells. Kernels: runtime/kernels/cpu/nn/lstm.cc and gru.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// `x` with as many columns as `state` has.
PartialShape WithCells(const PartialShape& x, const PartialShape& state, int rank) {
  PartialShape out = x.has_rank() ? x : PartialShape::UnknownOfRank(rank);
  out.set_dim(rank - 1, state.has_rank() ? state.dim(-1) : kOpen);
  return out;
}

// All outputs are like x (input kX, of rank kRank), with the cells of the state after it.
template <int kX, int kRank>
Status CellShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(kX, kRank));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(kX + 1, 2));
  const PartialShape out = WithCells(ctx.input(kX), ctx.input(kX + 1), kRank);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

// A gradient for each of the inputs after the first.
Status LikeInputs(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 3));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 2));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(1 + i));
  return OkStatus();
}

Status LstmCellGradShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  const PartialShape& state = ctx.input(1);
  ctx.set_output(0, state);
  PartialShape gates = PartialShape::UnknownOfRank(2);
  if (state.has_rank()) {
    gates = PartialShape({state.dim(0), shapes::MultiplyDims(state.dim(1), 4)});
  }
  ctx.set_output(1, std::move(gates));
  for (int i = 2; i < 5; ++i) ctx.set_output(i, ctx.input(2 + i));
  return OkStatus();
}

Status GruGradShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  const PartialShape& state = ctx.input(1);
  ctx.set_output(0, ctx.input(0));
  ctx.set_output(1, state);
  ctx.set_output(2, state);
  if (state.has_rank()) {
    ctx.set_output(3, PartialShape({state.dim(0), shapes::MultiplyDims(state.dim(1), 2)}));
  }
  return OkStatus();
}

}  // namespace

void RegisterRecurrentOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("BlockLSTM")
              .Input("seq_len_max: int64")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Output("i: T")
              .Output("cs: T")
              .Output("f: T")
              .Output("o: T")
              .Output("ci: T")
              .Output("co: T")
              .Output("h: T")
              .Attr("forget_bias: float = 1.0")
              .Attr("cell_clip: float = 3.0")
              .Attr("use_peephole: bool = false")
              .Attr("T: {half, float}")
              .Shape((CellShapes<1, 3>))
              .Doc("An LSTM layer over all steps of its inputs."));
  ops.Add(OpSchemaBuilder("BlockLSTMGrad")
              .Input("seq_len_max: int64")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Input("i: T")
              .Input("cs: T")
              .Input("f: T")
              .Input("o: T")
              .Input("ci: T")
              .Input("co: T")
              .Input("h: T")
              .Input("cs_grad: T")
              .Input("h_grad: T")
              .Output("x_grad: T")
              .Output("cs_prev_grad: T")
              .Output("h_prev_grad: T")
              .Output("w_grad: T")
              .Output("wci_grad: T")
              .Output("wcf_grad: T")
              .Output("wco_grad: T")
              .Output("b_grad: T")
              .Attr("use_peephole: bool")
              .Attr("T: {half, float}")
              .Shape(LikeInputs)
              .Doc("The gradient of BlockLSTM."));
  ops.Add(OpSchemaBuilder("BlockLSTMGradV2")
              .Input("seq_len_max: int64")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Input("i: T")
              .Input("cs: T")
              .Input("f: T")
              .Input("o: T")
              .Input("ci: T")
              .Input("co: T")
              .Input("h: T")
              .Input("cs_grad: T")
              .Input("h_grad: T")
              .Output("x_grad: T")
              .Output("cs_prev_grad: T")
              .Output("h_prev_grad: T")
              .Output("w_grad: T")
              .Output("wci_grad: T")
              .Output("wcf_grad: T")
              .Output("wco_grad: T")
              .Output("b_grad: T")
              .Attr("use_peephole: bool")
              .Attr("T: {half, float}")
              .Shape(LikeInputs)
              .Doc("The gradient of BlockLSTMV2."));
  ops.Add(OpSchemaBuilder("BlockLSTMV2")
              .Input("seq_len_max: int64")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Output("i: T")
              .Output("cs: T")
              .Output("f: T")
              .Output("o: T")
              .Output("ci: T")
              .Output("co: T")
              .Output("h: T")
              .Attr("cell_clip: float = 0.0")
              .Attr("use_peephole: bool = false")
              .Attr("T: {half, float}")
              .Shape((CellShapes<1, 3>))
              .Doc("BlockLSTM with the gates in another order and without a bias of its own for "
                   "the forget gate."));
  ops.Add(OpSchemaBuilder("GRUBlockCell")
              .Input("x: T")
              .Input("h_prev: T")
              .Input("w_ru: T")
              .Input("w_c: T")
              .Input("b_ru: T")
              .Input("b_c: T")
              .Output("r: T")
              .Output("u: T")
              .Output("c: T")
              .Output("h: T")
              .Attr("T: {float}")
              .Shape((CellShapes<0, 2>))
              .Doc("One step of a GRU layer."));
  ops.Add(OpSchemaBuilder("GRUBlockCellGrad")
              .Input("x: T")
              .Input("h_prev: T")
              .Input("w_ru: T")
              .Input("w_c: T")
              .Input("b_ru: T")
              .Input("b_c: T")
              .Input("r: T")
              .Input("u: T")
              .Input("c: T")
              .Input("d_h: T")
              .Output("d_x: T")
              .Output("d_h_prev: T")
              .Output("d_c_bar: T")
              .Output("d_r_bar_u_bar: T")
              .Attr("T: {float}")
              .Shape(GruGradShapes)
              .Doc("The gradient of GRUBlockCell."));
  ops.Add(OpSchemaBuilder("LSTMBlockCell")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Output("i: T")
              .Output("cs: T")
              .Output("f: T")
              .Output("o: T")
              .Output("ci: T")
              .Output("co: T")
              .Output("h: T")
              .Attr("forget_bias: float = 1.0")
              .Attr("cell_clip: float = 3.0")
              .Attr("use_peephole: bool = false")
              .Attr("T: {half, float}")
              .Shape((CellShapes<0, 2>))
              .Doc("One step of an LSTM layer."));
  ops.Add(OpSchemaBuilder("LSTMBlockCellGrad")
              .Input("x: T")
              .Input("cs_prev: T")
              .Input("h_prev: T")
              .Input("w: T")
              .Input("wci: T")
              .Input("wcf: T")
              .Input("wco: T")
              .Input("b: T")
              .Input("i: T")
              .Input("cs: T")
              .Input("f: T")
              .Input("o: T")
              .Input("ci: T")
              .Input("co: T")
              .Input("cs_grad: T")
              .Input("h_grad: T")
              .Output("cs_prev_grad: T")
              .Output("dicfo: T")
              .Output("wci_grad: T")
              .Output("wcf_grad: T")
              .Output("wco_grad: T")
              .Attr("use_peephole: bool")
              .Attr("T: {half, float}")
              .Shape(LstmCellGradShapes)
              .Doc("The gradient of LSTMBlockCell."));
}

}  // namespace tensorfleet
