#include "runtime/train/optimizer/clipping.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/client/term.h"

namespace tensorfleet::train {
namespace {

// The elements that are not zero by their place.
Term ElementsOf(const Scope& scope, const Gradient& gradient) {
  return {scope, gradient.is_sparse() ? gradient.slices().values : gradient.dense()};
}

Gradient WithElements(const Gradient& gradient, const Output& elements) {
  if (!gradient.is_sparse()) return Gradient(elements);
  IndexedSlices slices = gradient.slices();
  slices.values = elements;
  return slices;
}

// limit / max(norm, limit): 1 while the norm is within the limit.
Term Shrinkage(const Term& norm, double limit) {
  return limit / Of(ops::Maximum, norm, norm.Number(limit));
}

}  // namespace

Gradient ClipByValue(const Scope& scope, const Gradient& gradient, double low, double high) {
  if (gradient.is_absent()) return gradient;
  const Term x = ElementsOf(scope, gradient);
  return WithElements(gradient, ops::ClipByValue(scope, x, x.Number(low), x.Number(high)));
}

Output GlobalNorm(const Scope& scope, absl::Span<const Gradient> gradients) {
  std::vector<Output> halves;
  for (const Gradient& gradient : gradients) {
    if (!gradient.is_absent()) halves.push_back(ops::L2Loss(scope, ElementsOf(scope, gradient)));
  }
  if (halves.empty()) return Output();
  return Of(ops::Sqrt, Term(scope, ops::AddN(scope, halves)) * 2.0);
}

Gradient ClipByNorm(const Scope& scope, const Gradient& gradient, double limit) {
  return ClipByGlobalNorm(scope, {gradient}, limit)[0];
}

std::vector<Gradient> ClipByGlobalNorm(const Scope& scope, absl::Span<const Gradient> gradients,
                                       double limit) {
  std::vector<Gradient> clipped(gradients.begin(), gradients.end());
  const Scope at = scope.SubScope("clip_by_global_norm");
  const Output norm = GlobalNorm(at, gradients);
  if (!norm.is_valid()) return clipped;
  const Term factor = Shrinkage({at, norm}, limit);
  for (Gradient& gradient : clipped) {
    if (gradient.is_absent()) continue;
    const Term x = ElementsOf(at, gradient);
    gradient = WithElements(gradient, x * Term(at, CastTo(at, factor, x.dtype())));
  }
  return clipped;
}

}  // namespace tensorfleet::train
