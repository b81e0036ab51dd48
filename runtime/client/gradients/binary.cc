// Gradients of element-wise ops of two and three arguments that broadcast.
#include "runtime/client/gradients/broadcast.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

Term X(C& c) { return Conjugate(c.x(0)); }
Term Y(C& c) { return Conjugate(c.x(1)); }

Term Where(const Output& condition, const Term& a, const Term& b) {
  return {a.scope(), ops::SelectV2(a.scope(), condition, a, b)};
}

// Sets both gradients, each summed over what its argument was broadcast along. The functions are
// called only for gradients that are of use.
template <typename ForX, typename ForY>
void SetBoth(C& c, ForX for_x, ForY for_y) {
  if (c.wants(0)) c.Set(0, ReducedToInput(c, for_x(), 0, 1));
  if (c.wants(1)) c.Set(1, ReducedToInput(c, for_y(), 1, 0));
}

void Add(C& c) {
  SetBoth(
      c, [&] { return c.g(); }, [&] { return c.g(); });
}
void Sub(C& c) {
  SetBoth(
      c, [&] { return c.g(); }, [&] { return -c.g(); });
}
void Mul(C& c) {
  SetBoth(
      c, [&] { return c.g() * Y(c); }, [&] { return X(c) * c.g(); });
}
void MulNoNan(C& c) {
  SetBoth(
      c, [&] { return Of(ops::MulNoNan, c.g(), Y(c)); },
      [&] { return Of(ops::MulNoNan, X(c), c.g()); });
}
void Div(C& c) {
  SetBoth(
      c, [&] { return c.g() / Y(c); }, [&] { return c.g() * (-X(c) / Y(c) / Y(c)); });
}
void DivNoNan(C& c) {
  SetBoth(
      c, [&] { return Of(ops::DivNoNan, c.g(), Y(c)); },
      [&] { return c.g() * Of(ops::DivNoNan, Of(ops::DivNoNan, -X(c), Y(c)), Y(c)); });
}
// Between the jumps, x - y * (a constant).
void FloorMod(C& c) {
  SetBoth(
      c, [&] { return c.g(); }, [&] { return -(c.g() * Of(ops::FloorDiv, c.x(0), c.x(1))); });
}
void TruncateMod(C& c) {
  SetBoth(
      c, [&] { return c.g(); }, [&] { return -(c.g() * Of(ops::TruncateDiv, c.x(0), c.x(1))); });
}

// The whole gradient goes to the argument that won; x wins a draw.
void Extreme(C& c, const Term& x_wins) {
  const Term zeros = c.g().Number(0);
  SetBoth(
      c, [&] { return Where(x_wins, c.g(), zeros); }, [&] { return Where(x_wins, zeros, c.g()); });
}
void Maximum(C& c) { Extreme(c, Of(ops::GreaterEqual, c.x(0), c.x(1))); }
void Minimum(C& c) { Extreme(c, Of(ops::LessEqual, c.x(0), c.x(1))); }

void Pow(C& c) {
  const auto for_y = [&] {
    // The logarithm only where there is one: 0 to any power does not change with the power.
    const Term x = X(c), zeros = Of(ops::ZerosLike, x), ones = Of(ops::OnesLike, x);
    const Output has_log = IsComplex(x.dtype()) ? ops::NotEqual(c.scope(), x, zeros)
                                                : ops::Greater(c.scope(), x, zeros);
    const Term log = Where(has_log, Of(ops::Log, Where(has_log, x, ones)), zeros);
    return c.g() * Conjugate(c.y()) * log;
  };
  SetBoth(
      c, [&] { return c.g() * Y(c) * Of(ops::Pow, X(c), Y(c) - 1.0); }, for_y);
}

void SquaredDifference(C& c) {
  const Term slope = 2.0 * c.g() * (c.x(0) - c.x(1));
  SetBoth(
      c, [&] { return slope; }, [&] { return -slope; });
}

// Ones where x is not 0, so that the convention "0 times anything is 0" holds for the slope too.
Term NotZero(C& c) {
  const Term x = c.x(0);
  return {x.scope(), ops::Cast(x.scope(), ops::NotEqual(x.scope(), x, x.Number(0)), x.dtype())};
}
void Xlogy(C& c) {
  SetBoth(
      c, [&] { return Conjugate(Of(ops::Xlogy, NotZero(c), c.x(1))) * c.g(); },
      [&] { return Conjugate(Of(ops::Xdivy, c.x(0), c.x(1))) * c.g(); });
}
void Xlog1py(C& c) {
  SetBoth(
      c, [&] { return Conjugate(Of(ops::Xlog1py, NotZero(c), c.x(1))) * c.g(); },
      [&] { return Conjugate(Of(ops::Xdivy, c.x(0), c.x(1) + 1.0)) * c.g(); });
}
void Xdivy(C& c) {
  SetBoth(
      c, [&] { return Conjugate(Of(ops::Xdivy, NotZero(c), c.x(1))) * c.g(); },
      [&] { return Conjugate(Of(ops::Xdivy, -c.x(0), Of(ops::Square, c.x(1)))) * c.g(); });
}
void Atan2(C& c) {
  const Term scaled = c.g() / (Of(ops::Square, c.x(0)) + Of(ops::Square, c.x(1)));
  SetBoth(
      c, [&] { return c.x(1) * scaled; }, [&] { return -(c.x(0) * scaled); });
}

// By the second argument alone: the first is an order, whole or treated as if it were.
void Polygamma(C& c) {
  if (!c.wants(1)) return;
  c.Set(1, ReducedToInput(c, c.g() * Of(ops::Polygamma, c.x(0) + 1.0, c.x(1)), 1, 0));
}
void Zeta(C& c) {
  if (!c.wants(1)) return;
  c.Set(1, ReducedToInput(c, -(c.g() * c.x(0) * Of(ops::Zeta, c.x(0) + 1.0, c.x(1))), 1, 0));
}

// The condition has the shape of the others, or picks whole rows.
void Select(C& c) {
  const Term zeros = Of(ops::ZerosLike, c.g());
  c.Set(1, ops::Select(c.scope(), c.x(0), c.g(), zeros));
  c.Set(2, ops::Select(c.scope(), c.x(0), zeros, c.g()));
}

// Input `i` summed to its shape from the shape of the output, of which all three are part.
Term ReducedFromOutput(C& c, const Term& gradient, int i) {
  return ReducedTo(gradient, {c.StaticShapeOfX(i), [&c, i] { return c.ShapeOfX(i); }},
                   {c.StaticShapeOfY(0), [&c] { return c.ShapeOfY(0); }});
}

void SelectV2(C& c) {
  const Term zeros = c.g().Number(0);
  if (c.wants(1)) c.Set(1, ReducedFromOutput(c, Where(c.x(0), c.g(), zeros), 1));
  if (c.wants(2)) c.Set(2, ReducedFromOutput(c, Where(c.x(0), zeros, c.g()), 2));
}

void ClipByValue(C& c) {
  const Term zeros = c.g().Number(0);
  const Term below = Of(ops::Less, c.x(0), c.x(1)), above = Of(ops::Greater, c.x(0), c.x(2));
  if (c.wants(0)) {
    c.Set(0, ReducedFromOutput(c, Where(Of(ops::LogicalOr, below, above), zeros, c.g()), 0));
  }
  if (c.wants(1)) c.Set(1, ReducedFromOutput(c, Where(below, c.g(), zeros), 1));
  if (c.wants(2)) c.Set(2, ReducedFromOutput(c, Where(above, c.g(), zeros), 2));
}

}  // namespace

void RegisterBinaryGradients(GradientRegistry& registry) {
  registry.Add("Add", Add);
  registry.Add("AddV2", Add);
  registry.Add("Sub", Sub);
  registry.Add("Mul", Mul);
  registry.Add("MulNoNan", MulNoNan);
  registry.Add("RealDiv", Div);
  registry.Add("Div", Div);
  registry.Add("DivNoNan", DivNoNan);
  registry.Add("FloorMod", FloorMod);
  registry.Add("Mod", TruncateMod);
  registry.Add("TruncateMod", TruncateMod);
  registry.Add("Maximum", Maximum);
  registry.Add("Minimum", Minimum);
  registry.Add("Pow", Pow);
  registry.Add("SquaredDifference", SquaredDifference);
  registry.Add("Xlogy", Xlogy);
  registry.Add("Xlog1py", Xlog1py);
  registry.Add("Xdivy", Xdivy);
  registry.Add("Atan2", Atan2);
  registry.Add("Polygamma", Polygamma);
  registry.Add("Zeta", Zeta);
  registry.Add("Select", Select);
  registry.Add("SelectV2", SelectV2);
  registry.Add("ClipByValue", ClipByValue);
}

}  // namespace tensorfleet
