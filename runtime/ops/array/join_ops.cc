// Ops that put tensors together and take them apart along an axis.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

using shapes::Part;
using shapes::VectorOf;

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// Values at [first, first + count), axis at `axis_input`. What does not fit together is left to the
// kernel, whose message names the inputs; here it only leaves the output open.
Status JoinedAlong(ShapeContext& ctx, int first, int count, int axis_input) {
  PartialShape out;
  for (int i = first; i < first + count; ++i) {
    const PartialShape& in = ctx.input(i);
    if (in.has_rank()) {
      out = PartialShape::UnknownOfRank(in.rank());
      break;
    }
  }
  if (!out.has_rank() || out.rank() == 0) return OkStatus();
  const auto wanted = shapes::ConstantInteger(ctx, axis_input);
  const auto axis = wanted ? shapes::Normalized(*wanted, out.rank()) : std::nullopt;
  if (!axis) {
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
  int64_t along = 0;
  for (int i = first; i < first + count; ++i) {
    const PartialShape& in = ctx.input(i);
    if (!in.has_rank()) {
      along = kOpen;
      continue;
    }
    if (in.rank() != out.rank()) return OkStatus();
    along = shapes::AddDims(along, in.dim(*axis));
    for (int d = 0; d < out.rank(); ++d) {
      if (d == *axis || !in.has_dim(d)) continue;
      if (out.has_dim(d) && out.dim(d) != in.dim(d)) return OkStatus();
      out.set_dim(d, in.dim(d));
    }
  }
  out.set_dim(*axis, along);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status ConcatShape(ShapeContext& ctx) { return JoinedAlong(ctx, 1, ctx.num_inputs() - 1, 0); }
Status ConcatV2Shape(ShapeContext& ctx) {
  return JoinedAlong(ctx, 0, ctx.num_inputs() - 1, ctx.num_inputs() - 1);
}

Status PackShape(ShapeContext& ctx) {
  PartialShape each;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    StatusOr<PartialShape> merged = each.MergedWith(ctx.input(i));
    if (!merged.ok()) return OkStatus();  // the kernel says which
    each = *std::move(merged);
  }
  TFLEET_ASSIGN_OR_RETURN(const int64_t wanted, ctx.Attr<int64_t>("axis"));
  if (!each.has_rank()) return OkStatus();
  const auto axis = shapes::Normalized(wanted, each.rank() + 1);
  if (!axis) {
    return InvalidArgument("axis = ", wanted, " not in [", -(each.rank() + 1), ", ",
                           each.rank() + 1, ")");
  }
  ctx.set_output(0, shapes::Joined(shapes::Joined(Part(each, 0, *axis), VectorOf(ctx.num_inputs())),
                                   Part(each, *axis, each.rank())));
  return OkStatus();
}

Status UnpackShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  TFLEET_ASSIGN_OR_RETURN(const int64_t wanted, ctx.Attr<int64_t>("axis"));
  if (!in.has_rank()) return OkStatus();
  const auto axis = shapes::Normalized(wanted, in.rank());
  if (!axis) {
    return InvalidArgument("axis = ", wanted, " not in [", -in.rank(), ", ", in.rank(), ")");
  }
  if (in.has_dim(*axis) && in.dim(*axis) != ctx.num_outputs()) {
    return InvalidArgument("Input shape axis ", *axis, " must equal ", ctx.num_outputs(),
                           ", got shape ", in.ToString());
  }
  const PartialShape out = shapes::Joined(Part(in, 0, *axis), Part(in, *axis + 1, in.rank()));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

// Every output is the input with `axis` open, or of size sizes[i].
void SetPieces(ShapeContext& ctx, const PartialShape& in, std::optional<int> axis,
               absl::Span<const int64_t> sizes) {
  if (!in.has_rank()) return;
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    PartialShape out = axis ? in : PartialShape::UnknownOfRank(in.rank());
    if (axis) out.set_dim(*axis, sizes.empty() ? kOpen : sizes[i]);
    ctx.set_output(i, std::move(out));
  }
}

Status SplitShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(1);
  if (!in.has_rank()) return OkStatus();
  const auto wanted = shapes::ConstantInteger(ctx, 0);
  const auto axis = wanted ? shapes::Normalized(*wanted, in.rank()) : std::nullopt;
  std::vector<int64_t> sizes;
  if (axis && in.has_dim(*axis) && in.dim(*axis) % ctx.num_outputs() == 0) {
    sizes.assign(ctx.num_outputs(), in.dim(*axis) / ctx.num_outputs());
  }
  SetPieces(ctx, in, axis, sizes);
  return OkStatus();
}

Status SplitVShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const auto wanted = shapes::ConstantInteger(ctx, 2);
  const auto axis = wanted ? shapes::Normalized(*wanted, in.rank()) : std::nullopt;
  auto sizes = shapes::ConstantIntegers(ctx, 1).value_or(std::vector<int64_t>());
  if (static_cast<int>(sizes.size()) != ctx.num_outputs()) sizes.clear();
  int open = 0;
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < -1) sizes.clear();
    open += size == -1;
    total = shapes::AddDims(total, std::max<int64_t>(size, 0));
    if (sizes.empty()) break;
  }
  if (axis && open == 1 && in.has_dim(*axis) && total != kOpen && total <= in.dim(*axis)) {
    *std::find(sizes.begin(), sizes.end(), -1) = in.dim(*axis) - total;
  }
  SetPieces(ctx, in, axis, sizes);
  return OkStatus();
}

}  // namespace

void RegisterJoinOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Concat")
              .Input("concat_dim: int32")
              .Input("values: N * T")
              .Output("output: T")
              .Attr("N: int >= 2")
              .Attr("T: type")
              .Shape(ConcatShape)
              .Doc("Joins tensors along an axis; the older form of ConcatV2."));
  ops.Add(OpSchemaBuilder("ConcatV2")
              .Input("values: N * T")
              .Input("axis: Tidx")
              .Output("output: T")
              .Attr("N: int >= 2")
              .Attr("T: type")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Shape(ConcatV2Shape)
              .Doc("Joins tensors along an axis."));
  ops.Add(OpSchemaBuilder("Pack")
              .Input("values: N * T")
              .Output("output: T")
              .Attr("N: int >= 1")
              .Attr("T: type")
              .Attr("axis: int = 0")
              .Shape(PackShape)
              .Doc("Joins tensors of one shape along a new axis."));
  ops.Add(OpSchemaBuilder("Unpack")
              .Input("value: T")
              .Output("output: num * T")
              .Attr("num: int >= 0")
              .Attr("T: type")
              .Attr("axis: int = 0")
              .Shape(UnpackShape)
              .Doc("The slices of a tensor along an axis, which falls away."));
  ops.Add(OpSchemaBuilder("Split")
              .Input("split_dim: int32")
              .Input("value: T")
              .Output("output: num_split * T")
              .Attr("num_split: int >= 1")
              .Attr("T: type")
              .Shape(SplitShape)
              .Doc("Cuts a tensor along an axis into equal pieces."));
  ops.Add(OpSchemaBuilder("SplitV")
              .Input("value: T")
              .Input("size_splits: Tlen")
              .Input("split_dim: int32")
              .Output("output: num_split * T")
              .Attr("num_split: int >= 1")
              .Attr("T: type")
              .Attr("Tlen: {int8, int32, int64} = DT_INT64")
              .Shape(SplitVShape)
              .Doc("Cuts a tensor along an axis into pieces of given sizes; one may be -1."));
  ops.Add(OpSchemaBuilder("ParallelConcat")
              .Input("values: N * T")
              .Output("output: T")
              .Attr("N: int >= 1")
              .Attr("T: type")
              .Attr("shape: shape")
              .Shape(shapes::ShapeFromAttr)
              .Doc("Joins rows, each of first dimension 1."));
  ops.Add(OpSchemaBuilder("_ParallelConcatStart")
              .Output("output: dtype")
              .Attr("shape: shape")
              .Attr("dtype: type")
              .Stateful()
              .Shape(shapes::ShapeFromAttr)
              .Doc("Memory that _ParallelConcatUpdate nodes fill row by row."));
  ops.Add(OpSchemaBuilder("_ParallelConcatUpdate")
              .Input("value: T")
              .Input("update: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("loc: int")
              .Shape(shapes::Unchanged)
              .Doc("Sets one row of its first input."));
}

}  // namespace tensorfleet
