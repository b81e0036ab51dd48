// Products of matrices.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

Status MatMul(LoweringContext& ctx) {
  const Shape &a = ctx.shape(0), &b = ctx.shape(1);
  if (a.rank() != 2 || b.rank() != 2) return Unimplemented("operands that are no matrices");
  const int over_a = ctx.BoolAttr("transpose_a") ? 0 : 1;
  const int over_b = ctx.BoolAttr("transpose_b") ? 1 : 0;
  if (a.dim(over_a) != b.dim(over_b)) return Unimplemented("matrices that do not fit");
  hlo::DotDimensions dims;
  dims.add_lhs_contracting(over_a);
  dims.add_rhs_contracting(over_b);
  TFLEET_ASSIGN_OR_RETURN(const Shape result, Shape::Make({a.dim(1 - over_a), b.dim(1 - over_b)}));
  ctx.Set(0, ctx.hlo().Dot(ctx.input(0), ctx.input(1), dims, result, ctx.dtype(0)));
  return OkStatus();
}

// Batch dimensions broadcast; the last two are multiplied.
Status BatchMatMul(LoweringContext& ctx) {
  const Shape &a = ctx.shape(0), &b = ctx.shape(1);
  const DType dtype = ctx.node().output_type(0);
  if (ctx.dtype(0) != dtype || ctx.dtype(1) != dtype) return Unimplemented("mixed types");
  if (a.rank() < 2 || b.rank() < 2) return Unimplemented("operands that are no matrices");
  TFLEET_ASSIGN_OR_RETURN(const Shape batch,
                          BroadcastShape(a.SubShape(0, a.rank() - 2), b.SubShape(0, b.rank() - 2)));
  const int rank = batch.rank();
  const int over_a = ctx.BoolAttr("adj_x") ? rank : rank + 1;
  const int over_b = ctx.BoolAttr("adj_y") ? rank + 1 : rank;
  TFLEET_ASSIGN_OR_RETURN(const Shape whole_a,
                          batch.Concatenated(a.SubShape(a.rank() - 2, a.rank())));
  TFLEET_ASSIGN_OR_RETURN(const Shape whole_b,
                          batch.Concatenated(b.SubShape(b.rank() - 2, b.rank())));
  if (whole_a.dim(over_a) != whole_b.dim(over_b)) return Unimplemented("matrices that do not fit");
  hlo::DotDimensions dims;
  for (int i = 0; i < rank; ++i) {
    dims.add_lhs_batch(i);
    dims.add_rhs_batch(i);
  }
  dims.add_lhs_contracting(over_a);
  dims.add_rhs_contracting(over_b);
  TFLEET_ASSIGN_OR_RETURN(const Shape matrix, Shape::Make({whole_a.dim(2 * rank + 1 - over_a),
                                                           whole_b.dim(2 * rank + 1 - over_b)}));
  TFLEET_ASSIGN_OR_RETURN(const Shape result, batch.Concatenated(matrix));
  HloBuilder& h = ctx.hlo();
  ctx.Set(0, h.Dot(h.BroadcastTo(ctx.input(0), whole_a), h.BroadcastTo(ctx.input(1), whole_b), dims,
                   result, dtype));
  return OkStatus();
}

}  // namespace

void AddMatMulLowerings(LoweringRegistry& r) {
  std::vector<DType> types = FloatAndComplexTypes();
  types.insert(types.end(), {DType::kInt32, DType::kInt64});
  r.Add("MatMul", MatMul, {{"T", types}});
  // An adjoint of a complex matrix is more than a transpose.
  r.Add("BatchMatMul", BatchMatMul, {{"T", FloatTypes()}});
  r.Add("BatchMatMulV2", BatchMatMul, {{"T", FloatTypes()}});
  const std::vector<DType>& floats = FloatTypes();
  r.Add("BatchMatMulV3", BatchMatMul, {{"Ta", floats}, {"Tb", floats}, {"Tout", floats}});
}

}  // namespace tensorfleet::pjrt
