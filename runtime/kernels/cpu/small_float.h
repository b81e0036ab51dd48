// Half and bfloat16 are stored small and computed in float, a block at a time.
#pragma once

#include <cstdint>
#include <type_traits>

#include <Eigen/Core>

namespace tensorfleet::cpu {

// Elements that are converted together; their floats fit well into the first-level cache.
inline constexpr int64_t kSmallFloatBlock = 512;

template <typename T>
inline constexpr bool kIsSmallFloat =
    std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>;

// The type that values of T are computed in.
template <typename T>
using Widened = std::conditional_t<kIsSmallFloat<T>, float, T>;

void ToFloat(const Eigen::half* in, float* out, int64_t n);
void ToFloat(const Eigen::bfloat16* in, float* out, int64_t n);
// Round to nearest, ties to even.
void FromFloat(const float* in, Eigen::half* out, int64_t n);
void FromFloat(const float* in, Eigen::bfloat16* out, int64_t n);

}  // namespace tensorfleet::cpu
