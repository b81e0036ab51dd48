// Gradients of ops that put tensors together and take them apart along an axis.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The sizes of `count` inputs from `first` along the constant axis; nothing while one is not known.
std::optional<std::vector<int64_t>> KnownSizes(C& c, int first, int count, int axis_input) {
  const auto axis = c.ConstantX(axis_input);
  if (!axis || axis->size() != 1) return std::nullopt;
  std::vector<int64_t> sizes;
  for (int i = first; i < first + count; ++i) {
    const PartialShape shape = c.StaticShapeOfX(i);
    if (!shape.has_rank()) return std::nullopt;
    const int64_t at = (*axis)[0] < 0 ? (*axis)[0] + shape.rank() : (*axis)[0];
    if (at < 0 || at >= shape.rank() || !shape.has_dim(static_cast<int>(at))) return std::nullopt;
    sizes.push_back(shape.dim(static_cast<int>(at)));
  }
  return sizes;
}

void SplitAgain(C& c, int first, int count, int axis_input) {
  const Scope& s = c.scope();
  const Output axis = ops::Reshape(s, CastTo(s, c.x(axis_input), DType::kInt32), Ints(s, {}));
  const auto known = KnownSizes(c, first, count, axis_input);
  Output sizes;
  if (known) {
    sizes = Ints(s, *known);
  } else {
    const Term rank(s, ops::Size(s, c.ShapeOfX(first)));
    const Output from_start = Of(ops::FloorMod, Term(s, axis) + rank, rank);
    std::vector<Output> each;
    for (int i = first; i < first + count; ++i) {
      each.push_back(ops::Gather(s, c.ShapeOfX(i), from_start));
    }
    sizes = ops::Pack(s, each);
  }
  const std::vector<Output> parts = ops::SplitV(s, c.g(), sizes, axis, count);
  for (size_t i = 0; i < parts.size(); ++i) c.Set(first + static_cast<int>(i), parts[i]);
}

void Concat(C& c) { SplitAgain(c, 1, c.num_inputs() - 1, 0); }
void ConcatV2(C& c) { SplitAgain(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

std::vector<Output> OutputGradients(C& c) {
  std::vector<Output> gradients;
  for (int i = 0; i < c.num_outputs(); ++i) gradients.push_back(c.g(i));
  return gradients;
}

void Split(C& c) { c.Set(1, ops::ConcatV2(c.scope(), OutputGradients(c), c.x(0))); }
void SplitV(C& c) { c.Set(0, ops::ConcatV2(c.scope(), OutputGradients(c), c.x(2))); }

// Concatenation takes two and more: one output is a Split that changes nothing.
template <int kInput, GradientFn kMany>
void SplitOf(C& c) {
  if (c.num_outputs() == 1) {
    c.Set(kInput, c.gradient(0));
  } else {
    kMany(c);
  }
}

void Pack(C& c) {
  const std::vector<Output> rows =
      ops::Unpack(c.scope(), c.g(), c.num_inputs(), {.axis = c.Attr<int64_t>("axis")});
  for (size_t i = 0; i < rows.size(); ++i) c.Set(static_cast<int>(i), rows[i]);
}

void Unpack(C& c) {
  c.Set(0, ops::Pack(c.scope(), OutputGradients(c), {.axis = c.Attr<int64_t>("axis")}));
}

void ParallelConcat(C& c) {
  const std::vector<Output> rows = ops::Split(c.scope(), Int(c.scope(), 0), c.g(), c.num_inputs());
  for (size_t i = 0; i < rows.size(); ++i) c.Set(static_cast<int>(i), rows[i]);
}

}  // namespace

void RegisterJoinGradients(GradientRegistry& registry) {
  registry.Add("Concat", Concat);
  registry.Add("ConcatV2", ConcatV2);
  registry.Add("Split", SplitOf<1, Split>);
  registry.Add("SplitV", SplitOf<0, SplitV>);
  registry.Add("Pack", Pack);
  registry.Add("Unpack", Unpack);
  registry.Add("ParallelConcat", ParallelConcat);
}

}  // namespace tensorfleet
