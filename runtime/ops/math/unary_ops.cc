// Element-wise ops of one argument.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The type sets, in the order in which TensorFlow lists them.
constexpr char kFloats[] = "T: {bfloat16, half, float, double}";
constexpr char kFloatsAndComplex[] = "T: {bfloat16, half, float, double, complex64, complex128}";
constexpr char kSigned[] = "T: {bfloat16, half, float, double, int8, int16, int32, int64}";
constexpr char kSignedAndComplex[] =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";
constexpr char kSquarable[] =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "complex64, complex128}";
constexpr char kReal[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";

struct UnaryOp {
  const char* name;
  const char* type;
  const char* doc;
};

constexpr UnaryOp kMath[] = {
    {"Abs", kSigned, "The absolute value of each element."},
    {"Neg", kSignedAndComplex, "The negative of each element."},
    {"Reciprocal", kSignedAndComplex, "1 / x for each element."},
    {"Inv", kSignedAndComplex, "1 / x for each element; the old name of Reciprocal."},
    {"Sign", kSignedAndComplex,
     "-1, 0 or 1 by the sign of each element; x / |x| for complex numbers."},
    {"Square", kSquarable, "x * x for each element."},
    {"Sqrt", kFloatsAndComplex, "The square root of each element."},
    {"Rsqrt", kFloatsAndComplex, "1 / sqrt(x) for each element."},
    {"Exp", kFloatsAndComplex, "e to the power of each element."},
    {"Expm1", kFloatsAndComplex, "exp(x) - 1 for each element, exact near 0."},
    {"Log", kFloatsAndComplex, "The natural logarithm of each element."},
    {"Log1p", kFloatsAndComplex, "log(1 + x) for each element, exact near 0."},
    {"Sin", kFloatsAndComplex, "The sine of each element, in radians."},
    {"Cos", kFloatsAndComplex, "The cosine of each element, in radians."},
    {"Tan", kFloatsAndComplex, "The tangent of each element, in radians."},
    {"Asin", kFloatsAndComplex, "The inverse sine of each element."},
    {"Acos", kFloatsAndComplex, "The inverse cosine of each element."},
    {"Atan", kFloatsAndComplex, "The inverse tangent of each element."},
    {"Sinh", kFloatsAndComplex, "The hyperbolic sine of each element."},
    {"Cosh", kFloatsAndComplex, "The hyperbolic cosine of each element."},
    {"Asinh", kFloatsAndComplex, "The inverse hyperbolic sine of each element."},
    {"Acosh", kFloatsAndComplex, "The inverse hyperbolic cosine of each element."},
    {"Atanh", kFloatsAndComplex, "The inverse hyperbolic tangent of each element."},
    {"Tanh", kFloatsAndComplex, "The hyperbolic tangent of each element."},
    {"Sigmoid", kFloatsAndComplex, "1 / (1 + exp(-x)) for each element."},
    {"Floor", kFloats, "The largest whole number not above each element."},
    {"Ceil", kFloats, "The smallest whole number not below each element."},
    {"Round", kSignedAndComplex, "The nearest whole number, halves to even, of each element."},
    {"Rint", kFloats, "The nearest whole number, halves to even, of each element."},
    {"Erf", kFloats, "The Gauss error function of each element."},
    {"Erfc", kFloats, "1 - erf(x) for each element."},
    {"Lgamma", kFloats, "The logarithm of |gamma(x)| for each element."},
    {"Digamma", kFloats, "The derivative of Lgamma for each element."},
};

// Activations, whose argument and result TensorFlow names "features" and "activations".
constexpr UnaryOp kActivations[] = {
    {"Softplus", kFloats, "log(exp(x) + 1) for each element."},
    {"Softsign", kFloats, "x / (|x| + 1) for each element."},
    {"Relu", kReal, "max(x, 0) for each element."},
    {"Relu6", kReal, "min(max(x, 0), 6) for each element."},
    {"Elu", kFloats, "x where it is positive, exp(x) - 1 elsewhere."},
    {"Selu", kFloats, "The scaled exponential linear unit of each element."},
};

constexpr UnaryOp kPredicates[] = {
    {"IsNan", kFloats, "Whether each element is not a number."},
    {"IsInf", kFloats, "Whether each element is infinite."},
    {"IsFinite", kFloats, "Whether each element is a finite number."},
};

// Gradients in terms of the result `y` and the incoming gradient `dy`.
constexpr UnaryOp kGradsOfResult[] = {
    {"TanhGrad", kFloatsAndComplex, "dy * (1 - y * y): the gradient of Tanh, whose result is y."},
    {"SigmoidGrad", kFloatsAndComplex,
     "dy * y * (1 - y): the gradient of Sigmoid, whose result is y."},
    {"SqrtGrad", kFloatsAndComplex, "dy * 0.5 / y: the gradient of Sqrt, whose result is y."},
    {"RsqrtGrad", kFloatsAndComplex, "dy * -0.5 * y^3: the gradient of Rsqrt, whose result is y."},
    {"ReciprocalGrad", kFloatsAndComplex,
     "-dy * y * y: the gradient of Reciprocal, whose result is y."},
    {"InvGrad", kFloatsAndComplex, "-dy * y * y: the gradient of Inv, whose result is y."},
};

// Gradients of activations: the incoming gradients, then the forward op's argument or result.
struct ActivationGrad {
  const char* name;
  const char* second;
  const char* type;
  const char* doc;
};
constexpr ActivationGrad kActivationGrads[] = {
    {"SoftplusGrad", "features: T", kFloats, "The gradient of Softplus."},
    {"SoftsignGrad", "features: T", kFloats, "The gradient of Softsign."},
    {"ReluGrad", "features: T", kReal, "The gradients where Relu let its argument pass, else 0."},
    {"Relu6Grad", "features: T", kReal, "The gradients where Relu6 let its argument pass, else 0."},
    {"EluGrad", "outputs: T", kFloats, "The gradient of Elu, whose results are the outputs."},
    {"SeluGrad", "outputs: T", kFloats, "The gradient of Selu, whose results are the outputs."},
};

}  // namespace

void RegisterUnaryOps(OpRegistry& ops) {
  for (const UnaryOp& op : kMath) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("x: T")
                .Output("y: T")
                .Attr(op.type)
                .Shape(shapes::Unchanged)
                .Doc(op.doc));
  }
  for (const UnaryOp& op : kActivations) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("features: T")
                .Output("activations: T")
                .Attr(op.type)
                .Shape(shapes::Unchanged)
                .Doc(op.doc));
  }
  for (const UnaryOp& op : kPredicates) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("x: T")
                .Output("y: bool")
                .Attr(op.type)
                .Shape(shapes::Unchanged)
                .Doc(op.doc));
  }
  for (const UnaryOp& op : kGradsOfResult) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("y: T")
                .Input("dy: T")
                .Output("z: T")
                .Attr(op.type)
                .Shape(shapes::MergeInputs)
                .Doc(op.doc));
  }
  for (const ActivationGrad& op : kActivationGrads) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input("gradients: T")
                .Input(op.second)
                .Output("backprops: T")
                .Attr(op.type)
                .Shape(shapes::MergeInputs)
                .Doc(op.doc));
  }
  ops.Add(OpSchemaBuilder("LeakyRelu")
              .Input("features: T")
              .Output("activations: T")
              .Attr("alpha: float = 0.2")
              .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
              .Shape(shapes::Unchanged)
              .Doc("x where it is positive, alpha * x elsewhere."));
  ops.Add(OpSchemaBuilder("LeakyReluGrad")
              .Input("gradients: T")
              .Input("features: T")
              .Output("backprops: T")
              .Attr("alpha: float = 0.2")
              .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
              .Shape(shapes::MergeInputs)
              .Doc("The gradients where the features are positive, alpha times them elsewhere."));
  ops.Add(OpSchemaBuilder("LogicalNot")
              .Input("x: bool")
              .Output("y: bool")
              .Shape(shapes::Unchanged)
              .Doc("The opposite of each element."));
  ops.Add(OpSchemaBuilder("Invert")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
              .Shape(shapes::Unchanged)
              .Doc("Each element with all its bits flipped."));
}

}  // namespace tensorfleet
