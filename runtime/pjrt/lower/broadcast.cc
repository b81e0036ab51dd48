#include "runtime/pjrt/lower/broadcast.h"

#include <algorithm>
#include <vector>

namespace tensorfleet::pjrt {

StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int from_a = i - (rank - a.rank()), from_b = i - (rank - b.rank());
    const int64_t x = from_a < 0 ? 1 : a.dim(from_a);
    const int64_t y = from_b < 0 ? 1 : b.dim(from_b);
    if (x != y && x != 1 && y != 1) {
      return Unimplemented("shapes ", a.ToString(), " and ", b.ToString(), " do not fit");
    }
    dims[i] = x == 1 ? y : x;
  }
  return Shape::Make(dims);
}

StatusOr<int> CheckedAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return Unimplemented("axis ", axis, " of ", rank, " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tensorfleet::pjrt
