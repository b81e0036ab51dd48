// Gradients of ops about diagonals and bands of matrices.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The second version always packed diagonals to the left.
std::string Align(C& c) {
  return FindAttr(c.node().def(), "align") != nullptr ? c.Attr<std::string>("align") : "LEFT_LEFT";
}

Term Zero(C& c) { return c.g().Number(0); }

Term DiagonalsOf(C& c, const Term& matrix, const Output& k) {
  return {c.scope(), ops::MatrixDiagPartV3(c.scope(), matrix, k, Zero(c), {.align = Align(c)})};
}

Term WithDiagonals(C& c, const Term& matrix, const Term& diagonals, const Output& k) {
  return {c.scope(), ops::MatrixSetDiagV3(c.scope(), matrix, diagonals, k, {.align = Align(c)})};
}

void Diag(C& c) { c.Set(0, ops::DiagPart(c.scope(), c.g())); }
void DiagPart(C& c) { c.Set(0, ops::Diag(c.scope(), c.g())); }
void MatrixDiag(C& c) { c.Set(0, ops::MatrixDiagPart(c.scope(), c.g())); }
void MatrixDiagPart(C& c) {
  c.Set(0, WithDiagonals(c, Of(ops::ZerosLike, c.x(0)), c.g(), Int(c.scope(), 0)));
}

// Of (diagonal, k, rows, columns, padding).
void MatrixDiagOfBand(C& c) { c.Set(0, DiagonalsOf(c, c.g(), c.x(1))); }

// Of (input, k, padding).
void MatrixDiagPartOfBand(C& c) {
  c.Set(0, WithDiagonals(c, Of(ops::ZerosLike, c.x(0)), c.g(), c.x(1)));
}

// Of (input, diagonal, k).
void MatrixSetDiag(C& c) {
  if (c.wants(0)) c.Set(0, WithDiagonals(c, c.g(), Of(ops::ZerosLike, c.x(1)), c.x(2)));
  if (c.wants(1)) c.Set(1, DiagonalsOf(c, c.g(), c.x(2)));
}

void MatrixBandPart(C& c) { c.Set(0, ops::MatrixBandPart(c.scope(), c.g(), c.x(1), c.x(2))); }

}  // namespace

void RegisterDiagGradients(GradientRegistry& registry) {
  registry.Add("Diag", Diag);
  registry.Add("DiagPart", DiagPart);
  registry.Add("MatrixDiag", MatrixDiag);
  registry.Add("MatrixDiagPart", MatrixDiagPart);
  registry.Add("MatrixDiagV2", MatrixDiagOfBand);
  registry.Add("MatrixDiagV3", MatrixDiagOfBand);
  registry.Add("MatrixDiagPartV2", MatrixDiagPartOfBand);
  registry.Add("MatrixDiagPartV3", MatrixDiagPartOfBand);
  registry.Add("MatrixSetDiagV3", MatrixSetDiag);
  registry.Add("MatrixBandPart", MatrixBandPart);
}

}  // namespace tensorfleet
