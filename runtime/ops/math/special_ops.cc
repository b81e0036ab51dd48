// Special functions. Kernels: runtime/kernels/cpu/math/special_unary.cc, special_binary.cc and
// scan.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Scalars go with anything.
Status OneShapeOrScalars(ShapeContext& ctx) {
  PartialShape out = PartialShape(Shape());
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const PartialShape& in = ctx.input(i);
    if (!in.has_rank()) return OkStatus();
    if (in.rank() == 0) continue;
    if (out.rank() == 0) {
      out = in;
    } else {
      TFLEET_ASSIGN_OR_RETURN(out, out.MergedWith(in));
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterSpecialOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("BesselI0")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The modified Bessel function of the first kind and order 0."));
  ops.Add(OpSchemaBuilder("BesselI0e")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("exp(-|x|) BesselI0(x)."));
  ops.Add(OpSchemaBuilder("BesselI1")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The modified Bessel function of the first kind and order 1."));
  ops.Add(OpSchemaBuilder("BesselI1e")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("exp(-|x|) BesselI1(x)."));
  ops.Add(OpSchemaBuilder("BesselJ0")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The Bessel function of the first kind and order 0."));
  ops.Add(OpSchemaBuilder("BesselJ1")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The Bessel function of the first kind and order 1."));
  ops.Add(OpSchemaBuilder("BesselK0")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The modified Bessel function of the second kind and order 0."));
  ops.Add(OpSchemaBuilder("BesselK0e")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("exp(x) BesselK0(x)."));
  ops.Add(OpSchemaBuilder("BesselK1")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The modified Bessel function of the second kind and order 1."));
  ops.Add(OpSchemaBuilder("BesselK1e")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("exp(x) BesselK1(x)."));
  ops.Add(OpSchemaBuilder("BesselY0")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The Bessel function of the second kind and order 0."));
  ops.Add(OpSchemaBuilder("BesselY1")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The Bessel function of the second kind and order 1."));
  ops.Add(OpSchemaBuilder("Betainc")
              .Input("a: T")
              .Input("b: T")
              .Input("x: T")
              .Output("z: T")
              .Attr("T: {float, double}")
              .Shape(OneShapeOrScalars)
              .Doc("The regularised incomplete beta function of a, b at x."));
  ops.Add(OpSchemaBuilder("CumulativeLogsumexp")
              .Input("x: T")
              .Input("axis: Tidx")
              .Output("out: T")
              .Attr("exclusive: bool = false")
              .Attr("reverse: bool = false")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("Tidx: {int32, int64} = DT_INT32")
              .Shape(shapes::Unchanged)
              .Doc("The running logarithm of the sum of exponentials along an axis."));
  ops.Add(OpSchemaBuilder("Dawsn")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("Dawson's integral of each element."));
  ops.Add(OpSchemaBuilder("Erfinv")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The inverse of the error function."));
  ops.Add(OpSchemaBuilder("Expint")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The exponential integral Ei of each element."));
  ops.Add(OpSchemaBuilder("FresnelCos")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The integral of cos(pi t^2 / 2) from 0 to each element."));
  ops.Add(OpSchemaBuilder("FresnelSin")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The integral of sin(pi t^2 / 2) from 0 to each element."));
  ops.Add(OpSchemaBuilder("Igamma")
              .Input("a: T")
              .Input("x: T")
              .Output("z: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Broadcast)
              .Doc("The lower regularised incomplete gamma function of a at x."));
  ops.Add(OpSchemaBuilder("IgammaGradA")
              .Input("a: T")
              .Input("x: T")
              .Output("z: T")
              .Attr("T: {float, double}")
              .Shape(shapes::Broadcast)
              .Doc("The derivative of Igamma with respect to a."));
  ops.Add(OpSchemaBuilder("Igammac")
              .Input("a: T")
              .Input("x: T")
              .Output("z: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Broadcast)
              .Doc("The upper regularised incomplete gamma function of a at x."));
  ops.Add(OpSchemaBuilder("Ndtri")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The inverse of the standard normal distribution."));
  ops.Add(OpSchemaBuilder("NextAfter")
              .Input("x1: T")
              .Input("x2: T")
              .Output("output: T")
              .Attr("T: {double, float} = DT_FLOAT")
              .Shape(shapes::Broadcast)
              .Doc("The next floating number from x1 towards x2."));
  ops.Add(OpSchemaBuilder("PopulationCount")
              .Input("x: T")
              .Output("y: uint8")
              .Attr("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
              .Shape(shapes::Unchanged)
              .Doc("How many bits of each element are set."));
  ops.Add(OpSchemaBuilder("RandomGammaGrad")
              .Input("alpha: T")
              .Input("sample: T")
              .Output("output: T")
              .Attr("T: {float, double}")
              .Shape(shapes::Broadcast)
              .Doc("The derivative of a gamma-distributed sample with respect to alpha."));
  ops.Add(OpSchemaBuilder("Spence")
              .Input("x: T")
              .Output("y: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("Spence's integral, that of log(t) / (1 - t) from 1 to each element."));
}

}  // namespace tensorfleet
