// Element-wise ops of two arguments that broadcast.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr char kAdd[] =
    "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, "
    "string}";
constexpr char kAddV2[] =
    "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, "
    "complex64, complex128}";
constexpr char kNumbers[] =
    "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
    "complex64, complex128}";
constexpr char kFloats[] = "T: {bfloat16, half, float, double}";
constexpr char kFloatsAndComplex[] = "T: {half, bfloat16, float, double, complex64, complex128}";
constexpr char kInts[] = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}";
constexpr char kReals[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

struct BinaryOp {
  const char* name;
  const char* type;
  bool is_commutative;
  const char* doc;
};

constexpr BinaryOp kArithmetic[] = {
    {"Add", kAdd, false, "x + y; strings are joined."},
    {"Sub", kNumbers, false, "x - y."},
    {"Mul", kNumbers, true, "x * y."},
    {"MulNoNan", kFloatsAndComplex, false,
     "x * y, and 0 wherever y is 0, even where x is infinite or NaN."},
    {"RealDiv", kNumbers, false, "x / y for floating and complex numbers."},
    {"Div", kNumbers, false, "x / y; integers truncate towards zero."},
    {"DivNoNan", kFloatsAndComplex, false, "x / y, and 0 wherever y is 0."},
    {"FloorDiv", kNumbers, false, "x / y, rounded down."},
    {"TruncateDiv", kNumbers, false, "x / y, rounded towards zero."},
    {"FloorMod",
     "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}",
     false, "The remainder of FloorDiv: it has the sign of y."},
    {"Mod", "T: {int32, int64, half, bfloat16, float, double}", false,
     "The remainder of a division that truncates: it has the sign of x."},
    {"TruncateMod", "T: {int32, int64, bfloat16, half, float, double}", false,
     "The remainder of TruncateDiv: it has the sign of x."},
    {"Maximum", kReals, false, "The larger of x and y."},
    {"Minimum", kReals, false, "The smaller of x and y."},
    {"Pow", "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}",
     false, "x to the power y; integers to negative powers are an error."},
    {"SquaredDifference", "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
     true, "(x - y) * (x - y), with the first factor conjugated for complex numbers."},
    {"Xdivy", kFloatsAndComplex, false, "x / y, and 0 wherever x is 0."},
    {"Xlogy", kFloatsAndComplex, false, "x * log(y), and 0 wherever x is 0."},
    {"Xlog1py", kFloatsAndComplex, false, "x * log(1 + y), and 0 wherever x is 0."},
    {"BitwiseAnd", kInts, true, "The bits that are set in both."},
    {"BitwiseOr", kInts, true, "The bits that are set in either."},
    {"BitwiseXor", kInts, true, "The bits that are set in exactly one."},
    {"LeftShift", kInts, false,
     "x shifted left by y bits; y is kept between 0 and the type's width - 1."},
    {"RightShift", kInts, false,
     "x shifted right by y bits, keeping its sign; y is kept in range."},
};

constexpr BinaryOp kComparisons[] = {
    {"Less", kReals, false, "Whether x < y."},
    {"LessEqual", kReals, false, "Whether x <= y."},
    {"Greater", kReals, false, "Whether x > y."},
    {"GreaterEqual", kReals, false, "Whether x >= y."},
};

// With incompatible_shape_error = false, shapes that do not broadcast give a scalar.
Status EqualityShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const bool is_error, ctx.Attr<bool>("incompatible_shape_error"));
  if (is_error) return shapes::Broadcast(ctx);
  if (!ctx.input(0).is_fully_defined() || !ctx.input(1).is_fully_defined()) return OkStatus();
  StatusOr<PartialShape> out = shapes::BroadcastPartial(ctx.input(0), ctx.input(1));
  ctx.set_output(0, out.ok() ? *std::move(out) : PartialShape(Shape()));
  return OkStatus();
}

}  // namespace

void RegisterBinaryOps(OpRegistry& ops) {
  const auto add = [&](const BinaryOp& op, const char* output) {
    OpSchemaBuilder schema(op.name);
    schema.Input("x: T")
        .Input("y: T")
        .Output(output)
        .Attr(op.type)
        .Shape(shapes::Broadcast)
        .Doc(op.doc);
    if (op.is_commutative) schema.Commutative();
    ops.Add(std::move(schema));
  };
  for (const BinaryOp& op : kArithmetic) add(op, "z: T");
  for (const BinaryOp& op : kComparisons) add(op, "z: bool");
  ops.Add(OpSchemaBuilder("AddV2")
              .Input("x: T")
              .Input("y: T")
              .Output("z: T")
              .Attr(kAddV2)
              .Commutative()
              .Aggregate()
              .Shape(shapes::Broadcast)
              .Doc("x + y."));
  ops.Add(OpSchemaBuilder("Atan2")
              .Input("y: T")
              .Input("x: T")
              .Output("z: T")
              .Attr(kFloats)
              .Shape(shapes::Broadcast)
              .Doc("The angle of the point (x, y), in radians."));
  ops.Add(OpSchemaBuilder("Polygamma")
              .Input("a: T")
              .Input("x: T")
              .Output("z: T")
              .Attr("T: {float, double}")
              .Shape(shapes::Broadcast)
              .Doc("The derivative of order a + 1 of the logarithm of gamma(x)."));
  ops.Add(OpSchemaBuilder("Zeta")
              .Input("x: T")
              .Input("q: T")
              .Output("z: T")
              .Attr("T: {float, double}")
              .Shape(shapes::Broadcast)
              .Doc("Hurwitz's zeta function: the sum of (q + n) to the power -x over all n >= 0."));
  ops.Add(OpSchemaBuilder("Equal")
              .Input("x: T")
              .Input("y: T")
              .Output("z: bool")
              .Attr("T: type")
              .Attr("incompatible_shape_error: bool = true")
              .Commutative()
              .Shape(EqualityShape)
              .Doc("Whether x = y; with incompatible_shape_error = false, shapes that do not "
                   "broadcast are unequal."));
  ops.Add(OpSchemaBuilder("NotEqual")
              .Input("x: T")
              .Input("y: T")
              .Output("z: bool")
              .Attr("T: type")
              .Attr("incompatible_shape_error: bool = true")
              .Commutative()
              .Shape(EqualityShape)
              .Doc("Whether x differs from y; the opposite of Equal."));
  ops.Add(OpSchemaBuilder("ApproximateEqual")
              .Input("x: T")
              .Input("y: T")
              .Output("z: bool")
              .Attr("T: numbertype")
              .Attr("tolerance: float = 0.00001")
              .Commutative()
              .Shape(shapes::MergeInputs)
              .Doc("Whether |x - y| < tolerance."));
  ops.Add(OpSchemaBuilder("LogicalAnd")
              .Input("x: bool")
              .Input("y: bool")
              .Output("z: bool")
              .Commutative()
              .Shape(shapes::Broadcast)
              .Doc("Whether both are true."));
  ops.Add(OpSchemaBuilder("LogicalOr")
              .Input("x: bool")
              .Input("y: bool")
              .Output("z: bool")
              .Commutative()
              .Shape(shapes::Broadcast)
              .Doc("Whether either is true."));
}

}  // namespace tensorfleet
