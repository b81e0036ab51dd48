#include "runtime/kernels/cpu/small_float.h"

#include "absl/base/casts.h"

namespace tensorfleet::cpu {
namespace {

template <typename From, typename To>
void Convert(const From* in, To* out, int64_t n) {
  using FromArray = Eigen::Array<From, Eigen::Dynamic, 1>;
  using ToArray = Eigen::Array<To, Eigen::Dynamic, 1>;
  Eigen::Map<ToArray>(out, n) = Eigen::Map<const FromArray>(in, n).template cast<To>();
}

}  // namespace

void ToFloat(const Eigen::half* in, float* out, int64_t n) { Convert(in, out, n); }
// Eigen has no vector form of these two.
void ToFloat(const Eigen::bfloat16* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = absl::bit_cast<float>(static_cast<uint32_t>(in[i].value) << 16);
  }
}
void FromFloat(const float* in, Eigen::half* out, int64_t n) { Convert(in, out, n); }
void FromFloat(const float* in, Eigen::bfloat16* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = absl::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t nan = (bits >> 31 << 15) | 0x7fc0;
    out[i].value = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
}

}  // namespace tensorfleet::cpu
