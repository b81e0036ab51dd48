// Gradients of reductions and running sums.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The axes of a reduction as non-negative numbers; nothing while they are not known.
std::optional<std::vector<int64_t>> KnownAxes(C& c) {
  const PartialShape in = c.StaticShapeOfX(0);
  auto axes = c.ConstantX(1);
  if (!in.has_rank() || !axes) return std::nullopt;
  for (int64_t& axis : *axes) {
    if (axis < 0) axis += in.rank();
    if (axis < 0 || axis >= in.rank()) return std::nullopt;  // the reduction itself complains
  }
  return axes;
}

// The axes as a vector of non-negative int32.
Term AxesOf(C& c) {
  const Scope& s = c.scope();
  const Term rank(s, ops::Size(s, c.ShapeOfX(0)));
  const Term axes(s, ops::Reshape(s, CastTo(s, c.x(1), DType::kInt32), Ints(s, {-1})));
  return Of(ops::FloorMod, axes + rank, rank);
}

// The shape of the input with the reduced axes of size 1.
Term KeptShape(C& c) {
  const Scope& s = c.scope();
  const PartialShape in = c.StaticShapeOfX(0);
  const auto known = KnownAxes(c);
  if (known && in.is_fully_defined()) {
    std::vector<int64_t> kept(in.dims().begin(), in.dims().end());
    for (const int64_t axis : *known) kept[axis] = 1;
    return {s, Ints(s, kept)};
  }
  const Term shape = c.ShapeOfX(0), axes = AxesOf(c);
  const Output all = RangeTo(s, ops::Size(s, shape));
  const Output ones = ops::Fill(s, ops::Shape(s, axes), Int(s, 1));
  return {s, ops::DynamicStitch(s, {all, axes}, {shape, ones})};
}

Term SpreadOverInput(C& c, const Term& value) {
  return {c.scope(), ops::BroadcastTo(c.scope(), Reshaped(value, KeptShape(c)), c.ShapeOfX(0))};
}

void Sum(C& c) { c.Set(0, SpreadOverInput(c, c.g())); }

void Mean(C& c) {
  const Scope& s = c.scope();
  const PartialShape in = c.StaticShapeOfX(0), out = c.StaticShapeOfY(0);
  const Term spread = SpreadOverInput(c, c.g());
  if (in.is_fully_defined() && out.is_fully_defined()) {
    const int64_t outputs = std::max<int64_t>(1, out.ToShape()->num_elements());
    c.Set(0, spread / static_cast<double>(in.ToShape()->num_elements() / outputs));
    return;
  }
  const Term outputs = ProductOf(c.ShapeOfY(0));
  const Term count =
      Of(ops::FloorDiv, ProductOf(c.ShapeOfX(0)), Of(ops::Maximum, outputs, Term(s, Int(s, 1))));
  c.Set(0, spread / Term(s, ops::Cast(s, count, spread.dtype())));
}

// The gradient is shared evenly by the elements that equal the extreme.
void Extreme(C& c) {
  const Scope& s = c.scope();
  const Term kept = KeptShape(c);
  const Term winners(s, ops::Cast(s, ops::Equal(s, Reshaped(c.y(), kept), c.x(0)), c.g().dtype()));
  const Term count = Reshaped(SumOver(winners, c.x(1)), kept);
  c.Set(0, winners / count * Reshaped(c.g(), kept));
}

// Product of all others = (product of those before) * (product of those after), which unlike
// y / x is right where an element is 0.
void Prod(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(0), axes = AxesOf(c);
  const Output all = RangeTo(s, ops::Size(s, shape));
  const Output others = ops::ListDiff(s, all, axes).out;
  const Output order = Joined(s, {axes, others});
  const auto count = [&](const Output& of) { return ProductOf({s, ops::Gather(s, shape, of)}); };
  const Output rows = ops::Pack(s, {count(axes), count(others)});
  const Output permuted = ops::Transpose(s, c.x(0), order);
  const Output flat = ops::Reshape(s, permuted, rows);
  const Term before(s, ops::Cumprod(s, flat, Int(s, 0), {.exclusive = true}));
  const Term after(s, ops::Cumprod(s, flat, Int(s, 0), {.exclusive = true, .reverse = true}));
  const Term rest = Reshaped(Conjugate(before) * Conjugate(after), ops::Shape(s, permuted));
  const Term back(s, ops::Transpose(s, rest, ops::InvertPermutation(s, order)));
  c.Set(0, Reshaped(SpreadOverInput(c, c.g()) * back, shape));
}

void EuclideanNorm(C& c) {
  const Term kept = KeptShape(c);
  c.Set(0, c.x(0) / (Reshaped(c.y(), kept) / Reshaped(c.g(), kept)));
}

void Cumsum(C& c) {
  c.Set(0,
        ops::Cumsum(c.scope(), c.g(), c.x(1),
                    {.exclusive = c.Attr<bool>("exclusive"), .reverse = !c.Attr<bool>("reverse")}));
}

void Cumprod(C& c) {
  const bool exclusive = c.Attr<bool>("exclusive"), reverse = c.Attr<bool>("reverse");
  const Term product(c.scope(), ops::Cumprod(c.scope(), c.x(0), c.x(1),
                                             {.exclusive = exclusive, .reverse = reverse}));
  const Term sum(c.scope(), ops::Cumsum(c.scope(), Conjugate(product) * c.g(), c.x(1),
                                        {.exclusive = exclusive, .reverse = !reverse}));
  c.Set(0, sum / Conjugate(c.x(0)));
}

void L2Loss(C& c) { c.Set(0, c.x(0) * c.g()); }

}  // namespace

void RegisterReductionGradients(GradientRegistry& registry) {
  registry.Add("Sum", Sum);
  registry.Add("Mean", Mean);
  registry.Add("Max", Extreme);
  registry.Add("Min", Extreme);
  registry.Add("Prod", Prod);
  registry.Add("EuclideanNorm", EuclideanNorm);
  registry.Add("Cumsum", Cumsum);
  registry.Add("Cumprod", Cumprod);
  registry.Add("L2Loss", L2Loss);
}

}  // namespace tensorfleet
