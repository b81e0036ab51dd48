// Shifts of whole numbers.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// Shifts by less than nothing are by nothing, shifts by more than there are bits by all but one.
Status Shift(LoweringContext& ctx, const char* opcode) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.BroadcastTo(ctx.input(0), shape), by = b.BroadcastTo(ctx.input(1), shape);
  const double most = static_cast<double>(ElementSize(x.dtype) * 8 - 1);
  const Hlo bounded = b.Binary("minimum", b.Binary("maximum", by, b.Full(by.dtype, shape, 0)),
                               b.Full(by.dtype, shape, most));
  ctx.Set(0, b.Binary(opcode, x, bounded));
  return OkStatus();
}

Status LeftShift(LoweringContext& ctx) { return Shift(ctx, "shift-left"); }

Status RightShift(LoweringContext& ctx) {
  const DType dtype = ctx.dtype(0);
  const bool has_sign = dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
                        dtype == DType::kInt64;
  return Shift(ctx, has_sign ? "shift-right-arithmetic" : "shift-right-logical");
}

}  // namespace

void AddIntegerLowerings(LoweringRegistry& r) {
  r.Add("LeftShift", LeftShift, {{"T", IntegerTypes()}});
  r.Add("RightShift", RightShift, {{"T", IntegerTypes()}});
}

}  // namespace tensorfleet::pjrt
