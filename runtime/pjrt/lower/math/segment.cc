// Sums and the like over the rows that belong to one segment.
#include "runtime/pjrt/lower/hlo_types.h"
#include "runtime/pjrt/lower/indices.h"

namespace tensorfleet::pjrt {
namespace {

// A negative id belongs nowhere; one that is too large is refused.
Status UnsortedSegment(LoweringContext& ctx, const char* opcode) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> count, ctx.ConstantInts(2));
  const Shape &data = ctx.shape(0), &ids = ctx.shape(1);
  if (count.size() != 1 || count[0] < 0) return Unimplemented("a number of segments that is none");
  if (ids.rank() > data.rank() || data.SubShape(0, ids.rank()) != ids) {
    return Unimplemented("ids that do not fit");
  }
  HloBuilder& b = ctx.hlo();
  const Hlo id = ctx.input(1);
  TFLEET_ASSIGN_OR_RETURN(
      const Hlo limit, id.dtype == DType::kInt64
                           ? b.Constant(Tensor::Scalar<int64_t>(count[0]))
                           : b.Constant(Tensor::Scalar<int32_t>(
                                 static_cast<int32_t>(std::min<int64_t>(count[0], 0x7fffffff)))));
  ctx.faults().Add(b.Compare("GE", id, b.BroadcastTo(limit, id.shape)));
  TFLEET_ASSIGN_OR_RETURN(const Shape head, Shape::Make({count[0]}));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                          head.Concatenated(data.SubShape(ids.rank(), data.rank())));
  TFLEET_ASSIGN_OR_RETURN(const Shape one, Shape::Make({1}));
  TFLEET_ASSIGN_OR_RETURN(const Shape tuples, ids.Concatenated(one));
  const DType dtype = ctx.dtype(0), wide = AccumulatorType(dtype);
  const absl::string_view what = opcode;
  // What a segment without rows has: the smallest and the largest number that is finite.
  Tensor initial = ScalarTensor(wide, what == "multiply" ? 1 : 0);
  if (what == "minimum" || what == "maximum") initial = FiniteExtreme(dtype, what == "minimum");
  TFLEET_ASSIGN_OR_RETURN(Hlo start, b.Constant(initial));
  start = b.BroadcastTo(b.Convert(start, wide), shape);
  const Hlo sums = b.Scatter(opcode, start, b.Reshape(id, tuples), b.Convert(ctx.input(0), wide));
  ctx.Set(0, b.Convert(sums, dtype));
  return OkStatus();
}

Status SegmentSum(LoweringContext& ctx) { return UnsortedSegment(ctx, "add"); }
Status SegmentProd(LoweringContext& ctx) { return UnsortedSegment(ctx, "multiply"); }
Status SegmentMin(LoweringContext& ctx) { return UnsortedSegment(ctx, "minimum"); }
Status SegmentMax(LoweringContext& ctx) { return UnsortedSegment(ctx, "maximum"); }

}  // namespace

void AddSegmentLowerings(LoweringRegistry& r) {
  const std::vector<DType>& index = IndexTypes();
  const auto add = [&](const char* op, Lowering lower, const std::vector<DType>& types) {
    r.Add(op, lower, {{"T", types}, {"Tindices", index}});
  };
  add("UnsortedSegmentSum", SegmentSum, NumberTypes());
  add("UnsortedSegmentProd", SegmentProd, NumberTypes());
  add("UnsortedSegmentMin", SegmentMin, RealTypes());
  add("UnsortedSegmentMax", SegmentMax, RealTypes());
}

}  // namespace tensorfleet::pjrt
