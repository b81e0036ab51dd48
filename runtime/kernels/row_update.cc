#include "runtime/kernels/row_update.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/match.h"
#include "runtime/kernels/row_loop.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

template <RowOp op, typename T>
T Combine(T a, T b) {
  if constexpr (op == RowOp::kAdd) return WrapAdd(a, b);
  if constexpr (op == RowOp::kSub) return WrapSub(a, b);
  if constexpr (op == RowOp::kMul) return WrapMul(a, b);
  if constexpr (op == RowOp::kMin) return b < a ? b : a;
  if constexpr (op == RowOp::kMax) return a < b ? b : a;
  if constexpr (op == RowOp::kDiv) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      // The lowest number has no positive twin, and the processor traps on it.
      if (b == -1) return static_cast<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
    }
    return static_cast<T>(a / b);
  }
}

template <RowOp op, typename T>
void Loop(void* row, const void* update, int64_t n, bool is_scalar) {
  T* to = static_cast<T*>(row);
  const T* from = static_cast<const T*>(update);
  if (is_scalar) {
    const T value = from[0];
    TFLEET_VECTORIZE_ROW
    for (int64_t i = 0; i < n; ++i) to[i] = Combine<op, T>(to[i], value);
  } else {
    TFLEET_VECTORIZE_ROW
    for (int64_t i = 0; i < n; ++i) to[i] = Combine<op, T>(to[i], from[i]);
  }
}

template <typename T>
void CopyLoop(void* row, const void* update, int64_t n, bool is_scalar) {
  T* to = static_cast<T*>(row);
  const T* from = static_cast<const T*>(update);
  if (is_scalar) {
    std::fill_n(to, n, from[0]);
  } else {
    std::copy_n(from, n, to);
  }
}

struct Bytes16 {
  uint64_t halves[2];
};

RowLoop CopyLoopFor(DType dtype) {
  if (dtype == DType::kString) return &CopyLoop<std::string>;
  if (dtype == DType::kResource) return &CopyLoop<ResourceHandle>;
  if (dtype == DType::kVariant) return &CopyLoop<Variant>;
  switch (ElementSize(dtype)) {
    case 1:
      return &CopyLoop<uint8_t>;
    case 2:
      return &CopyLoop<uint16_t>;
    case 4:
      return &CopyLoop<uint32_t>;
    case 8:
      return &CopyLoop<uint64_t>;
    case 16:
      return &CopyLoop<Bytes16>;
    default:
      return nullptr;
  }
}

template <RowOp op, typename List>
RowLoop Choose(DType dtype, List types) {
  RowLoop loop = nullptr;
  ForEachType(types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> == dtype) loop = &Loop<op, T>;
  });
  return loop;
}

template <typename T>
bool HasZero(const Tensor& t) {
  const absl::Span<const T> values = t.values<T>();
  return std::find(values.begin(), values.end(), T(0)) != values.end();
}

}  // namespace

RowOp RowOpFromName(absl::string_view op) {
  if (absl::EndsWith(op, "Add")) return RowOp::kAdd;
  if (absl::EndsWith(op, "Sub")) return RowOp::kSub;
  if (absl::EndsWith(op, "Mul")) return RowOp::kMul;
  if (absl::EndsWith(op, "Div")) return RowOp::kDiv;
  if (absl::EndsWith(op, "Min")) return RowOp::kMin;
  if (absl::EndsWith(op, "Max")) return RowOp::kMax;
  TFLEET_CHECK(absl::EndsWith(op, "Update"));
  return RowOp::kUpdate;
}

RowLoop RowLoopFor(RowOp op, DType dtype) {
  switch (op) {
    case RowOp::kUpdate:
      return CopyLoopFor(dtype);
    case RowOp::kAdd:
      return Choose<RowOp::kAdd>(dtype, Concat<Numbers, Types<bool>>());
    case RowOp::kSub:
      return Choose<RowOp::kSub>(dtype, Concat<Numbers, Types<bool>>());
    case RowOp::kMul:
      return Choose<RowOp::kMul>(dtype, Numbers());
    case RowOp::kDiv:
      return Choose<RowOp::kDiv>(dtype, Numbers());
    case RowOp::kMin:
      return Choose<RowOp::kMin>(dtype, Reals());
    case RowOp::kMax:
      return Choose<RowOp::kMax>(dtype, Reals());
  }
  return nullptr;
}

Status CheckUpdates(RowOp op, const Tensor& updates) {
  if (op != RowOp::kDiv || !IsInteger(updates.dtype())) return OkStatus();
  bool has_zero = false;
  ForEachType(Ints(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> == updates.dtype()) has_zero = HasZero<T>(updates);
  });
  return has_zero ? InvalidArgument("Integer division by zero") : OkStatus();
}

}  // namespace tensorfleet
