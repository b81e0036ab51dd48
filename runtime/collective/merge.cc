#include "runtime/collective/merge.h"

#include <Eigen/Core>

#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::collective {
namespace {

using Merged = Types<float, double, Eigen::half, Eigen::bfloat16, int32_t, int64_t>;

template <typename T, typename Op>
void Each(const void* a, const void* b, void* out, int64_t n, const Op& op) {
  const T* const x = static_cast<const T*>(a);
  const T* const y = static_cast<const T*>(b);
  T* const z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = op(x[i], y[i]);
}

template <typename T>
void MergeAs(MergeOp merge, const void* a, const void* b, void* out, int64_t n) {
  switch (merge) {
    case MergeOp::kAdd:
      return Each<T>(a, b, out, n, [](const T& x, const T& y) { return WrapAdd(x, y); });
    case MergeOp::kMul:
      return Each<T>(a, b, out, n, [](const T& x, const T& y) { return WrapMul(x, y); });
    case MergeOp::kMin:
      return Each<T>(a, b, out, n, [](const T& x, const T& y) { return y < x ? y : x; });
    case MergeOp::kMax:
      return Each<T>(a, b, out, n, [](const T& x, const T& y) { return x < y ? y : x; });
  }
}

}  // namespace

Status CheckCanMerge(DType dtype) {
  bool can = false;
  ForEachType(Merged(), [&](auto tag) { can |= kDTypeOf<typename decltype(tag)::type> == dtype; });
  if (can) return OkStatus();
  return Unimplemented("collective ops do not merge elements of type ", DTypeName(dtype));
}

void Merge(MergeOp merge, DType dtype, const void* a, const void* b, void* out, int64_t n) {
  ForEachType(Merged(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> == dtype) MergeAs<T>(merge, a, b, out, n);
  });
}

void Finish(FinalOp final, DType dtype, void* x, int64_t n, int group_size) {
  if (final == FinalOp::kId) return;
  ForEachType(Merged(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> != dtype) return;
    T* const values = static_cast<T*>(x);
    const T size = static_cast<T>(group_size);
    for (int64_t i = 0; i < n; ++i) values[i] = values[i] / size;
  });
}

}  // namespace tensorfleet::collective
