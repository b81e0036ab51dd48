#include "runtime/kernels/cpu/broadcast.h"

#include <algorithm>

namespace tensorfleet::cpu {

StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  absl::InlinedVector<int64_t, 8> dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const int64_t in_a = i <= a.rank() ? a.dim(-i) : 1;
    const int64_t in_b = i <= b.rank() ? b.dim(-i) : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) {
      return InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
    }
    dims[rank - i] = in_a == 1 ? in_b : in_a;
  }
  return Shape::Make(dims);
}

template <int kOperands>
int64_t BroadcastPlan<kOperands>::outer() const {
  int64_t count = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d) count *= dims[d];
  return count;
}

template <int kOperands>
BroadcastPlan<kOperands> PlanBroadcast(const Shape& out,
                                       const std::array<const Shape*, kOperands>& operands) {
  BroadcastPlan<kOperands> plan;
  const int rank = out.rank();
  // Built innermost first, reversed at the end.
  std::array<int64_t, kOperands> size;  // elements of each operand in the dimensions seen so far
  std::array<bool, kOperands> runs_before{};
  size.fill(1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t dim = out.dim(-i);
    if (dim == 1) continue;
    std::array<bool, kOperands> runs;
    for (int k = 0; k < kOperands; ++k) {
      runs[k] = i <= operands[k]->rank() && operands[k]->dim(-i) != 1;
    }
    if (!plan.dims.empty() && runs == runs_before) {
      plan.dims.back() *= dim;
    } else {
      plan.dims.push_back(dim);
      for (int k = 0; k < kOperands; ++k) plan.strides[k].push_back(runs[k] ? size[k] : 0);
    }
    for (int k = 0; k < kOperands; ++k) {
      if (runs[k]) size[k] *= dim;
    }
    runs_before = runs;
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (auto& strides : plan.strides) strides.push_back(0);
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  for (auto& strides : plan.strides) std::reverse(strides.begin(), strides.end());
  return plan;
}

template struct BroadcastPlan<2>;
template struct BroadcastPlan<3>;
template BroadcastPlan<2> PlanBroadcast<2>(const Shape&, const std::array<const Shape*, 2>&);
template BroadcastPlan<3> PlanBroadcast<3>(const Shape&, const std::array<const Shape*, 3>&);

}  // namespace tensorfleet::cpu
