// Changing slices that indices name: of variables, of tensors, of zeros.
#include "absl/strings/match.h"
#include "runtime/pjrt/lower/indices.h"

namespace tensorfleet::pjrt {
namespace {

// By the end of the op's name. For whole numbers a divisor of zero is refused.
const char* CombinerOf(absl::string_view op) {
  const std::pair<const char*, const char*> kOpcodes[] = {
      {"Update", "second"}, {"Add", "add"},     {"Sub", "subtract"}, {"Mul", "multiply"},
      {"Div", "divide"},    {"Min", "minimum"}, {"Max", "maximum"}};
  for (const auto& [end, opcode] : kOpcodes) {
    if (absl::EndsWith(op, end)) return opcode;
  }
  return "add";  // ScatterNd
}

void RefuseZeroDivisors(LoweringContext& ctx, const char* opcode, const Hlo& updates) {
  if (absl::string_view(opcode) != "divide" || !IsInteger(updates.dtype)) return;
  HloBuilder& b = ctx.hlo();
  ctx.faults().Add(b.Compare("EQ", updates, b.Full(updates.dtype, updates.shape, 0)));
}

// Half and bfloat16 are added up in their own type, as the kernels do.
StatusOr<Hlo> Changed(LoweringContext& ctx, const Hlo& x, const Hlo& indices, Hlo updates) {
  HloBuilder& b = ctx.hlo();
  const Shape outer = indices.shape.SubShape(0, indices.shape.rank() - 1);
  const int depth = static_cast<int>(indices.shape.dim(-1));
  TFLEET_ASSIGN_OR_RETURN(const Shape wanted,
                          outer.Concatenated(x.shape.SubShape(depth, x.shape.rank())));
  if (updates.dtype != x.dtype) return Unimplemented("updates of another type");
  if (updates.shape != wanted) return Unimplemented("updates that do not fit");
  const char* opcode = CombinerOf(ctx.node().op());
  if (x.dtype == DType::kBool) opcode = absl::string_view(opcode) == "second" ? opcode : "or";
  RefuseZeroDivisors(ctx, opcode, updates);
  return b.Scatter(opcode, x, indices, updates);
}

Status ScatterVariable(LoweringContext& ctx, bool are_rows) {
  TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx.Read(0));
  const int rank = value.shape.rank();
  if (rank < 1) return Unimplemented("a scalar");
  int64_t depth = 1;
  if (!are_rows) {
    if (ctx.shape(1).rank() < 1) return Unimplemented("indices that are a scalar");
    depth = ctx.shape(1).dim(-1);
    if (depth < 1 || depth > rank) return Unimplemented("indices that do not fit");
  }
  if (value.dtype == DType::kBool && absl::EndsWith(ctx.node().op(), "Sub")) {
    return Unimplemented("truth values");
  }
  TFLEET_ASSIGN_OR_RETURN(Hlo indices,
                          CheckedIndices(ctx, 1, value.shape.dims().subspan(0, depth), are_rows));
  Hlo updates = ctx.input(2);
  if (are_rows && updates.shape.is_scalar()) {
    TFLEET_ASSIGN_OR_RETURN(const Shape wanted,
                            ctx.shape(1).Concatenated(value.shape.SubShape(1, rank)));
    updates = ctx.hlo().BroadcastTo(updates, wanted);
  }
  TFLEET_ASSIGN_OR_RETURN(const Hlo next,
                          Changed(ctx, value, GuardedIndices(ctx, indices), updates));
  ctx.WriteGuarded(0, next);
  return OkStatus();
}

Status ScatterRows(LoweringContext& ctx) { return ScatterVariable(ctx, /*are_rows=*/true); }
Status ScatterTuples(LoweringContext& ctx) { return ScatterVariable(ctx, /*are_rows=*/false); }

Status ChangeTensor(LoweringContext& ctx, const Hlo& x, int indices, int updates) {
  if (x.shape.rank() < 1 || ctx.shape(indices).rank() < 1) return Unimplemented("a scalar");
  const int64_t depth = ctx.shape(indices).dim(-1);
  if (depth < 1 || depth > x.shape.rank()) return Unimplemented("indices that do not fit");
  // The kernel has an error of its own for this.
  if (x.shape.num_elements() == 0 && ctx.shape(indices).num_elements() > 0) {
    return Unimplemented("updates of nothing");
  }
  TFLEET_ASSIGN_OR_RETURN(
      const Hlo tuples,
      CheckedIndices(ctx, indices, x.shape.dims().subspan(0, depth), /*are_rows=*/false));
  TFLEET_ASSIGN_OR_RETURN(const Hlo result, Changed(ctx, x, tuples, ctx.input(updates)));
  ctx.Set(0, result);
  return OkStatus();
}

Status TensorScatter(LoweringContext& ctx) { return ChangeTensor(ctx, ctx.input(0), 1, 2); }

Status ScatterNd(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.ConstantInts(2));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ChangeTensor(ctx, ctx.hlo().Full(ctx.dtype(1), shape, 0), 0, 1);
}

}  // namespace

void AddScatterLowerings(LoweringRegistry& r) {
  const std::vector<DType>& index = IndexTypes();
  for (const char* what : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Update"}) {
    const absl::string_view op = what;
    const bool compares = op == "Min" || op == "Max";
    const std::vector<DType>& types = op == "Update" ? AllTypes()
                                      : compares     ? RealTypes()
                                                     : NumberTypes();
    r.Add(absl::StrCat("Scatter", op), ScatterRows, {{"T", types}, {"Tindices", index}});
    r.Add(absl::StrCat("ResourceScatter", op), ScatterRows,
          {{"dtype", types}, {"Tindices", index}});
    if (op == "Mul" || op == "Div") continue;
    for (const char* form : {"ScatterNd", "ResourceScatterNd"}) {
      r.Add(absl::StrCat(form, op), ScatterTuples, {{"T", types}, {"Tindices", index}});
    }
    r.Add(absl::StrCat("TensorScatter", op), TensorScatter, {{"T", types}, {"Tindices", index}});
  }
  r.Add("ScatterNd", ScatterNd, {{"T", NumberTypes()}, {"Tindices", index}});
}

}  // namespace tensorfleet::pjrt
