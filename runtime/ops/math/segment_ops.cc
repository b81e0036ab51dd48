// Reductions of rows that belong to the same segment. Kernels: runtime/kernels/cpu/math/segment.cc,
// sparse_segment.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
constexpr char kFloats[] = "T: {bfloat16, half, float, double}";

// Input 0 with another number of rows.
Status SetRows(ShapeContext& ctx, int64_t rows) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  if (rows < kOpen) return InvalidArgument("Cannot specify a negative value for num_segments");
  PartialShape out = ctx.input(0);
  if (out.has_rank()) out.set_dim(0, rows);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

int64_t ConstantOrOpen(const ShapeContext& ctx, int i) {
  return shapes::ConstantInteger(ctx, i).value_or(kOpen);
}

Status SegmentShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  return SetRows(ctx, kOpen);
}

// The dimensions of the ids give way to the number of segments.
Status UnsortedSegmentShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 0));
  const PartialShape& data = ctx.input(0);
  const PartialShape& ids = ctx.input(1);
  if (!data.has_rank() || !ids.has_rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, ids.rank()));
  const int64_t segments = ConstantOrOpen(ctx, 2);
  if (segments < kOpen) return InvalidArgument("num_segments ", segments, " is negative");
  ctx.set_output(
      0, shapes::Joined(shapes::VectorOf(segments), shapes::Part(data, ids.rank(), data.rank())));
  return OkStatus();
}

Status SparseSegmentShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  return SetRows(ctx, kOpen);
}

// Input 3 says how many rows there are.
Status SparseSegmentShapeOfRows(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(3, 0));
  return SetRows(ctx, ConstantOrOpen(ctx, 3));
}

Status SparseSegmentGradV2Shape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(SparseSegmentShape(ctx));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  return OkStatus();
}

struct Reduction {
  const char* name;
  const char* types;
  const char* doc;
};

void RegisterSegments(OpRegistry& ops) {
  static constexpr char kNumbers[] = "T: numbertype";
  constexpr Reduction kReductions[] = {
      {"Sum", kNumbers, "sum"},   {"Mean", kNumbers, "mean"}, {"Prod", kNumbers, "product"},
      {"Min", kReals, "minimum"}, {"Max", kReals, "maximum"},
  };
  for (const Reduction& reduction : kReductions) {
    const bool is_mean = std::string(reduction.name) == "Mean";
    ops.Add(OpSchemaBuilder(absl::StrCat("Segment", reduction.name))
                .Input("data: T")
                .Input("segment_ids: Tindices")
                .Output("output: T")
                .Attr(reduction.types)
                .Attr("Tindices: {int32, int64}")
                .Shape(SegmentShape)
                .Doc(absl::StrCat("The ", reduction.doc,
                                  " of the rows of each segment; the ids are sorted.")));
    if (is_mean) continue;
    ops.Add(OpSchemaBuilder(absl::StrCat("UnsortedSegment", reduction.name))
                .Input("data: T")
                .Input("segment_ids: Tindices")
                .Input("num_segments: Tnumsegments")
                .Output("output: T")
                .Attr(reduction.types)
                .Attr("Tindices: {int16, int32, int64}")
                .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                .Shape(UnsortedSegmentShape)
                .Doc(absl::StrCat("The ", reduction.doc,
                                  " of the rows of each segment; ids come in any order, and rows "
                                  "with a negative one are left out.")));
  }
}

OpSchemaBuilder SparseSegment(const std::string& name, const char* first, const char* types) {
  return OpSchemaBuilder(name)
      .Input(first)
      .Input("indices: Tidx")
      .Input("segment_ids: Tsegmentids")
      .Output("output: T")
      .Attr(types)
      .Attr("Tidx: {int32, int64} = DT_INT32")
      .Attr("Tsegmentids: {int32, int64} = DT_INT32");
}

void RegisterSparseSegments(OpRegistry& ops) {
  constexpr Reduction kReductions[] = {
      {"Sum", kReals, "sum"},
      {"Mean", kFloats, "mean"},
      {"SqrtN", kFloats, "sum, divided by the square root of their number,"},
  };
  for (const Reduction& reduction : kReductions) {
    const std::string name = absl::StrCat("SparseSegment", reduction.name);
    const std::string doc =
        absl::StrCat("The ", reduction.doc, " of the rows of data that are named for each segment");
    ops.Add(SparseSegment(name, "data: T", reduction.types)
                .Attr("sparse_gradient: bool = false")
                .Shape(SparseSegmentShape)
                .Doc(absl::StrCat(doc, ".")));
    ops.Add(SparseSegment(absl::StrCat(name, "WithNumSegments"), "data: T", reduction.types)
                .Input("num_segments: Tnumsegments")
                .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                .Attr("sparse_gradient: bool = false")
                .Shape(SparseSegmentShapeOfRows)
                .Doc(absl::StrCat(doc, ", for so many segments.")));
    ops.Add(SparseSegment(absl::StrCat(name, "Grad"), "grad: T", kFloats)
                .Input("output_dim0: int32")
                .Shape(SparseSegmentShapeOfRows)
                .Doc(absl::StrCat("The gradient of ", name, " for its data.")));
    ops.Add(SparseSegment(absl::StrCat(name, "GradV2"), "grad: T", kFloats)
                .Input("dense_output_dim0: int32")
                .Output("sorted_unique_indices: Tidx")
                .Shape(SparseSegmentGradV2Shape)
                .Doc(absl::StrCat("The gradient of ", name,
                                  " for its data: the rows that have one, and which they are.")));
  }
}

}  // namespace

void RegisterSegmentOps(OpRegistry& ops) {
  RegisterSegments(ops);
  RegisterSparseSegments(ops);
}

}  // namespace tensorfleet
