// Logic on bools and on the bits of integers.
#include "runtime/kernels/cpu/math/binary.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kCheap = 150;

template <typename T>
struct And {
  T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
template <typename T>
struct Or {
  T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
template <typename T>
struct Xor {
  T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
// Shifts by less than nothing are by nothing, shifts by more than there are bits by all but one.
template <typename T>
T ClampShift(T by) {
  constexpr T kMost = sizeof(T) * 8 - 1;
  return by < 0 ? 0 : (by > kMost ? kMost : by);
}
template <typename T>
struct LeftShift {
  T operator()(T a, T by) const { return static_cast<T>(WrapInt<T>(a) << ClampShift(by)); }
};
template <typename T>
struct RightShift {
  T operator()(T a, T by) const { return static_cast<T>(a >> ClampShift(by)); }
};

template <typename T>
struct PopulationCount {
  uint8_t operator()(T x) const {
    return static_cast<uint8_t>(__builtin_popcountll(std::make_unsigned_t<T>(x)));
  }
};

}  // namespace

void RegisterBitwiseKernels(KernelRegistry& r) {
  r.Add<BinaryKernelOf<BinaryKernel, &MapBinary<And, bool>, DType::kBool, DType::kBool, kCheap>>(
      "LogicalAnd", kCpu);
  r.Add<BinaryKernelOf<BinaryKernel, &MapBinary<Or, bool>, DType::kBool, DType::kBool, kCheap>>(
      "LogicalOr", kCpu);
  AddBinary<And, kCheap>(r, "BitwiseAnd", Ints());
  AddBinary<Or, kCheap>(r, "BitwiseOr", Ints());
  AddBinary<Xor, kCheap>(r, "BitwiseXor", Ints());
  AddBinary<LeftShift, kCheap>(r, "LeftShift", Ints());
  AddBinary<RightShift, kCheap>(r, "RightShift", Ints());
  ForEachType(Ints(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<UnaryKernelOf<&MapLoop<PopulationCount, T>, kDTypeOf<T>, DType::kUInt8, kCheap>>(
        "PopulationCount", kCpu, {{"T", kDTypeOf<T>}});
  });
}

}  // namespace tensorfleet::cpu
