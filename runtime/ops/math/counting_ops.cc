// Counting values in bins, and what depends on the order of numbers. Kernels:
// runtime/kernels/cpu/math/bincount.cc, sparse_counts.cc and order.cc, nn/top_k.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The value of scalar input `i`, -1 when it is open.
StatusOr<int64_t> SizeInput(ShapeContext& ctx, int i) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(i, 0));
  const auto size = shapes::ConstantInteger(ctx, i);
  if (!size) return PartialShape::kUnknownDim;
  if (*size < 0) return InvalidArgument("size (", *size, ") must be non-negative");
  return *size;
}

Status BincountShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t bins, SizeInput(ctx, 1));
  ctx.set_output(0, shapes::VectorOf(bins));
  return OkStatus();
}

Status SparseBincountShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t bins, SizeInput(ctx, 3));
  const PartialShape& dense_shape = ctx.input(2);
  if (!dense_shape.has_rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  if (!dense_shape.has_dim(0)) return OkStatus();
  if (dense_shape.dim(0) == 1) {
    ctx.set_output(0, shapes::VectorOf(bins));
    return OkStatus();
  }
  const auto rows = shapes::ConstantIntegers(ctx, 2);
  const bool is_known = rows && !rows->empty() && rows->front() >= 0;
  ctx.set_output(0, PartialShape({is_known ? rows->front() : PartialShape::kUnknownDim, bins}));
  return OkStatus();
}

Status RaggedBincountShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_ASSIGN_OR_RETURN(const int64_t bins, SizeInput(ctx, 2));
  const PartialShape& splits = ctx.input(0);
  int64_t rows = PartialShape::kUnknownDim;
  if (splits.has_rank() && splits.has_dim(0) && splits.dim(0) > 0) rows = splits.dim(0) - 1;
  ctx.set_output(0, PartialShape({rows, bins}));
  return OkStatus();
}

// Indices, values and shape of a sparse tensor of `rank` dimensions.
void SetSparse(ShapeContext& ctx, int64_t rank) {
  ctx.set_output(0, PartialShape({PartialShape::kUnknownDim, rank}));
  ctx.set_output(1, shapes::VectorOf(PartialShape::kUnknownDim));
  ctx.set_output(2, shapes::VectorOf(rank));
}

Status DenseCountShape(ShapeContext& ctx) {
  const PartialShape& values = ctx.input(0);
  if (values.has_rank() && values.rank() != 1 && values.rank() != 2) {
    return InvalidArgument("Input must be a 1 or 2-dimensional tensor, not of rank ",
                           values.rank());
  }
  SetSparse(ctx, values.has_rank() ? values.rank() : PartialShape::kUnknownDim);
  return OkStatus();
}

Status SparseCountShape(ShapeContext& ctx) {
  const PartialShape& dense_shape = ctx.input(2);
  int64_t rank = PartialShape::kUnknownDim;
  if (dense_shape.has_rank() && dense_shape.rank() == 1 && dense_shape.has_dim(0)) {
    rank = dense_shape.dim(0) == 1 ? 1 : 2;
  }
  SetSparse(ctx, rank);
  return OkStatus();
}

Status RaggedCountShape(ShapeContext& ctx) {
  SetSparse(ctx, 2);
  return OkStatus();
}

// Attributes and outputs of the three counts with sparse results.
OpSchemaBuilder CountSchema(const char* name) {
  return OpSchemaBuilder(name)
      .Output("output_indices: int64")
      .Output("output_values: output_type")
      .Output("output_dense_shape: int64")
      .Attr("T: {int32, int64}")
      .Attr("minlength: int >= -1 = -1")
      .Attr("maxlength: int >= -1 = -1")
      .Attr("binary_output: bool")
      .Attr("output_type: {int32, int64, float, double}");
}

Status HistogramShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  const auto bins = shapes::ConstantInteger(ctx, 2);
  if (bins && *bins <= 0) return InvalidArgument("nbins must be positive, got ", *bins);
  ctx.set_output(0, shapes::VectorOf(bins.value_or(PartialShape::kUnknownDim)));
  return OkStatus();
}

Status NthElementShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 0));
  const PartialShape& in = ctx.input(0);
  if (in.has_rank()) ctx.set_output(0, shapes::Part(in, 0, in.rank() - 1));
  return OkStatus();
}

Status IsotonicShape(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  ctx.set_output(1, ctx.input(0));
  return OkStatus();
}

Status ApproxTopKShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  TFLEET_ASSIGN_OR_RETURN(const int64_t k, ctx.Attr<int64_t>("k"));
  TFLEET_ASSIGN_OR_RETURN(const int64_t dimension, ctx.Attr<int64_t>("reduction_dimension"));
  PartialShape out = ctx.input(0);
  if (!out.has_rank()) return OkStatus();
  const auto axis = shapes::Normalized(dimension, out.rank());
  if (!axis) return InvalidArgument("reduction_dimension ", dimension, " is not in the input");
  out.set_dim(*axis, k);
  ctx.set_output(0, out);
  ctx.set_output(1, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterCountingOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("ApproxTopK")
              .Input("input: T")
              .Output("values: T")
              .Output("indices: int32")
              .Attr("k: int >= 0")
              .Attr("reduction_dimension: int = -1")
              .Attr("recall_target: float = 0.95")
              .Attr("is_max_k: bool = true")
              .Attr("reduction_input_size_override: int = -1")
              .Attr("aggregate_to_topk: bool = true")
              .Attr("T: {half, bfloat16, float}")
              .Shape(ApproxTopKShape)
              .Doc("The k largest elements along a dimension, and where they are. Here they are "
                   "exact."));
  ops.Add(OpSchemaBuilder("Bincount")
              .Input("arr: int32")
              .Input("size: int32")
              .Input("weights: T")
              .Output("bins: T")
              .Attr("T: {int32, int64, float, double}")
              .Shape(BincountShape)
              .Doc("How often each number below size occurs, or the sums of the weights that go "
                   "with it."));
  ops.Add(CountSchema("DenseCountSparseOutput")
              .Input("values: T")
              .Input("weights: output_type")
              .Shape(DenseCountShape)
              .Doc("How often each value occurs in each row, or the sums of its weights; sparse."));
  ops.Add(CountSchema("SparseCountSparseOutput")
              .Input("indices: int64")
              .Input("values: T")
              .Input("dense_shape: int64")
              .Input("weights: output_type")
              .Shape(SparseCountShape)
              .Doc("DenseCountSparseOutput of a sparse tensor."));
  ops.Add(CountSchema("RaggedCountSparseOutput")
              .Input("splits: int64")
              .Input("values: T")
              .Input("weights: output_type")
              .Shape(RaggedCountShape)
              .Doc("DenseCountSparseOutput of a ragged tensor."));
  ops.Add(OpSchemaBuilder("HistogramFixedWidth")
              .Input("values: T")
              .Input("value_range: T")
              .Input("nbins: int32")
              .Output("out: dtype")
              .Attr("T: {int32, int64, float, double}")
              .Attr("dtype: {int32, int64} = DT_INT32")
              .Shape(HistogramShape)
              .Doc("How many values are in each of nbins equal parts of a range; the first and the "
                   "last take what is outside."));
  ops.Add(OpSchemaBuilder("IsotonicRegression")
              .Input("input: T")
              .Output("output: output_dtype")
              .Output("segments: int32")
              .Attr("T: realnumbertype")
              .Attr("output_dtype: {half, bfloat16, float, double} = DT_FLOAT")
              .Shape(IsotonicShape)
              .Doc("The sequence that never rises nearest to each row, and the numbers of its "
                   "segments."));
  ops.Add(OpSchemaBuilder("NthElement")
              .Input("input: T")
              .Input("n: int32")
              .Output("values: T")
              .Attr("reverse: bool = false")
              .Attr("T: realnumbertype")
              .Shape(NthElementShape)
              .Doc("The n-th smallest element of each row or, with reverse, the n-th largest."));
  ops.Add(OpSchemaBuilder("RaggedBincount")
              .Input("splits: int64")
              .Input("values: Tidx")
              .Input("size: Tidx")
              .Input("weights: T")
              .Output("output: T")
              .Attr("Tidx: {int32, int64}")
              .Attr("T: {int32, int64, float, double}")
              .Attr("binary_output: bool = false")
              .Shape(RaggedBincountShape)
              .Doc("Bincount of each row of a ragged tensor."));
  ops.Add(OpSchemaBuilder("SparseBincount")
              .Input("indices: int64")
              .Input("values: Tidx")
              .Input("dense_shape: int64")
              .Input("size: Tidx")
              .Input("weights: T")
              .Output("output: T")
              .Attr("Tidx: {int32, int64}")
              .Attr("T: {int32, int64, float, double}")
              .Attr("binary_output: bool = false")
              .Shape(SparseBincountShape)
              .Doc("Bincount of a sparse vector, or of each row of a sparse matrix."));
}

}  // namespace tensorfleet
