#include "runtime/train/session/hooks.h"

#include "runtime/tensor/eigen.h"

namespace tensorfleet::train {

StatusOr<int64_t> ToInt64(const Tensor& value) {
  if (value.num_elements() == 1) {
    if (value.dtype() == DType::kInt64) return value.scalar<int64_t>();
    if (value.dtype() == DType::kInt32) return value.scalar<int32_t>();
  }
  return InvalidArgument("the global step must be one int64 or int32, not ", value.ToString());
}

StatusOr<double> ToDouble(const Tensor& value) {
  if (value.num_elements() == 1) {
    switch (value.dtype()) {
      case DType::kFloat:
        return value.scalar<float>();
      case DType::kDouble:
        return value.scalar<double>();
      case DType::kHalf:
        return static_cast<float>(value.scalar<Eigen::half>());
      case DType::kBFloat16:
        return static_cast<float>(value.scalar<Eigen::bfloat16>());
      case DType::kInt32:
        return value.scalar<int32_t>();
      case DType::kInt64:
        return static_cast<double>(value.scalar<int64_t>());
      default:
        break;
    }
  }
  return InvalidArgument("a single number was expected, not ", value.ToString());
}

StatusOr<int64_t> ReadGlobalStep(const std::string& tensor, Session& session) {
  StepRequest read;
  read.fetches = {tensor};
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(read));
  return ToInt64(values[0]);
}

}  // namespace tensorfleet::train
