// Looking up slices by index, in tensors and in variables.
#include <numeric>

#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/indices.h"

namespace tensorfleet::pjrt {
namespace {

// Indices into one dimension with the position in each of the first `batch_dims` dimensions put
// before: [..., 1] becomes [..., batch_dims + 1].
Hlo WithBatch(HloBuilder& b, const Hlo& indices, int batch_dims) {
  if (batch_dims == 0) return indices;
  std::vector<Hlo> parts;
  for (int i = 0; i < batch_dims; ++i) parts.push_back(b.Iota(indices.dtype, indices.shape, i));
  parts.push_back(indices);
  return b.Concat(parts, indices.shape.rank() - 1);
}

// params[batch..., outer..., axis, inner...] by indices [batch..., rest...].
Status GatherAlong(LoweringContext& ctx, const Hlo& params, int axis, int batch_dims) {
  const Shape& by = ctx.shape(1);
  for (int i = 0; i < batch_dims; ++i) {
    if (params.shape.dim(i) != by.dim(i)) return Unimplemented("batches of different sizes");
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo indices,
                          CheckedIndices(ctx, 1, {params.shape.dim(axis)}, /*are_rows=*/true));
  std::vector<int64_t> axes(batch_dims + 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes.back() = axis;
  ctx.Set(0, ctx.hlo().Gather(params, WithBatch(ctx.hlo(), indices, batch_dims), axes, batch_dims,
                              axis - batch_dims));
  return OkStatus();
}

StatusOr<int> BatchDims(LoweringContext& ctx, const Shape& params) {
  const StatusOr<int64_t> given = ctx.Attr<int64_t>("batch_dims");
  const int rank = ctx.shape(1).rank();
  const int64_t dims = !given.ok() ? 0 : *given < 0 ? *given + rank : *given;
  if (dims < 0 || dims > rank || dims >= params.rank()) return Unimplemented("so many batch_dims");
  return static_cast<int>(dims);
}

Status Gather(LoweringContext& ctx) {
  if (ctx.shape(0).rank() == 0) return Unimplemented("a scalar");
  return GatherAlong(ctx, ctx.input(0), 0, 0);
}

Status GatherV2(LoweringContext& ctx) {
  const Shape& params = ctx.shape(0);
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(2));
  if (given.size() != 1 || params.rank() == 0) return Unimplemented("an axis that is no scalar");
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], params.rank()));
  TFLEET_ASSIGN_OR_RETURN(const int batch_dims, BatchDims(ctx, params));
  if (axis < batch_dims) return Unimplemented("an axis among the batch's");
  return GatherAlong(ctx, ctx.input(0), axis, batch_dims);
}

Status GatherTuples(LoweringContext& ctx, const Hlo& params) {
  const Shape& by = ctx.shape(1);
  if (params.shape.rank() < 1 || by.rank() < 1 || by.dim(-1) > params.shape.rank() ||
      by.dim(-1) == 0) {
    return Unimplemented("indices that do not fit");
  }
  const int depth = static_cast<int>(by.dim(-1));
  TFLEET_ASSIGN_OR_RETURN(
      const Hlo indices,
      CheckedIndices(ctx, 1, params.shape.dims().subspan(0, depth), /*are_rows=*/false));
  std::vector<int64_t> axes(depth);
  std::iota(axes.begin(), axes.end(), 0);
  const Hlo result = ctx.hlo().Gather(params, indices, axes, 0, 0);
  // The kernel has an error of its own for this.
  if (params.shape.num_elements() == 0 && result.shape.num_elements() > 0) {
    return Unimplemented("entries of an empty tensor");
  }
  ctx.Set(0, result);
  return OkStatus();
}

Status GatherNd(LoweringContext& ctx) { return GatherTuples(ctx, ctx.input(0)); }

Status ResourceGather(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo params, ctx.Read(0));
  if (params.dtype != ctx.node().output_type(0) || params.shape.rank() == 0) {
    return Unimplemented("a variable of another type");
  }
  TFLEET_ASSIGN_OR_RETURN(const int batch_dims, BatchDims(ctx, params.shape));
  return GatherAlong(ctx, params, batch_dims, batch_dims);
}

Status ResourceGatherNd(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo params, ctx.Read(0));
  if (params.dtype != ctx.node().output_type(0)) return Unimplemented("another type");
  return GatherTuples(ctx, params);
}

}  // namespace

void AddGatherLowerings(LoweringRegistry& r) {
  const std::vector<DType>& any = AllTypes();
  r.Add("Gather", Gather, {{"Tparams", any}, {"Tindices", IndexTypes()}});
  r.Add("GatherV2", GatherV2, {{"Tparams", any}, {"Tindices", IndexTypes()}});
  r.Add("GatherNd", GatherNd, {{"Tparams", any}, {"Tindices", IndexTypes()}});
  r.Add("ResourceGather", ResourceGather, {{"dtype", any}, {"Tindices", IndexTypes()}});
  r.Add("ResourceGatherNd", ResourceGatherNd, {{"dtype", any}, {"Tindices", IndexTypes()}});
}

}  // namespace tensorfleet::pjrt
