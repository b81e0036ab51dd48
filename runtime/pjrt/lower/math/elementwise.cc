// Element-wise math.
#include "runtime/pjrt/lower/broadcast.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

template <const char* const* kOpcode>
Status UnaryOp(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Unary(*kOpcode, ctx.input(0)));
  return OkStatus();
}

#define TFLEET_UNARY(Name, opcode)              \
  constexpr const char* k##Name##Text = opcode; \
  constexpr Lowering Name = UnaryOp<&k##Name##Text>

TFLEET_UNARY(Abs, "abs");
TFLEET_UNARY(Ceil, "ceil");
TFLEET_UNARY(Cos, "cosine");
TFLEET_UNARY(Exp, "exponential");
TFLEET_UNARY(Expm1, "exponential-minus-one");
TFLEET_UNARY(Floor, "floor");
TFLEET_UNARY(IsFinite, "is-finite");
TFLEET_UNARY(Log, "log");
TFLEET_UNARY(Log1p, "log-plus-one");
TFLEET_UNARY(LogicalNot, "not");
TFLEET_UNARY(Neg, "negate");
TFLEET_UNARY(Round, "round-nearest-even");
TFLEET_UNARY(Rsqrt, "rsqrt");
TFLEET_UNARY(Sigmoid, "logistic");
TFLEET_UNARY(Sign, "sign");
TFLEET_UNARY(Sin, "sine");
TFLEET_UNARY(Sqrt, "sqrt");
TFLEET_UNARY(Tanh, "tanh");

template <const char* const* kOpcode>
Status BinaryOp(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  ctx.Set(0, ctx.hlo().BinaryBroadcast(*kOpcode, ctx.input(0), ctx.input(1), shape));
  return OkStatus();
}

#define TFLEET_BINARY(Name, opcode)             \
  constexpr const char* k##Name##Text = opcode; \
  constexpr Lowering Name = BinaryOp<&k##Name##Text>

TFLEET_BINARY(Add, "add");
TFLEET_BINARY(Atan2, "atan2");
TFLEET_BINARY(BitwiseXor, "xor");
TFLEET_BINARY(LogicalAnd, "and");
TFLEET_BINARY(LogicalOr, "or");
TFLEET_BINARY(Maximum, "maximum");
TFLEET_BINARY(Minimum, "minimum");
TFLEET_BINARY(Mul, "multiply");
TFLEET_BINARY(Sub, "subtract");

template <const char* const* kDirection>
Status CompareOp(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Compare(*kDirection, b.BroadcastTo(ctx.input(0), shape),
                       b.BroadcastTo(ctx.input(1), shape)));
  return OkStatus();
}

#define TFLEET_COMPARE(Name, direction)            \
  constexpr const char* k##Name##Text = direction; \
  constexpr Lowering Name = CompareOp<&k##Name##Text>

TFLEET_COMPARE(Equal, "EQ");
TFLEET_COMPARE(Greater, "GT");
TFLEET_COMPARE(GreaterEqual, "GE");
TFLEET_COMPARE(Less, "LT");
TFLEET_COMPARE(LessEqual, "LE");
TFLEET_COMPARE(NotEqual, "NE");

// Equal shapes only where the attribute says that others compare as unequal as a whole.
template <Lowering kLower>
Status CheckedCompare(LoweringContext& ctx) {
  if (!ctx.BoolAttr("incompatible_shape_error") &&
      !BroadcastShape(ctx.shape(0), ctx.shape(1)).ok()) {
    return Unimplemented("comparing shapes that do not fit");
  }
  return kLower(ctx);
}

// A whole number to a negative power is refused.
Status Pow(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Hlo exponent = ctx.input(1);
  if (IsInteger(exponent.dtype) && shape.num_elements() > 0) {
    ctx.faults().Add(b.Compare("LT", exponent, b.Full(exponent.dtype, exponent.shape, 0)));
  }
  ctx.Set(0, b.BinaryBroadcast("power", ctx.input(0), exponent, shape));
  return OkStatus();
}

Status Inv(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  ctx.Set(0, ctx.hlo().Div(ctx.hlo().Full(x.dtype, x.shape, 1), x));
  return OkStatus();
}

// x times what `factor` makes of y; 0 where x is 0, whatever y is.
using Factor = Hlo (*)(HloBuilder& b, const Hlo& y);
Status Xtimes(LoweringContext& ctx, Factor factor) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.BroadcastTo(ctx.input(0), shape), y = b.BroadcastTo(ctx.input(1), shape);
  const Hlo zero = b.Full(x.dtype, shape, 0);
  const Hlo value = factor == nullptr ? b.Div(x, y) : b.Mul(x, factor(b, y));
  ctx.Set(0, b.Select(b.Compare("EQ", x, zero), zero, value));
  return OkStatus();
}
Status Xdivy(LoweringContext& ctx) { return Xtimes(ctx, nullptr); }
Status Xlogy(LoweringContext& ctx) {
  return Xtimes(ctx, [](HloBuilder& b, const Hlo& y) { return b.Unary("log", y); });
}
Status Xlog1py(LoweringContext& ctx) {
  return Xtimes(ctx, [](HloBuilder& b, const Hlo& y) { return b.Unary("log-plus-one", y); });
}

// 0 where the second argument is 0, whatever the first one is.
Status MulNoNan(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.BroadcastTo(ctx.input(0), shape), y = b.BroadcastTo(ctx.input(1), shape);
  const Hlo zero = b.Full(x.dtype, shape, 0);
  ctx.Set(0, b.Select(b.Compare("EQ", y, zero), zero, b.Mul(x, y)));
  return OkStatus();
}

// What is not finite is refused.
Status CheckNumerics(LoweringContext& ctx) {
  ctx.faults().Add(ctx.hlo().Unary("not", ctx.hlo().Unary("is-finite", ctx.input(0))));
  ctx.Forward(0, 0);
  return OkStatus();
}

Status IsInf(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  const Hlo infinite = b.Full(x.dtype, x.shape, std::numeric_limits<double>::infinity());
  ctx.Set(0, b.Compare("EQ", b.Unary("abs", x), infinite));
  return OkStatus();
}

Status Tan(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  ctx.Set(0, b.Convert(b.Div(b.Unary("sine", x), b.Unary("cosine", x)), dtype));
  return OkStatus();
}

Status Square(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Mul(ctx.input(0), ctx.input(0)));
  return OkStatus();
}

Status SquaredDifference(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  const Hlo difference = ctx.hlo().BinaryBroadcast("subtract", ctx.input(0), ctx.input(1), shape);
  ctx.Set(0, ctx.hlo().Mul(difference, difference));
  return OkStatus();
}

// 0 where the divisor is 0.
Status DivNoNan(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(ctx.shape(0), ctx.shape(1)));
  HloBuilder& b = ctx.hlo();
  const Hlo x = b.BroadcastTo(ctx.input(0), shape), y = b.BroadcastTo(ctx.input(1), shape);
  const Hlo zero = b.Full(x.dtype, shape, 0);
  ctx.Set(0, b.Select(b.Compare("EQ", y, zero), zero, b.Div(x, y)));
  return OkStatus();
}

Hlo Zero(LoweringContext& ctx, const Hlo& x) { return ctx.hlo().Full(x.dtype, x.shape, 0); }

Status Relu(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  // Written so that NaN stays NaN, as our kernel has it.
  ctx.Set(0, ctx.hlo().Binary("maximum", x, Zero(ctx, x)));
  return OkStatus();
}

Status Relu6(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0,
          b.Binary("minimum", b.Binary("maximum", x, Zero(ctx, x)), b.Full(x.dtype, x.shape, 6)));
  return OkStatus();
}

Status LeakyRelu(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const float alpha, ctx.Attr<float>("alpha"));
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Select(b.Compare("GT", x, Zero(ctx, x)), x, b.Mul(x, alpha)));
  return OkStatus();
}

Status Elu(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Select(b.Compare("LT", x, Zero(ctx, x)), b.Unary("exponential-minus-one", x), x));
  return OkStatus();
}

Status Selu(LoweringContext& ctx) {
  HloBuilder& b = ctx.hlo();
  const DType dtype = ctx.dtype(0);
  const Hlo x = b.Convert(ctx.input(0), AccumulatorType(dtype));
  const Hlo below = b.Mul(b.Unary("exponential-minus-one", x), 1.7580993408473768599);
  const Hlo above = b.Mul(x, 1.0507009873554804934);
  ctx.Set(0, b.Convert(b.Select(b.Compare("LT", x, Zero(ctx, x)), below, above), dtype));
  return OkStatus();
}

Status Softsign(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Div(x, b.Add(b.Unary("abs", x), 1)));
  return OkStatus();
}

// max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses small values.
Status Softplus(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  const Hlo tail =
      b.Unary("log-plus-one", b.Unary("exponential", b.Unary("negate", b.Unary("abs", x))));
  ctx.Set(0, b.Add(b.Binary("maximum", x, Zero(ctx, x)), tail));
  return OkStatus();
}

Status IsNan(LoweringContext& ctx) {
  ctx.Set(0, ctx.hlo().Compare("NE", ctx.input(0), ctx.input(0)));
  return OkStatus();
}

Status AddN(LoweringContext& ctx) {
  Hlo sum = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.shape(i) != sum.shape) return Unimplemented("shapes that differ");
    sum = ctx.hlo().Add(sum, ctx.input(i));
  }
  ctx.Set(0, sum);
  return OkStatus();
}

Status ClipByValue(LoweringContext& ctx) {
  const Hlo x = ctx.input(0);
  HloBuilder& b = ctx.hlo();
  for (int i = 1; i < 3; ++i) {
    const StatusOr<Shape> shape = BroadcastShape(x.shape, ctx.shape(i));
    if (!shape.ok() || *shape != x.shape) return Unimplemented("limits of a larger shape");
  }
  const Hlo low = b.Binary("minimum", x, b.BroadcastTo(ctx.input(2), x.shape));
  ctx.Set(0, b.Binary("maximum", low, b.BroadcastTo(ctx.input(1), x.shape)));
  return OkStatus();
}

// Where the condition is a scalar or a vector over rows, or all shapes are equal.
Status Select(LoweringContext& ctx) {
  const Shape& shape = ctx.shape(1);
  HloBuilder& b = ctx.hlo();
  if (ctx.shape(2) != shape) return Unimplemented("branches of different shapes");
  Hlo condition = ctx.input(0);
  if (condition.shape.rank() == 0) {
    condition = b.BroadcastTo(condition, shape);
  } else if (condition.shape != shape) {
    if (condition.shape.rank() != 1 || shape.rank() < 1 || condition.shape.dim(0) != shape.dim(0)) {
      return Unimplemented("a condition of another shape");
    }
    condition = b.Broadcast(condition, shape, {0});
  }
  ctx.Set(0, b.Select(condition, ctx.input(1), ctx.input(2)));
  return OkStatus();
}

Status SelectV2(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(Shape shape, BroadcastShape(ctx.shape(1), ctx.shape(2)));
  TFLEET_ASSIGN_OR_RETURN(shape, BroadcastShape(ctx.shape(0), shape));
  HloBuilder& b = ctx.hlo();
  ctx.Set(0, b.Select(b.BroadcastTo(ctx.input(0), shape), b.BroadcastTo(ctx.input(1), shape),
                      b.BroadcastTo(ctx.input(2), shape)));
  return OkStatus();
}

// What the type cannot hold becomes its lowest number, as the kernels' processors have it (NaN
// too); what becomes of it in a narrower type differs between processors.
StatusOr<Hlo> Truncated(HloBuilder& b, const Hlo& from, DType to) {
  if (to != DType::kInt32 && to != DType::kInt64) {
    return Unimplemented("floats to ", DTypeName(to));
  }
  const Hlo x = b.Convert(from, AccumulatorType(from.dtype));
  const double bound = to == DType::kInt32 ? 0x1p31 : 0x1p63;
  const Hlo fits = b.Binary("and", b.Compare("GT", x, b.Full(x.dtype, x.shape, -bound - 1)),
                            b.Compare("LT", x, b.Full(x.dtype, x.shape, bound)));
  return b.Select(fits, b.Convert(x, to), b.BroadcastTo(b.Lowest(to), x.shape));
}

// Between floats and integers, and from and to bool.
Status Cast(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const DType to, ctx.Attr<DType>("DstT"));
  const DType from = ctx.dtype(0);
  if (ctx.BoolAttr("Truncate")) return Unimplemented("truncation");
  HloBuilder& b = ctx.hlo();
  const Hlo x = ctx.input(0);
  if (to == DType::kBool) {
    ctx.Set(0, b.Compare("NE", x, b.Full(from, x.shape, 0)));
    return OkStatus();
  }
  if (IsFloating(from) && IsInteger(to)) {
    TFLEET_ASSIGN_OR_RETURN(const Hlo truncated, Truncated(b, x, to));
    ctx.Set(0, truncated);
    return OkStatus();
  }
  if (IsComplex(from) && IsInteger(to)) return Unimplemented("complex numbers to integers");
  // The imaginary part is dropped, or zero.
  if (IsComplex(from) && !IsComplex(to)) {
    ctx.Set(0, b.Convert(b.Real(x), to));
  } else if (IsComplex(to) && !IsComplex(from)) {
    const DType part = to == DType::kComplex128 ? DType::kDouble : DType::kFloat;
    ctx.Set(0, b.Complex(b.Convert(x, part), b.Full(part, x.shape, 0)));
  } else {
    ctx.Set(0, b.Convert(x, to));
  }
  return OkStatus();
}

}  // namespace

void AddMathLowerings(LoweringRegistry& r) {
  const std::vector<DType> signed_numbers = {DType::kFloat,  DType::kHalf,  DType::kBFloat16,
                                             DType::kDouble, DType::kInt32, DType::kInt64,
                                             DType::kInt8,   DType::kInt16};
  const auto add = [&r](std::initializer_list<std::pair<const char*, Lowering>> ops,
                        const std::vector<DType>& types) {
    for (const auto& [op, lower] : ops) r.Add(op, lower, {{"T", types}});
  };
  add({{"Ceil", Ceil},           {"Floor", Floor}, {"IsFinite", IsFinite}, {"Rint", Round},
       {"Round", Round},         {"Atan2", Atan2}, {"Relu", Relu},         {"Relu6", Relu6},
       {"LeakyRelu", LeakyRelu}, {"Elu", Elu},     {"Softsign", Softsign}, {"Softplus", Softplus},
       {"IsNan", IsNan},         {"IsInf", IsInf}, {"MulNoNan", MulNoNan}, {"DivNoNan", DivNoNan},
       {"Expm1", Expm1},         {"Log1p", Log1p}, {"Sigmoid", Sigmoid},   {"Xlogy", Xlogy},
       {"Xdivy", Xdivy},         {"Tan", Tan},     {"Xlog1py", Xlog1py},   {"Selu", Selu}},
      FloatTypes());
  add({{"Cos", Cos},
       {"Exp", Exp},
       {"Log", Log},
       {"Rsqrt", Rsqrt},
       {"Sin", Sin},
       {"Sqrt", Sqrt},
       {"Tanh", Tanh},
       {"Inv", Inv},
       {"Reciprocal", Inv}},
      FloatAndComplexTypes());
  add({{"Abs", Abs},
       {"Sign", Sign},
       {"Pow", Pow},
       {"SquaredDifference", SquaredDifference},
       {"ClipByValue", ClipByValue}},
      signed_numbers);
  std::vector<DType> with_complex = signed_numbers;
  with_complex.insert(with_complex.end(), {DType::kComplex64, DType::kComplex128});
  add({{"Neg", Neg}, {"Square", Square}}, with_complex);
  add({{"Maximum", Maximum},
       {"Minimum", Minimum},
       {"Greater", Greater},
       {"GreaterEqual", GreaterEqual},
       {"Less", Less},
       {"LessEqual", LessEqual}},
      RealTypes());
  add({{"Add", Add},
       {"AddV2", Add},
       {"Sub", Sub},
       {"Mul", Mul},
       {"AddN", AddN},
       {"AccumulateNV2", AddN}},
      NumberTypes());
  add({{"BitwiseAnd", LogicalAnd},
       {"BitwiseOr", LogicalOr},
       {"BitwiseXor", BitwiseXor},
       {"Invert", LogicalNot}},
      IntegerTypes());
  add({{"Equal", CheckedCompare<Equal>},
       {"NotEqual", CheckedCompare<NotEqual>},
       {"Select", Select},
       {"SelectV2", SelectV2}},
      AllTypes());
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    r.Add(op, CheckNumerics, {{"T", FloatTypes()}}).is_light = true;
  }
  r.Add("LogicalAnd", LogicalAnd);
  r.Add("LogicalOr", LogicalOr);
  r.Add("LogicalNot", LogicalNot);
  r.Add("Cast", Cast, {{"SrcT", AllTypes()}, {"DstT", AllTypes()}}).is_light = true;
}

}  // namespace tensorfleet::pjrt
