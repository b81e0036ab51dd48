// Ops that move elements around or repeat them: transposing, reversing, rolling, tiling, padding.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status TransposeShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  const auto perm = shapes::ConstantIntegers(ctx, 1);
  int rank = in.has_rank() ? in.rank() : -1;
  if (rank < 0 && perm) rank = static_cast<int>(perm->size());
  if (rank < 0) return OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(rank);
  if (perm && in.has_rank() && static_cast<int>(perm->size()) == rank) {
    for (int i = 0; i < rank; ++i) {
      const auto axis = shapes::Normalized((*perm)[i], rank);
      if (axis) out.set_dim(i, in.dim(*axis));
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// Dimension i becomes change(i, dimension, values of input 1); open where either is not known.
template <typename Change>
Status EachDim(ShapeContext& ctx, size_t values_per_dim, const Change& change) {
  const PartialShape& in = ctx.input(0);
  const auto values = shapes::ConstantIntegers(ctx, 1);
  if (!in.has_rank()) return OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (values && values->size() == values_per_dim * in.rank()) {
    for (int i = 0; i < in.rank(); ++i)
      out.set_dim(i, change(in.dim(i), values->data() + values_per_dim * i));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status TileShape(ShapeContext& ctx) {
  return EachDim(ctx, 1, [](int64_t dim, const int64_t* multiple) {
    return *multiple < 0 ? kOpen : shapes::MultiplyDims(dim, *multiple);
  });
}

Status PadShape(ShapeContext& ctx) {
  return EachDim(ctx, 2, [](int64_t dim, const int64_t* padding) {
    if (padding[0] < 0 || padding[1] < 0) return kOpen;
    return shapes::AddDims(dim, shapes::AddDims(padding[0], padding[1]));
  });
}

constexpr char kReversible[] =
    "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, "
    "double, complex64, complex128, string}";

Status MirrorPadGradShape(ShapeContext& ctx) {
  PartialShape out = ctx.input(0);
  if (!out.has_rank()) return OkStatus();
  const auto paddings = shapes::ConstantIntegers(ctx, 1);
  const bool is_known = paddings && static_cast<int>(paddings->size()) == 2 * out.rank();
  for (int i = 0; i < out.rank(); ++i) {
    int64_t size = PartialShape::kUnknownDim;
    if (is_known && out.has_dim(i)) {
      const int64_t before = (*paddings)[2 * i], after = (*paddings)[2 * i + 1];
      if (before < 0 || after < 0 || before > out.dim(i) || after > out.dim(i) - before) {
        return InvalidArgument("paddings ", before, " and ", after, " do not fit dimension ", i,
                               " of ", out.ToString());
      }
      size = out.dim(i) - before - after;
    }
    out.set_dim(i, size);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

void RegisterOrders(OpRegistry& ops) {
  for (const char* name : {"Transpose", "ConjugateTranspose"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("x: T")
                .Input("perm: Tperm")
                .Output("y: T")
                .Attr("T: type")
                .Attr("Tperm: {int32, int64} = DT_INT32")
                .Shape(TransposeShape)
                .Doc("Axis i of the result is axis perm[i] of the input; the conjugate form also "
                     "conjugates."));
  }
  ops.Add(OpSchemaBuilder("InvertPermutation")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {int32, int64} = DT_INT32")
              .Shape(shapes::Unchanged)
              .Doc("y with y[x[i]] = i."));
  ops.Add(OpSchemaBuilder("ReverseV2")
              .Input("tensor: T")
              .Input("axis: Tidx")
              .Output("output: T")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Attr(kReversible)
              .Shape(shapes::Unchanged)
              .Doc("Turns the order around along the given axes."));
  ops.Add(OpSchemaBuilder("Reverse")
              .Input("tensor: T")
              .Input("dims: bool")
              .Output("output: T")
              .Attr(kReversible)
              .Shape(shapes::Unchanged)
              .Doc("Turns the order around along the axes marked true."));
  ops.Add(OpSchemaBuilder("ReverseSequence")
              .Input("input: T")
              .Input("seq_lengths: Tlen")
              .Output("output: T")
              .Attr("seq_dim: int")
              .Attr("batch_dim: int = 0")
              .Attr("T: type")
              .Attr("Tlen: {int32, int64} = DT_INT64")
              .Shape(shapes::Unchanged)
              .Doc("Turns around the first seq_lengths[b] entries of each sequence b."));
  ops.Add(OpSchemaBuilder("Roll")
              .Input("input: T")
              .Input("shift: Tshift")
              .Input("axis: Taxis")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tshift: {int32, int64}")
              .Attr("Taxis: {int32, int64}")
              .Shape(shapes::Unchanged)
              .Doc("Moves elements along axes; those that leave at one end enter at the other."));
}

void RegisterEnlargements(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Tile")
              .Input("input: T")
              .Input("multiples: Tmultiples")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tmultiples: {int32, int64} = DT_INT32")
              .Shape(TileShape)
              .Doc("Repeats a tensor along each axis."));
  ops.Add(OpSchemaBuilder("BroadcastTo")
              .Input("input: T")
              .Input("shape: Tidx")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Shape(shapes::ShapeFromVector<1>)
              .Doc("Repeats dimensions of size 1 to fill a shape."));
  ops.Add(OpSchemaBuilder("Pad")
              .Input("input: T")
              .Input("paddings: Tpaddings")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tpaddings: {int32, int64} = DT_INT32")
              .Shape(PadShape)
              .Doc("Adds zeros before and after along each axis."));
  ops.Add(OpSchemaBuilder("PadV2")
              .Input("input: T")
              .Input("paddings: Tpaddings")
              .Input("constant_values: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tpaddings: {int32, int64} = DT_INT32")
              .Shape(PadShape)
              .Doc("Adds a value before and after along each axis."));
  ops.Add(OpSchemaBuilder("MirrorPad")
              .Input("input: T")
              .Input("paddings: Tpaddings")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tpaddings: {int32, int64} = DT_INT32")
              .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
              .Shape(PadShape)
              .Doc("Adds mirror images before and after along each axis; REFLECT leaves the edge "
                   "itself out of the image."));
  ops.Add(OpSchemaBuilder("MirrorPadGrad")
              .Input("input: T")
              .Input("paddings: Tpaddings")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tpaddings: {int32, int64} = DT_INT32")
              .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
              .Shape(MirrorPadGradShape)
              .Doc("The gradient of MirrorPad: cuts the paddings off, and adds them to what they "
                   "are images of."));
}

}  // namespace

void RegisterRearrangeOps(OpRegistry& ops) {
  RegisterOrders(ops);
  RegisterEnlargements(ops);
}

}  // namespace tensorfleet
