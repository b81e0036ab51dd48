// Reductions along axes, positions of extremes, and running sums.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr char kOrdered[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
    "qint8, "
    "quint8, qint32, qint16, quint16}";
constexpr char kOrderedOrBool[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
    "qint8, "
    "quint8, qint32, qint16, quint16, bool}";

struct ReductionOp {
  const char* name;
  const char* type;
  const char* doc;
};
constexpr ReductionOp kReductions[] = {
    {"Sum", "T: numbertype",
     "The sum along the given axes; with keep_dims they stay with length 1."},
    {"Mean", "T: numbertype",
     "The mean along the given axes; with keep_dims they stay with length 1."},
    {"Prod", "T: numbertype",
     "The product along the given axes; with keep_dims they stay with length 1."},
    {"Max", kOrdered,
     "The largest element along the given axes; with keep_dims they stay with length 1."},
    {"Min", kOrdered,
     "The smallest element along the given axes; with keep_dims they stay with length 1."},
    {"EuclideanNorm", "T: numbertype", "The root of the sum of squares along the given axes."},
};

// Input 0 without the axis in input 1.
Status ArgShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  const PartialShape& in = ctx.input(0);
  const Tensor* axis = ctx.constant_input(1);
  if (!in.has_rank()) return OkStatus();
  if (axis == nullptr || axis->num_elements() != 1) {
    ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    return OkStatus();
  }
  int64_t at = 0;
  switch (axis->dtype()) {
    case DType::kInt16:
      at = axis->scalar<int16_t>();
      break;
    case DType::kInt32:
      at = axis->scalar<int32_t>();
      break;
    default:
      at = axis->scalar<int64_t>();
      break;
  }
  if (at < -in.rank() || at >= in.rank()) {
    return InvalidArgument("Dimension (", at, ") must be in the range [", -in.rank(), ", ",
                           in.rank(), "), where ", in.rank(),
                           " is the number of dimensions in the input.");
  }
  if (at < 0) at += in.rank();
  PartialShape out{Shape()};
  for (int i = 0; i < in.rank(); ++i) {
    if (i != at) out.AddDim(in.dim(i));
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterReductionOps(OpRegistry& ops) {
  for (const ReductionOp& op : kReductions) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("input: T")
                .Input("reduction_indices: Tidx")
                .Output("output: T")
                .Attr("keep_dims: bool = false")
                .Attr(op.type)
                .Attr("Tidx: {int32, int64} = DT_INT32")
                .Shape(shapes::Reduction)
                .Doc(op.doc));
  }
  for (const char* name : {"All", "Any"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("input: bool")
                .Input("reduction_indices: Tidx")
                .Output("output: bool")
                .Attr("keep_dims: bool = false")
                .Attr("Tidx: {int32, int64} = DT_INT32")
                .Shape(shapes::Reduction)
                .Doc(absl::StrCat("Whether ", name[1] == 'l' ? "all" : "any",
                                  " elements along the given axes are true.")));
  }
  ops.Add(OpSchemaBuilder("ArgMax")
              .Input("input: T")
              .Input("dimension: Tidx")
              .Output("output: output_type")
              .Attr(kOrderedOrBool)
              .Attr("Tidx: {int16, int32, int64} = DT_INT32")
              .Attr("output_type: {int16, uint16, int32, int64} = DT_INT64")
              .Shape(ArgShape)
              .Doc("Where along one axis the largest element is; the first one of several."));
  ops.Add(OpSchemaBuilder("ArgMin")
              .Input("input: T")
              .Input("dimension: Tidx")
              .Output("output: output_type")
              .Attr(kOrderedOrBool)
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Attr("output_type: {int32, int64} = DT_INT64")
              .Shape(ArgShape)
              .Doc("Where along one axis the smallest element is; the first one of several."));
  ops.Add(OpSchemaBuilder("L2Loss")
              .Input("t: T")
              .Output("output: T")
              .Attr("T: {half, bfloat16, float, double}")
              .Shape(shapes::ScalarOutputs)
              .Doc("Half the sum of the squares of all elements."));
  for (const char* name : {"Cumsum", "Cumprod"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("x: T")
                .Input("axis: Tidx")
                .Output("out: T")
                .Attr("exclusive: bool = false")
                .Attr("reverse: bool = false")
                .Attr("T: numbertype")
                .Attr("Tidx: {int32, int64} = DT_INT32")
                .Shape(shapes::Unchanged)
                .Doc(absl::StrCat("The running ", name[3] == 's' ? "sum" : "product",
                                  " along an axis; exclusive leaves each element itself out.")));
  }
}

}  // namespace tensorfleet
