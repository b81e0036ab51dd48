// Ops about shapes: what a tensor's shape is, and the same elements under another one.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

using shapes::VectorOf;

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kOutType[] = "out_type: {int32, int64} = DT_INT32";

int64_t RankOf(const PartialShape& shape) { return shape.has_rank() ? shape.rank() : kOpen; }

Status ShapeVectors(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, VectorOf(RankOf(ctx.input(i))));
  return OkStatus();
}

// The number of elements, open unless all dimensions are known (or one is 0).
int64_t ElementsOf(const PartialShape& shape) {
  if (!shape.has_rank()) return kOpen;
  int64_t product = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim == kOpen) return kOpen;
    product = shapes::MultiplyDims(product, dim);
    if (product == kOpen) return kOpen;
  }
  return product;
}

Status ReshapeShape(ShapeContext& ctx) {
  // A single number is taken for a vector of one, which the kernel does.
  if (ctx.constant_input(1) != nullptr && ctx.constant_input(1)->rank() != 1) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  if (shape.has_rank() && ctx.constant_input(1) != nullptr) {
    // A single -1 is what is left of the input.
    int open = -1;
    int64_t product = 1;
    for (int i = 0; i < shape.rank(); ++i) {
      if (!shape.has_dim(i)) {
        if (open >= 0) return OkStatus();  // the kernel complains
        open = i;
      } else {
        product = shapes::MultiplyDims(product, shape.dim(i));
      }
    }
    const int64_t elements = ElementsOf(ctx.input(0));
    if (open >= 0 && elements != kOpen && product > 0 && elements % product == 0) {
      shape.set_dim(open, elements / product);
    }
  }
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status ExpandDimsShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  const auto wanted = shapes::ConstantInteger(ctx, 1);
  const auto axis = wanted ? shapes::Normalized(*wanted, in.rank() + 1) : std::nullopt;
  if (!axis) {
    ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() + 1));
    return OkStatus();
  }
  ctx.set_output(0, shapes::Joined(shapes::Joined(shapes::Part(in, 0, *axis), VectorOf(1)),
                                   shapes::Part(in, *axis, in.rank())));
  return OkStatus();
}

Status SqueezeShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const auto axes, ctx.Attr<std::vector<int64_t>>("squeeze_dims"));
  std::vector<bool> named(in.rank(), false);
  for (const int64_t wanted : axes) {
    const auto axis = shapes::Normalized(wanted, in.rank());
    if (!axis) {
      return InvalidArgument("Tried to squeeze dim index ", wanted, " for tensor with ", in.rank(),
                             " dimensions.");
    }
    named[*axis] = true;
  }
  PartialShape out = shapes::ScalarShape();
  for (int i = 0; i < in.rank(); ++i) {
    if (axes.empty()) {
      if (!in.has_dim(i)) return OkStatus();  // it may be 1: not even the rank is known
      if (in.dim(i) != 1) out.AddDim(in.dim(i));
    } else if (!named[i]) {
      out.AddDim(in.dim(i));
    } else if (in.has_dim(i) && in.dim(i) != 1) {
      return InvalidArgument("Can not squeeze dim[", i, "], expected a dimension of 1, got ",
                             in.dim(i));
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status BitcastShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  TFLEET_ASSIGN_OR_RETURN(const DType from, ctx.Attr<DType>("T"));
  TFLEET_ASSIGN_OR_RETURN(const DType to, ctx.Attr<DType>("type"));
  const int64_t old_size = ElementSize(from);
  const int64_t new_size = ElementSize(to);
  if (!in.has_rank()) return OkStatus();
  if (old_size == new_size) {
    ctx.set_output(0, in);
  } else if (old_size > new_size) {
    ctx.set_output(0, shapes::Joined(in, VectorOf(old_size / new_size)));
  } else {
    if (in.rank() == 0 || (in.has_dim(-1) && in.dim(-1) * old_size != new_size)) {
      return InvalidArgument("Cannot bitcast from ", DTypeName(from), " to ", DTypeName(to),
                             ": the last dimension of ", in.ToString(), " must be ",
                             new_size / old_size);
    }
    ctx.set_output(0, shapes::Part(in, 0, in.rank() - 1));
  }
  return OkStatus();
}

Status ConcatOffsetShape(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(i + 1));
  return OkStatus();
}

constexpr char kBitcastTypes[] =
    "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, "
    "complex64, complex128, qint8, quint8, qint16, quint16, qint32}";

}  // namespace

void RegisterShapeOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Shape")
              .Input("input: T")
              .Output("output: out_type")
              .Attr("T: type")
              .Attr(kOutType)
              .Shape(ShapeVectors)
              .Doc("The dimensions of a tensor."));
  ops.Add(OpSchemaBuilder("ShapeN")
              .Input("input: N * T")
              .Output("output: N * out_type")
              .Attr("N: int >= 1")
              .Attr("T: type")
              .Attr(kOutType)
              .Shape(ShapeVectors)
              .Doc("The dimensions of several tensors."));
  ops.Add(OpSchemaBuilder("Size")
              .Input("input: T")
              .Output("output: out_type")
              .Attr("T: type")
              .Attr(kOutType)
              .Shape(shapes::ScalarOutputs)
              .Doc("The number of elements of a tensor."));
  ops.Add(OpSchemaBuilder("Rank")
              .Input("input: T")
              .Output("output: int32")
              .Attr("T: type")
              .Shape(shapes::ScalarOutputs)
              .Doc("The number of dimensions of a tensor."));
  ops.Add(OpSchemaBuilder("Reshape")
              .Input("tensor: T")
              .Input("shape: Tshape")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tshape: {int32, int64} = DT_INT32")
              .Shape(ReshapeShape)
              .Doc("The same elements under another shape; one dimension may be -1."));
  ops.Add(OpSchemaBuilder("ExpandDims")
              .Input("input: T")
              .Input("dim: Tdim")
              .Output("output: T")
              .Attr("T: type")
              .Attr("Tdim: {int32, int64} = DT_INT32")
              .Shape(ExpandDimsShape)
              .Doc("Adds a dimension of size 1."));
  ops.Add(OpSchemaBuilder("Squeeze")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: type")
              .Attr("squeeze_dims: list(int) >= 0 = []")
              .Shape(SqueezeShape)
              .Doc("Drops dimensions of size 1: those named, or all."));
  ops.Add(OpSchemaBuilder("Bitcast")
              .Input("input: T")
              .Output("output: type")
              .Attr(absl::StrCat("T: ", kBitcastTypes))
              .Attr(absl::StrCat("type: ", kBitcastTypes))
              .Shape(BitcastShape)
              .Doc("The same bytes as elements of another type."));
  ops.Add(OpSchemaBuilder("ConcatOffset")
              .Input("concat_dim: int32")
              .Input("shape: N * shape_type")
              .Output("offset: N * shape_type")
              .Attr("N: int >= 2")
              .Attr("shape_type: {int32, int64} = DT_INT32")
              .Shape(ConcatOffsetShape)
              .Doc("Where each of several concatenated tensors begins."));
}

}  // namespace tensorfleet
