// Ops that make, rename, join and spread tensors.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// More than this is better uploaded than written into a program.
constexpr size_t kMaxConstantBytes = 16 << 20;

Status Const(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, ctx.Attr<Tensor>("value"));
  if (value.bytes() > kMaxConstantBytes)
    return Unimplemented("a constant of ", value.bytes(), " bytes");
  ctx.SetConstant(0, value);
  return OkStatus();
}

// Only its control edges count.
Status NoOp(LoweringContext&) { return OkStatus(); }

Status Identity(LoweringContext& ctx) {
  ctx.Forward(0, 0);
  return OkStatus();
}

// Only computed of values that are known: there is nothing left to lower when they are not.
Status KnownOnly(LoweringContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) TFLEET_RETURN_IF_ERROR(ctx.Constant(i).status());
  return Unimplemented(ctx.node().op(), " of large values");
}

template <typename T>
Tensor DimsTensor(const Shape& shape) {
  std::vector<T> dims(shape.dims().begin(), shape.dims().end());
  return Tensor::Vector<T>(dims);
}

Status ShapeOf(LoweringContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.shape(i);
    const bool is_wide = ctx.node().output_type(i) == DType::kInt64;
    ctx.SetConstant(i, is_wide ? DimsTensor<int64_t>(shape) : DimsTensor<int32_t>(shape));
  }
  return OkStatus();
}

Status SizeOf(LoweringContext& ctx) {
  const int64_t size = ctx.shape(0).num_elements();
  const bool is_wide = ctx.node().output_type(0) == DType::kInt64;
  if (!is_wide && size > std::numeric_limits<int32_t>::max())
    return Unimplemented("so many elements");
  ctx.SetConstant(0, is_wide ? Tensor::Scalar<int64_t>(size)
                             : Tensor::Scalar<int32_t>(static_cast<int32_t>(size)));
  return OkStatus();
}

Status RankOf(LoweringContext& ctx) {
  ctx.SetConstant(0, Tensor::Scalar<int32_t>(ctx.shape(0).rank()));
  return OkStatus();
}

Status Reshape(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ctx.ConstantInts(1));
  int64_t known = 1;
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && open < 0) {
      open = static_cast<int>(i);
    } else if (dims[i] < 0) {
      return Unimplemented("a shape that is none");
    } else {
      known *= dims[i];
    }
  }
  const int64_t size = ctx.shape(0).num_elements();
  if (open >= 0) {
    if (known == 0 || size % known != 0) return Unimplemented("a shape that does not fit");
    dims[open] = size / known;
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (shape.num_elements() != size) return Unimplemented("a shape that does not fit");
  ctx.Set(0, ctx.hlo().Reshape(ctx.input(0), shape));
  return OkStatus();
}

Status ExpandDims(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(1));
  if (given.size() != 1) return Unimplemented("an axis that is no scalar");
  std::vector<int64_t> dims(ctx.shape(0).dims().begin(), ctx.shape(0).dims().end());
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], ctx.shape(0).rank() + 1));
  dims.insert(dims.begin() + axis, 1);
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ctx.Set(0, ctx.hlo().Reshape(ctx.input(0), shape));
  return OkStatus();
}

Status Squeeze(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                          ctx.Attr<std::vector<int64_t>>("squeeze_dims"));
  const Shape& shape = ctx.shape(0);
  std::vector<bool> is_gone(shape.rank());
  for (const int64_t axis : given) {
    TFLEET_ASSIGN_OR_RETURN(const int checked, CheckedAxis(axis, shape.rank()));
    if (shape.dim(checked) != 1) return Unimplemented("squeezing a dimension that is not 1");
    is_gone[checked] = true;
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (given.empty() ? shape.dim(i) != 1 : !is_gone[i]) dims.push_back(shape.dim(i));
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape result, Shape::Make(dims));
  ctx.Set(0, ctx.hlo().Reshape(ctx.input(0), result));
  return OkStatus();
}

Status Transpose(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<int64_t> permutation, ctx.ConstantInts(1));
  const int rank = ctx.shape(0).rank();
  if (static_cast<int>(permutation.size()) != rank) return Unimplemented("another rank");
  std::vector<bool> seen(rank);
  for (int64_t& axis : permutation) {
    TFLEET_ASSIGN_OR_RETURN(const int checked, CheckedAxis(axis, rank));
    if (seen[checked]) return Unimplemented("no permutation");
    seen[checked] = true;
    axis = checked;
  }
  ctx.Set(0, ctx.hlo().Transpose(ctx.input(0), permutation));
  return OkStatus();
}

Status Fill(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.ConstantInts(0));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx.ScalarInput(1));
  ctx.Set(0, ctx.hlo().BroadcastTo(value, shape));
  return OkStatus();
}

Status ZerosLike(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Full(ctx.dtype(0), ctx.shape(0), 0));
  return OkStatus();
}

Status OnesLike(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Full(ctx.dtype(0), ctx.shape(0), 1));
  return OkStatus();
}

Status BroadcastTo(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const Shape both, BroadcastShape(ctx.shape(0), shape));
  if (both != shape) return Unimplemented("a shape that does not fit");
  ctx.Set(0, ctx.hlo().BroadcastTo(ctx.input(0), shape));
  return OkStatus();
}

// [a, b] times [m, n]: spread to [m, a, n, b], then taken together.
Status Tile(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> times, ctx.ConstantInts(1));
  const Shape& shape = ctx.shape(0);
  if (static_cast<int>(times.size()) != shape.rank()) return Unimplemented("another rank");
  std::vector<int64_t> spread, result, from;
  for (int i = 0; i < shape.rank(); ++i) {
    if (times[i] < 0) return Unimplemented("a negative multiple");
    spread.push_back(times[i]);
    from.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(shape.dim(i));
    result.push_back(times[i] * shape.dim(i));
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape wide, Shape::Make(spread));
  TFLEET_ASSIGN_OR_RETURN(const Shape flat, Shape::Make(result));
  ctx.Set(0, ctx.hlo().Reshape(ctx.hlo().Broadcast(ctx.input(0), wide, from), flat));
  return OkStatus();
}

Status ConcatParts(LoweringContext& ctx, int first, int axis_input) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.ConstantInts(axis_input));
  const Shape& like = ctx.shape(first);
  if (given.size() != 1) return Unimplemented("an axis that is no scalar");
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given[0], like.rank()));
  std::vector<Hlo> parts;
  for (int i = first; i < first + ctx.num_inputs() - 1; ++i) {
    const Shape& shape = ctx.shape(i);
    if (shape.rank() != like.rank()) return Unimplemented("parts of different ranks");
    for (int k = 0; k < shape.rank(); ++k) {
      if (k != axis && shape.dim(k) != like.dim(k)) return Unimplemented("parts that do not fit");
    }
    parts.push_back(ctx.input(i));
  }
  ctx.Set(0, ctx.hlo().Concat(parts, axis));
  return OkStatus();
}

Status ConcatV2(LoweringContext& ctx) { return ConcatParts(ctx, 0, ctx.num_inputs() - 1); }
Status Concat(LoweringContext& ctx) { return ConcatParts(ctx, 1, 0); }

Status Pack(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t given, ctx.Attr<int64_t>("axis"));
  const Shape& like = ctx.shape(0);
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given, like.rank() + 1));
  std::vector<int64_t> dims(like.dims().begin(), like.dims().end());
  dims.insert(dims.begin() + axis, 1);
  TFLEET_ASSIGN_OR_RETURN(const Shape one, Shape::Make(dims));
  std::vector<Hlo> parts;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.shape(i) != like) return Unimplemented("parts of different shapes");
    parts.push_back(ctx.hlo().Reshape(ctx.input(i), one));
  }
  ctx.Set(0, ctx.hlo().Concat(parts, axis));
  return OkStatus();
}

Status OneHot(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> depth, ctx.ConstantInts(1));
  TFLEET_ASSIGN_OR_RETURN(const int64_t given, ctx.Attr<int64_t>("axis"));
  if (depth.size() != 1 || depth[0] < 0) return Unimplemented("a depth that is none");
  const Shape& shape = ctx.shape(0);
  TFLEET_ASSIGN_OR_RETURN(const int axis, CheckedAxis(given, shape.rank() + 1));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end()), from;
  dims.insert(dims.begin() + axis, depth[0]);
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i != axis) from.push_back(i);
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape result, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const Hlo on, ctx.ScalarInput(2));
  TFLEET_ASSIGN_OR_RETURN(const Hlo off, ctx.ScalarInput(3));
  HloBuilder& b = ctx.hlo();
  const Hlo indices = b.Broadcast(ctx.input(0), result, from);
  const Hlo is_on = b.Compare("EQ", indices, b.Iota(indices.dtype, result, axis));
  ctx.Set(0, b.Select(is_on, b.BroadcastTo(on, result), b.BroadcastTo(off, result)));
  return OkStatus();
}

}  // namespace

void AddArrayLowerings(LoweringRegistry& r) {
  const std::vector<DType>& any = AllTypes();
  r.Add("Const", Const, {{"dtype", any}}).is_light = true;
  r.Add("NoOp", NoOp).is_light = true;
  for (const char* op : {"Identity", "StopGradient", "PreventGradient", "Snapshot"}) {
    r.Add(op, Identity, {{"T", any}}).is_light = true;
  }
  for (const char* op :
       {"BroadcastGradientArgs", "BroadcastArgs", "ConcatOffset", "InvertPermutation", "Range"}) {
    r.Add(op, KnownOnly).is_light = true;
  }
  const std::pair<const char*, Lowering> kLight[] = {
      {"Shape", ShapeOf},       {"ShapeN", ShapeOf},        {"Size", SizeOf},     {"Rank", RankOf},
      {"Reshape", Reshape},     {"ExpandDims", ExpandDims}, {"Squeeze", Squeeze}, {"Fill", Fill},
      {"ZerosLike", ZerosLike}, {"OnesLike", OnesLike},     {"Pack", Pack}};
  for (const auto& [op, lower] : kLight) {
    r.Add(op, lower, {{"T", any}}).is_light = true;
  }
  const std::pair<const char*, Lowering> kOps[] = {
      {"Transpose", Transpose}, {"BroadcastTo", BroadcastTo}, {"Tile", Tile},
      {"ConcatV2", ConcatV2},   {"Concat", Concat},           {"OneHot", OneHot}};
  for (const auto& [op, lower] : kOps) r.Add(op, lower, {{"T", any}});
}

}  // namespace tensorfleet::pjrt
