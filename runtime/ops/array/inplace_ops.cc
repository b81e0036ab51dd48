// Changed rows and slices of tensors, and numbers about orders of dimensions. Kernels:
// runtime/kernels/cpu/array/inplace.cc, data_format.cc and scatter_nd.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status UnravelShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const PartialShape &indices = ctx.input(0), &dims = ctx.input(1);
  if (!indices.has_rank()) return OkStatus();
  const int64_t rank = dims.has_rank() ? dims.dim(0) : PartialShape::kUnknownDim;
  if (indices.rank() == 0) {
    ctx.set_output(0, shapes::VectorOf(rank));
  } else {
    TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
    ctx.set_output(0, PartialShape({rank, indices.dim(0)}));
  }
  return OkStatus();
}

}  // namespace

void RegisterInplaceOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("DataFormatDimMap")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {int32, int64} = DT_INT32")
              .Attr("src_format: string = 'NHWC'")
              .Attr("dst_format: string = 'NCHW'")
              .Shape(shapes::Unchanged)
              .Doc("Where dimensions of one format of images are in another."));
  ops.Add(OpSchemaBuilder("DataFormatVecPermute")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {int32, int64} = DT_INT32")
              .Attr("src_format: string = 'NHWC'")
              .Attr("dst_format: string = 'NCHW'")
              .Shape(shapes::Unchanged)
              .Doc("Sizes (or pairs) along the dimensions of one format of images in the order of "
                   "another."));
  ops.Add(OpSchemaBuilder("InplaceAdd")
              .Input("x: T")
              .Input("i: int32")
              .Input("v: T")
              .Output("y: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("x with v added to its rows i."));
  ops.Add(OpSchemaBuilder("InplaceSub")
              .Input("x: T")
              .Input("i: int32")
              .Input("v: T")
              .Output("y: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("x with v subtracted from its rows i."));
  ops.Add(OpSchemaBuilder("InplaceUpdate")
              .Input("x: T")
              .Input("i: int32")
              .Input("v: T")
              .Output("y: T")
              .Attr("T: type")
              .Shape(shapes::Unchanged)
              .Doc("x with v as its rows i."));
  ops.Add(
      OpSchemaBuilder("ScatterNdNonAliasingAdd")
          .Input("input: T")
          .Input("indices: Tindices")
          .Input("updates: T")
          .Output("output: T")
          .Attr(
              "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}")
          .Attr("Tindices: {int32, int64}")
          .Shape(shapes::Unchanged)
          .Doc("The input with updates added to its slices at the indices."));
  ops.Add(OpSchemaBuilder("TensorStridedSliceUpdate")
              .Input("input: T")
              .Input("begin: Index")
              .Input("end: Index")
              .Input("strides: Index")
              .Input("value: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Index: {int32, int64}")
              .Attr("begin_mask: int = 0")
              .Attr("end_mask: int = 0")
              .Attr("ellipsis_mask: int = 0")
              .Attr("new_axis_mask: int = 0")
              .Attr("shrink_axis_mask: int = 0")
              .Shape(shapes::Unchanged)
              .Doc("The input with a value in place of a strided slice of it."));
  ops.Add(OpSchemaBuilder("UnravelIndex")
              .Input("indices: Tidx")
              .Input("dims: Tidx")
              .Output("output: Tidx")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Shape(UnravelShape)
              .Doc("Flat positions in an array as positions along each of its dimensions."));
}

}  // namespace tensorfleet
