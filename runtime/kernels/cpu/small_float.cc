#include "runtime/kernels/cpu/small_float.h"

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
void ToFloat(const Eigen::bfloat16* in, float* out, int64_t n) { Convert(in, out, n); }
void FromFloat(const float* in, Eigen::half* out, int64_t n) { Convert(in, out, n); }
void FromFloat(const float* in, Eigen::bfloat16* out, int64_t n) { Convert(in, out, n); }

}  // namespace tensorfleet::cpu
