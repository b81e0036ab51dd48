// Ops that move elements along axes, and bands of matrices. Kernels:
// runtime/kernels/cpu/array/transpose.cc, pad.cc, mirror_pad_grad.cc and diag.cc.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// From `begin` to before `end` along an axis.
Hlo Part(HloBuilder& b, const Hlo& x, int axis, int64_t begin, int64_t end) {
  std::vector<int64_t> start(x.shape.rank(), 0), stride(x.shape.rank(), 1);
  std::vector<int64_t> limit(x.shape.dims().begin(), x.shape.dims().end());
  start[axis] = begin;
  limit[axis] = end;
  return b.Slice(x, start, limit, stride);
}

Status Roll(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> shifts, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ctx.ConstantInts(2));
  const Shape& shape = ctx.shape(0);
  if (shape.rank() < 1 || ctx.shape(1) != ctx.shape(2) || ctx.shape(1).rank() > 1) {
    return Unimplemented("shifts that do not fit");
  }
  HloBuilder& b = ctx.hlo();
  Hlo x = ctx.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(axes[i], shape.rank()));
    const int64_t size = shape.dim(axis);
    if (size == 0) continue;
    const int64_t by = (shifts[i] % size + size) % size;
    if (by == 0) continue;
    x = b.Concat({Part(b, x, axis, size - by, size), Part(b, x, axis, 0, size - by)}, axis);
  }
  ctx.Set(0, x);
  return OkStatus();
}

// The first elements of each sequence backwards, as many as its length says; the others stay.
Status ReverseSequence(LoweringContext& ctx) {
  const Shape& shape = ctx.shape(0);
  TFLEET_ASSIGN_OR_RETURN(const int64_t given_time, ctx.Attr<int64_t>("seq_dim"));
  TFLEET_ASSIGN_OR_RETURN(const int64_t given_batch, ctx.Attr<int64_t>("batch_dim"));
  TFLEET_ASSIGN_OR_RETURN(const int time, CheckedAxis(given_time, shape.rank()));
  TFLEET_ASSIGN_OR_RETURN(const int batch, CheckedAxis(given_batch, shape.rank()));
  if (time == batch || ctx.shape(1).rank() != 1 || ctx.shape(1).dim(0) != shape.dim(batch)) {
    return Unimplemented("lengths that do not fit");
  }
  HloBuilder& b = ctx.hlo();
  const Hlo length = b.Convert(ctx.input(1), DType::kInt64);
  const int64_t steps = shape.dim(time), rows = shape.dim(batch);
  const auto number = [&](int64_t value) { return b.Constant(Tensor::Scalar<int64_t>(value)); };
  TFLEET_ASSIGN_OR_RETURN(const Hlo most, number(steps));
  ctx.faults().Add(b.Binary("or", b.Compare("LT", length, b.Full(length.dtype, length.shape, 0)),
                            b.Compare("GT", length, b.BroadcastTo(most, length.shape))));
  if (shape.num_elements() == 0) {
    ctx.Forward(0, 0);
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape grid, Shape::Make({rows, steps}));
  TFLEET_ASSIGN_OR_RETURN(const Shape tuple, Shape::Make({rows, steps, 1}));
  const Hlo at = b.Iota(DType::kInt64, grid, 1), lengths = b.Broadcast(length, grid, {0});
  const Hlo from = b.Select(b.Compare("LT", at, lengths), b.Sub(b.Sub(lengths, 1), at), at);
  const Hlo places =
      b.Concat({b.Reshape(b.Iota(DType::kInt64, grid, 0), tuple), b.Reshape(from, tuple)}, 2);
  std::vector<int64_t> order = {batch, time}, back(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != batch && i != time) order.push_back(i);
  }
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  const Hlo turned = b.Gather(b.Transpose(ctx.input(0), order), places, {0, 1}, 2, 0);
  ctx.Set(0, b.Transpose(turned, back));
  return OkStatus();
}

// How far the mirror lies behind the edge: 1 leaves the edge's own element out.
StatusOr<int64_t> MirrorOffset(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::string mode, ctx.Attr<std::string>("mode"));
  return mode == "REFLECT" ? 1 : 0;
}

// Two numbers for each axis, none below zero.
StatusOr<std::vector<int64_t>> PaddingsOf(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const Shape pairs, Shape::Make({ctx.shape(0).rank(), 2}));
  if (ctx.shape(1) != pairs) return Unimplemented("paddings of another rank");
  for (const int64_t padding : paddings) {
    if (padding < 0) return Unimplemented("negative padding");
  }
  return paddings;
}

Status MirrorPad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t offset, MirrorOffset(ctx));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, PaddingsOf(ctx));
  HloBuilder& b = ctx.hlo();
  Hlo x = ctx.input(0);
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const int64_t before = paddings[2 * axis], after = paddings[2 * axis + 1];
    const int64_t size = x.shape.dim(axis);
    if (before > size - offset || after > size - offset) return Unimplemented("too much padding");
    std::vector<Hlo> parts;
    if (before > 0) parts.push_back(b.Reverse(Part(b, x, axis, offset, offset + before), {axis}));
    parts.push_back(x);
    if (after > 0) {
      const int64_t end = size - offset;
      parts.push_back(b.Reverse(Part(b, x, axis, end - after, end), {axis}));
    }
    if (parts.size() > 1) x = b.Concat(parts, axis);
  }
  ctx.Set(0, x);
  return OkStatus();
}

// What the mirror images got goes back to the elements that they are images of.
Status MirrorPadGrad(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t offset, MirrorOffset(ctx));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, PaddingsOf(ctx));
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const int rank = x.shape.rank();
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t before = paddings[2 * axis], after = paddings[2 * axis + 1];
    const int64_t most = x.shape.dim(axis);
    if (before > most || after > most - before) return Unimplemented("too much padding");
    const int64_t size = most - before - after;
    if ((before > 0 && before > size - offset) || (after > 0 && after > size - offset)) {
      return Unimplemented("too much padding");
    }
    // The image of `count` elements, the first of which is element `at`.
    const auto image = [&](int64_t begin, int64_t count, int64_t at) {
      std::vector<PadAxis> padding(rank);
      padding[axis] = {at, size - at - count, 0};
      return b.Pad(b.Reverse(Part(b, x, axis, begin, begin + count), {axis}), b.Scalar(x.dtype, 0),
                   padding);
    };
    Hlo sum = Part(b, x, axis, before, before + size);
    if (before > 0) sum = b.Add(sum, image(0, before, offset));
    if (after > 0) sum = b.Add(sum, image(before + size, after, size - offset - after));
    x = sum;
  }
  ctx.Set(0, b.Convert(x, dtype));
  return OkStatus();
}

// How many diagonals of a band there are on one side; refused where there are not so many.
StatusOr<Hlo> BandWidth(LoweringContext& ctx, int i, int64_t most) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo given, ctx.ScalarInput(i));
  HloBuilder& b = ctx.hlo();
  const Hlo width = b.Convert(given, DType::kInt64);
  const StatusOr<std::vector<int64_t>> known = ctx.ConstantInts(i);
  if (known.ok()) {
    if (known->front() > most) return Unimplemented("a band of more than there is");
    return width;
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo limit, b.Constant(Tensor::Scalar<int64_t>(most)));
  ctx.faults().Add(b.Compare("GT", width, limit));
  return width;
}

// Zeros outside a band of diagonals; a negative width keeps all of that side.
Status MatrixBandPart(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  const int rank = x.shape.rank();
  if (rank < 2) return Unimplemented("no matrices");
  TFLEET_ASSIGN_OR_RETURN(const Hlo lower, BandWidth(ctx, 1, x.shape.dim(-2)));
  TFLEET_ASSIGN_OR_RETURN(const Hlo upper, BandWidth(ctx, 2, x.shape.dim(-1)));
  HloBuilder& b = ctx.hlo();
  const Shape matrix = x.shape.SubShape(rank - 2, rank);
  const Hlo row = b.Iota(DType::kInt64, matrix, 0), column = b.Iota(DType::kInt64, matrix, 1);
  const auto is_kept = [&](const Hlo& width, const Hlo& distance) {
    const Hlo widths = b.BroadcastTo(width, matrix);
    return b.Binary("or", b.Compare("LT", widths, b.Full(DType::kInt64, matrix, 0)),
                    b.Compare("LE", distance, widths));
  };
  const Hlo kept =
      b.Binary("and", is_kept(lower, b.Sub(row, column)), is_kept(upper, b.Sub(column, row)));
  ctx.Set(0, b.Select(b.Broadcast(kept, x.shape, {rank - 2, rank - 1}), x,
                      b.Full(x.dtype, x.shape, 0)));
  return OkStatus();
}

}  // namespace

void AddRearrangeLowerings(LoweringRegistry& r) {
  const std::vector<DType>&any = AllTypes(), &index = IndexTypes();
  r.Add("Roll", Roll, {{"T", any}}).is_light = true;
  r.Add("ReverseSequence", ReverseSequence, {{"T", any}, {"Tlen", index}});
  r.Add("MirrorPad", MirrorPad, {{"T", any}}).is_light = true;
  r.Add("MirrorPadGrad", MirrorPadGrad, {{"T", NumberTypes()}});
  r.Add("MatrixBandPart", MatrixBandPart, {{"T", any}, {"Tindex", index}});
}

}  // namespace tensorfleet::pjrt
