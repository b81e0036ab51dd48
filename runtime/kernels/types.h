// Lists of element types, and registering a kernel template for each type of a list.
#pragma once

#include <complex>
#include <cstdint>
#include <utility>

#include <Eigen/Core>

#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet {

template <typename... Ts>
struct Types {};

template <typename A, typename B>
struct ConcatTypes;
template <typename... As, typename... Bs>
struct ConcatTypes<Types<As...>, Types<Bs...>> {
  using type = Types<As..., Bs...>;
};
template <typename A, typename B>
using Concat = typename ConcatTypes<A, B>::type;

using SmallFloats = Types<Eigen::half, Eigen::bfloat16>;
using FullFloats = Types<float, double>;
using Floats = Concat<SmallFloats, FullFloats>;
using Complexes = Types<std::complex<float>, std::complex<double>>;
using FloatsAndComplexes = Concat<Floats, Complexes>;
using SignedInts = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedInts = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Ints = Concat<SignedInts, UnsignedInts>;
using Reals = Concat<Floats, Ints>;
using Numbers = Concat<Reals, Complexes>;

// Adds K<T> for every T of the list, constrained by `attr`:
//   AddForTypes<BiasAdd>(registry, "BiasAdd", Numbers());
template <template <typename> class K, typename... Ts>
void AddForTypes(KernelRegistry& registry, absl::string_view op, Types<Ts...>,
                 absl::string_view attr = "T") {
  (registry.Add<K<Ts>>(op, kCpu, {{std::string(attr), kDTypeOf<Ts>}}), ...);
}

// Calls visit(kDTypeTag) for every T, where decltype(tag)::type is T.
template <typename T>
struct TypeTag {
  using type = T;
};
template <typename Visit, typename... Ts>
void ForEachType(Types<Ts...>, const Visit& visit) {
  (visit(TypeTag<Ts>()), ...);
}

}  // namespace tensorfleet
