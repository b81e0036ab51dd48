#include "runtime/kernels/portable/truth.h"

#include <cstdint>
#include <string>

#include "runtime/tensor/eigen.h"

namespace tensorfleet::portable {

StatusOr<bool> IsTrue(const Tensor& tensor) {
  if (!tensor.shape().is_scalar()) return tensor.num_elements() > 0;
  switch (tensor.dtype()) {
    case DType::kBool:
      return tensor.scalar<bool>();
    case DType::kFloat:
      return tensor.scalar<float>() != 0;
    case DType::kDouble:
      return tensor.scalar<double>() != 0;
    case DType::kHalf:
      return static_cast<float>(tensor.scalar<Eigen::half>()) != 0;
    case DType::kBFloat16:
      return static_cast<float>(tensor.scalar<Eigen::bfloat16>()) != 0;
    case DType::kInt8:
      return tensor.scalar<int8_t>() != 0;
    case DType::kInt16:
      return tensor.scalar<int16_t>() != 0;
    case DType::kInt32:
      return tensor.scalar<int32_t>() != 0;
    case DType::kInt64:
      return tensor.scalar<int64_t>() != 0;
    case DType::kUInt8:
      return tensor.scalar<uint8_t>() != 0;
    case DType::kUInt16:
      return tensor.scalar<uint16_t>() != 0;
    case DType::kUInt32:
      return tensor.scalar<uint32_t>() != 0;
    case DType::kUInt64:
      return tensor.scalar<uint64_t>() != 0;
    case DType::kString:
      return !tensor.scalar<std::string>().empty();
    default:
      return InvalidArgument("a condition of type ", DTypeName(tensor.dtype()),
                             " is neither true nor false");
  }
}

}  // namespace tensorfleet::portable
