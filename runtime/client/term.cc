#include "runtime/client/term.h"

#include <Eigen/Core>

#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

template <typename T>
Output ScalarOf(const Scope& scope, double value) {
  return Const(scope, Tensor::Scalar<T>(static_cast<T>(value)));
}

}  // namespace

Output ScalarConst(const Scope& scope, DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat:
      return ScalarOf<float>(scope, value);
    case DType::kDouble:
      return ScalarOf<double>(scope, value);
    case DType::kHalf:
      return ScalarOf<Eigen::half>(scope, value);
    case DType::kBFloat16:
      return ScalarOf<Eigen::bfloat16>(scope, value);
    case DType::kInt32:
      return ScalarOf<int32_t>(scope, value);
    case DType::kInt64:
      return ScalarOf<int64_t>(scope, value);
    case DType::kComplex64:
      return ScalarOf<std::complex<float>>(scope, value);
    case DType::kComplex128:
      return ScalarOf<std::complex<double>>(scope, value);
    default:
      scope.Fail(InvalidArgument("there is no constant ", value, " of type ", DTypeName(dtype)));
      return Output();
  }
}

Term operator+(const Term& a, const Term& b) { return Of(ops::AddV2, a, b); }
Term operator-(const Term& a, const Term& b) { return Of(ops::Sub, a, b); }
Term operator*(const Term& a, const Term& b) { return Of(ops::Mul, a, b); }
Term operator/(const Term& a, const Term& b) { return Of(ops::RealDiv, a, b); }
Term operator-(const Term& a) { return Of(ops::Neg, a); }

Term Conjugate(const Term& a) { return IsComplex(a.dtype()) ? Of(ops::Conj, a) : a; }

}  // namespace tensorfleet
