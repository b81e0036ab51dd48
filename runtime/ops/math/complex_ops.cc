// Parts of complex numbers.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterComplexOps(OpRegistry& ops) {
  struct PartOp {
    const char* name;
    const char* input;
    const char* output;
    const char* doc;
  };
  constexpr PartOp kParts[] = {
      {"Real", "input: T", "output: Tout", "The real part of each element."},
      {"Imag", "input: T", "output: Tout", "The imaginary part of each element."},
      {"Angle", "input: T", "output: Tout", "The angle of each element, in radians."},
      {"ComplexAbs", "x: T", "y: Tout", "The absolute value of each element."},
  };
  for (const PartOp& op : kParts) {
    ops.Add(OpSchemaBuilder(op.name)
                .Input(op.input)
                .Output(op.output)
                .Attr("T: {complex64, complex128} = DT_COMPLEX64")
                .Attr("Tout: {float, double} = DT_FLOAT")
                .Shape(shapes::Unchanged)
                .Doc(op.doc));
  }
  ops.Add(OpSchemaBuilder("Complex")
              .Input("real: T")
              .Input("imag: T")
              .Output("out: Tout")
              .Attr("T: {float, double} = DT_FLOAT")
              .Attr("Tout: {complex64, complex128} = DT_COMPLEX64")
              .Shape(shapes::Broadcast)
              .Doc("Complex numbers of their real and imaginary parts."));
  ops.Add(OpSchemaBuilder("Conj")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {complex64, complex128, variant} = DT_COMPLEX64")
              .Shape(shapes::Unchanged)
              .Doc("The complex conjugate of each element."));
}

}  // namespace tensorfleet
