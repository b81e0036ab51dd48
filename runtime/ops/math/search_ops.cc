// Counting values and finding their places in sorted rows. Kernels:
// runtime/kernels/cpu/math/search.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status BincountShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 0));
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  if (in.rank() > 2) return InvalidArgument("Shape must be at most rank 2 but is ", in.rank());
  PartialShape out({});
  if (in.rank() == 2) out.AddDim(in.dim(0));
  const Tensor* const size = ctx.constant_input(1);
  int64_t bins = PartialShape::kUnknownDim;
  if (size != nullptr) {
    bins = size->dtype() == DType::kInt64 ? size->scalar<int64_t>() : size->scalar<int32_t>();
    if (bins < 0) return InvalidArgument("size (", bins, ") must be non-negative");
  }
  out.AddDim(bins);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status PlacesShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

}  // namespace

void RegisterSearchOps(OpRegistry& ops) {
  ops.Add(
      OpSchemaBuilder("DenseBincount")
          .Input("input: Tidx")
          .Input("size: Tidx")
          .Input("weights: T")
          .Output("output: T")
          .Attr("Tidx: {int32, int64}")
          .Attr("T: {int32, int64, float, double}")
          .Attr("binary_output: bool = false")
          .Shape(BincountShape)
          .Doc("How often each number below size occurs, for a vector or for each row; or the "
               "sums of the weights that go with it; or, with binary_output, whether it does."));
  for (const auto& [name, doc] :
       {std::pair("LowerBound", "Where values go in sorted rows: before those that are equal."),
        std::pair("UpperBound", "Where values go in sorted rows: after those that are equal.")}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("sorted_inputs: T")
                .Input("values: T")
                .Output("output: out_type")
                .Attr("T: type")
                .Attr("out_type: {int32, int64} = DT_INT32")
                .Shape(PlacesShape)
                .Doc(doc));
  }
}

}  // namespace tensorfleet
