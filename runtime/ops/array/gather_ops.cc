// Ops that pick entries by number, put them at given places, or compare them with each other.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

using shapes::Joined;
using shapes::Part;
using shapes::VectorOf;

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// params[:axis] + indices[batch_dims:] + params[axis+1:].
PartialShape Gathered(const PartialShape& params, const PartialShape& indices, int axis,
                      int batch_dims) {
  return Joined(Joined(Part(params, 0, axis), Part(indices, batch_dims, indices.rank())),
                Part(params, axis + 1, params.rank()));
}

Status GatherShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  if (!ctx.input(0).has_rank() || !ctx.input(1).has_rank()) return OkStatus();
  ctx.set_output(0, Gathered(ctx.input(0), ctx.input(1), 0, 0));
  return OkStatus();
}

Status GatherV2Shape(ShapeContext& ctx) {
  const PartialShape& params = ctx.input(0);
  const PartialShape& indices = ctx.input(1);
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  TFLEET_ASSIGN_OR_RETURN(int64_t batch_dims, ctx.Attr<int64_t>("batch_dims"));
  if (!params.has_rank() || !indices.has_rank()) return OkStatus();
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= std::max(1, params.rank())) {
    return OkStatus();  // the kernel complains
  }
  const auto wanted = shapes::ConstantInteger(ctx, 2);
  const auto axis = wanted ? shapes::Normalized(*wanted, params.rank()) : std::nullopt;
  if (axis && *axis >= batch_dims) {
    ctx.set_output(0, Gathered(params, indices, *axis, static_cast<int>(batch_dims)));
  } else if (!wanted && params.rank() > 0) {
    ctx.set_output(0, PartialShape::UnknownOfRank(params.rank() - 1 + indices.rank() -
                                                  static_cast<int>(batch_dims)));
  }
  return OkStatus();
}

Status GatherNdShape(ShapeContext& ctx) {
  const PartialShape& params = ctx.input(0);
  const PartialShape& indices = ctx.input(1);
  if (!params.has_rank() || !indices.has_rank() || indices.rank() == 0 || !indices.has_dim(-1)) {
    return OkStatus();
  }
  const int64_t depth = indices.dim(-1);
  if (depth > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth,
                           " vs. ", params.rank());
  }
  ctx.set_output(0, Joined(Part(indices, 0, indices.rank() - 1),
                           Part(params, static_cast<int>(depth), params.rank())));
  return OkStatus();
}

Status WhereShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({kOpen, ctx.input(0).has_rank() ? ctx.input(0).rank() : kOpen}));
  return OkStatus();
}

Status DynamicPartitionShape(ShapeContext& ctx) {
  const PartialShape& data = ctx.input(0);
  const PartialShape& partitions = ctx.input(1);
  if (!data.has_rank() || !partitions.has_rank() || partitions.rank() > data.rank()) {
    return OkStatus();
  }
  const PartialShape part = Joined(VectorOf(kOpen), Part(data, partitions.rank(), data.rank()));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, part);
  return OkStatus();
}

Status DynamicStitchShape(ShapeContext& ctx) {
  const int count = ctx.num_inputs() / 2;
  PartialShape row;
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    const auto indices = shapes::ConstantIntegers(ctx, i);
    if (!indices) rows = kOpen;
    if (indices && rows != kOpen) {
      for (const int64_t index : *indices) {
        if (index < 0) return OkStatus();  // the kernel complains
        rows = std::max(rows, index + 1);
      }
    }
    const PartialShape& index_shape = ctx.input(i);
    const PartialShape& data = ctx.input(count + i);
    if (!index_shape.has_rank() || !data.has_rank() || index_shape.rank() > data.rank()) continue;
    StatusOr<PartialShape> merged = row.MergedWith(Part(data, index_shape.rank(), data.rank()));
    if (!merged.ok()) return OkStatus();
    row = *std::move(merged);
  }
  ctx.set_output(0, Joined(VectorOf(rows), row));
  return OkStatus();
}

// The first outputs are vectors of unknown length, output 1 goes with the input.
Status UniqueShape(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, i == 1 ? ctx.input(0) : VectorOf(kOpen));
  }
  return OkStatus();
}

Status UniqueSlicesShape(ShapeContext& ctx) {
  PartialShape y = ctx.input(0);
  const auto axes = shapes::ConstantIntegers(ctx, 1);
  std::optional<int> axis;
  if (y.has_rank() && axes && axes->size() <= 1) {
    axis = shapes::Normalized(axes->empty() ? 0 : axes->front(), y.rank());
  }
  const int64_t slices = axis ? y.dim(*axis) : kOpen;
  if (y.has_rank()) {
    y = axis ? y : PartialShape::UnknownOfRank(y.rank());
    if (axis) y.set_dim(*axis, kOpen);
  }
  ctx.set_output(0, std::move(y));
  ctx.set_output(1, VectorOf(slices));
  if (ctx.num_outputs() == 3) ctx.set_output(2, VectorOf(kOpen));
  return OkStatus();
}

Status UnknownVectors(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, VectorOf(kOpen));
  return OkStatus();
}

void RegisterGathers(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Gather")
              .Input("params: Tparams")
              .Input("indices: Tindices")
              .Output("output: Tparams")
              .Attr("validate_indices: bool = true")
              .Attr("Tparams: type")
              .Attr("Tindices: {int32, int64}")
              .Shape(GatherShape)
              .Doc("Rows of a tensor by their numbers."));
  ops.Add(OpSchemaBuilder("GatherV2")
              .Input("params: Tparams")
              .Input("indices: Tindices")
              .Input("axis: Taxis")
              .Output("output: Tparams")
              .Attr("batch_dims: int = 0")
              .Attr("Tparams: type")
              .Attr("Tindices: {int16, int32, int64}")
              .Attr("Taxis: {int32, int64}")
              .Shape(GatherV2Shape)
              .Doc("Entries of a tensor along an axis by their numbers."));
  ops.Add(OpSchemaBuilder("GatherNd")
              .Input("params: Tparams")
              .Input("indices: Tindices")
              .Output("output: Tparams")
              .Attr("Tparams: type")
              .Attr("Tindices: {int16, int32, int64}")
              .Shape(GatherNdShape)
              .Doc("Slices of a tensor by the positions in the last axis of the indices."));
}

void RegisterScatters(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("ScatterNd")
              .Input("indices: Tindices")
              .Input("updates: T")
              .Input("shape: Tindices")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tindices: {int16, int32, int64}")
              .Shape(shapes::ShapeFromVector<2>)
              .Doc("Zeros, with updates added at the given positions."));
  const auto tensor_scatter = [&](const char* name, const char* indices, const char* doc) {
    ops.Add(OpSchemaBuilder(name)
                .Input("tensor: T")
                .Input("indices: Tindices")
                .Input("updates: T")
                .Output("output: T")
                .Attr("T: type")
                .Attr(indices)
                .Shape(shapes::Unchanged)
                .Doc(doc));
  };
  tensor_scatter("TensorScatterUpdate", "Tindices: {int16, int32, int64, uint16}",
                 "A copy of a tensor with slices replaced.");
  tensor_scatter("TensorScatterAdd", "Tindices: {int32, int64}",
                 "A copy of a tensor with updates added to slices.");
  tensor_scatter("TensorScatterSub", "Tindices: {int32, int64}",
                 "A copy of a tensor with updates taken from slices.");
  tensor_scatter("TensorScatterMax", "Tindices: {int32, int64}",
                 "A copy of a tensor with elements of slices replaced by updates that are larger.");
  tensor_scatter(
      "TensorScatterMin", "Tindices: {int32, int64}",
      "A copy of a tensor with elements of slices replaced by updates that are smaller.");
}

void RegisterPartitions(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("DynamicPartition")
              .Input("data: T")
              .Input("partitions: int32")
              .Output("outputs: num_partitions * T")
              .Attr("num_partitions: int >= 1")
              .Attr("T: type")
              .Shape(DynamicPartitionShape)
              .Doc("Deals rows out to outputs by number."));
  for (const char* name : {"DynamicStitch", "ParallelDynamicStitch"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("indices: N * int32")
                .Input("data: N * T")
                .Output("merged: T")
                .Attr("N: int >= 1")
                .Attr("T: type")
                .Shape(DynamicStitchShape)
                .Doc("Puts rows back in order: merged[indices[m][i]] = data[m][i], later ones "
                     "winning."));
  }
}

void RegisterSets(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Where")
              .Input("input: T")
              .Output("index: int64")
              .Attr("T: {numbertype, bool} = DT_BOOL")
              .Shape(WhereShape)
              .Doc("The positions of the elements that are true or not zero."));
  ops.Add(OpSchemaBuilder("Unique")
              .Input("x: T")
              .Output("y: T")
              .Output("idx: out_idx")
              .Attr("T: type")
              .Attr("out_idx: {int32, int64} = DT_INT32")
              .Shape(UniqueShape)
              .Doc("The distinct elements in the order of their first appearance, and for each "
                   "element the number of its like."));
  ops.Add(OpSchemaBuilder("UniqueWithCounts")
              .Input("x: T")
              .Output("y: T")
              .Output("idx: out_idx")
              .Output("count: out_idx")
              .Attr("T: type")
              .Attr("out_idx: {int32, int64} = DT_INT32")
              .Shape(UniqueShape)
              .Doc("Like Unique, and how often each element appears."));
  for (const bool counts : {false, true}) {
    OpSchemaBuilder op(counts ? "UniqueWithCountsV2" : "UniqueV2");
    op.Input("x: T").Input("axis: Taxis").Output("y: T").Output("idx: out_idx");
    if (counts) op.Output("count: out_idx");
    ops.Add(op.Attr("T: type")
                .Attr("Taxis: {int32, int64} = DT_INT64")
                .Attr("out_idx: {int32, int64} = DT_INT32")
                .Shape(UniqueSlicesShape)
                .Doc("The distinct slices along an axis in the order of their first appearance, "
                     "for each slice the number of its like and, with counts, how often each "
                     "appears. Without an axis x must be a vector."));
  }
  ops.Add(OpSchemaBuilder("ListDiff")
              .Input("x: T")
              .Input("y: T")
              .Output("out: T")
              .Output("idx: out_idx")
              .Attr("T: type")
              .Attr("out_idx: {int32, int64} = DT_INT32")
              .Shape(UnknownVectors)
              .Doc("The elements of x that are not in y, and their positions."));
}

}  // namespace

void RegisterGatherOps(OpRegistry& ops) {
  RegisterGathers(ops);
  RegisterScatters(ops);
  RegisterPartitions(ops);
  RegisterSets(ops);
}

}  // namespace tensorfleet
