// Ops that exchange blocks of space for depth or batch.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

int64_t Quotient(int64_t dim, int64_t by) {
  return dim == kOpen || by <= 0 || dim % by != 0 ? kOpen : dim / by;
}

template <bool kToDepth>
Status SpaceDepthShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 4));
  TFLEET_ASSIGN_OR_RETURN(const int64_t block, ctx.Attr<int64_t>("block_size"));
  TFLEET_ASSIGN_OR_RETURN(const std::string format, ctx.Attr<std::string>("data_format"));
  if (!ctx.input(0).has_rank() || format == "NCHW_VECT_C") return OkStatus();
  const int h = format == "NHWC" ? 1 : 2;
  const int c = format == "NHWC" ? 3 : 1;
  PartialShape out = ctx.input(0);
  for (const int i : {h, h + 1}) {
    out.set_dim(i,
                kToDepth ? Quotient(out.dim(i), block) : shapes::MultiplyDims(out.dim(i), block));
  }
  for (int twice = 0; twice < 2; ++twice) {
    out.set_dim(c,
                kToDepth ? shapes::MultiplyDims(out.dim(c), block) : Quotient(out.dim(c), block));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

template <bool kToBatch>
Status SpaceBatchShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const auto block = shapes::ConstantIntegers(ctx, 1);
  const auto margins = shapes::ConstantIntegers(ctx, 2);
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (block && static_cast<int>(block->size()) < in.rank()) {
    out = in;
    int64_t batch = in.dim(0);
    for (size_t i = 0; i < block->size(); ++i) {
      const int d = static_cast<int>(i) + 1;
      const int64_t by = (*block)[i];
      batch = kToBatch ? shapes::MultiplyDims(batch, by > 0 ? by : kOpen) : Quotient(batch, by);
      int64_t size = kOpen;
      if (margins && margins->size() == 2 * block->size() && by > 0) {
        const int64_t both = shapes::AddDims((*margins)[2 * i], (*margins)[2 * i + 1]);
        if (kToBatch) {
          size = Quotient(shapes::AddDims(in.dim(d), both), by);
        } else if (both != kOpen) {
          const int64_t whole = shapes::MultiplyDims(in.dim(d), by);
          if (whole != kOpen && whole >= both) size = whole - both;
        }
      }
      out.set_dim(d, size);
    }
    out.set_dim(0, batch);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterSpaceOps(OpRegistry& ops) {
  for (const bool to_depth : {true, false}) {
    ops.Add(OpSchemaBuilder(to_depth ? "SpaceToDepth" : "DepthToSpace")
                .Input("input: T")
                .Output("output: T")
                .Attr("T: type")
                .Attr("block_size: int >= 2")
                .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
                .Shape(to_depth ? SpaceDepthShape<true> : SpaceDepthShape<false>)
                .Doc("Moves square blocks of an image into its channels, or back."));
  }
  for (const bool to_batch : {true, false}) {
    const std::string margins = to_batch ? "paddings" : "crops";
    ops.Add(OpSchemaBuilder(to_batch ? "SpaceToBatchND" : "BatchToSpaceND")
                .Input("input: T")
                .Input("block_shape: Tblock_shape")
                .Input(absl::StrCat(margins, ": T", margins))
                .Output("output: T")
                .Attr("T: type")
                .Attr("Tblock_shape: {int32, int64} = DT_INT32")
                .Attr(absl::StrCat("T", margins, ": {int32, int64} = DT_INT32"))
                .Shape(to_batch ? SpaceBatchShape<true> : SpaceBatchShape<false>)
                .Doc("Moves the places of blocks in space into the batch, or back."));
  }
  for (const bool to_batch : {true, false}) {
    const std::string margins = to_batch ? "paddings" : "crops";
    const std::string index = to_batch ? "Tpaddings" : "Tidx";
    ops.Add(OpSchemaBuilder(to_batch ? "SpaceToBatch" : "BatchToSpace")
                .Input("input: T")
                .Input(absl::StrCat(margins, ": ", index))
                .Output("output: T")
                .Attr("T: type")
                .Attr("block_size: int >= 2")
                .Attr(absl::StrCat(index, ": {int32, int64} = DT_INT32"))
                .Shape(shapes::UnknownShapes)
                .Doc("The first version of the same, for squares of images."));
  }
}

}  // namespace tensorfleet
