#include "runtime/kernels/cpu/random/multinomial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Core>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/random_fill.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
void WidenLogits(const Tensor& logits, std::vector<double>* wide) {
  for (const T x : logits.values<T>()) wide->push_back(static_cast<double>(x));
}

std::vector<double> Logits(const Tensor& logits) {
  std::vector<double> wide;
  wide.reserve(logits.num_elements());
  switch (logits.dtype()) {
    case DType::kHalf:
      WidenLogits<Eigen::half>(logits, &wide);
      break;
    case DType::kBFloat16:
      WidenLogits<Eigen::bfloat16>(logits, &wide);
      break;
    case DType::kFloat:
      WidenLogits<float>(logits, &wide);
      break;
    default:
      WidenLogits<double>(logits, &wide);
      break;
  }
  return wide;
}

}  // namespace

StatusOr<int64_t> CheckMultinomial(const Tensor& logits, const Tensor& num_samples) {
  if (logits.rank() != 2) {
    return InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  if (!num_samples.shape().is_scalar()) {
    return InvalidArgument("num_samples should be a scalar, got shape ",
                           num_samples.shape().ToString());
  }
  const int64_t samples = IntegerAt(num_samples, 0);
  if (samples < 0) return InvalidArgument("num_samples should be nonnegative, got ", samples);
  if (logits.dim(1) <= 0 && logits.dim(0) > 0) {
    return InvalidArgument("num_classes should be positive, got ", logits.dim(1));
  }
  return samples;
}

StatusOr<Tensor> SampleMultinomial(const KernelContext& ctx, Philox from, const Tensor& logits,
                                   int64_t samples, DType dtype) {
  const int64_t batch = logits.dim(0);
  const int64_t classes = logits.dim(1);
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({batch, samples}));
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, shape));
  const std::vector<double> wide = Logits(logits);
  PhiloxWords words(from);
  std::vector<double> cumulative(classes);
  for (int64_t row = 0; row < batch; ++row) {
    const double* x = wide.data() + row * classes;
    double most = std::numeric_limits<double>::lowest();
    for (int64_t c = 0; c < classes; ++c) {
      if (std::isfinite(x[c])) most = std::max(most, x[c]);
    }
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) {
      if (std::isfinite(x[c])) total += std::exp(x[c] - most);
      cumulative[c] = total;
    }
    for (int64_t s = 0; s < samples; ++s) {
      const uint32_t high = words.Next();
      const uint32_t low = words.Next();
      const double target = UnitDouble(high, low) * total;
      const int64_t found =
          std::upper_bound(cumulative.begin(), cumulative.end(), target) - cumulative.begin();
      if (dtype == DType::kInt32) {
        out.mutable_values<int32_t>()[row * samples + s] = static_cast<int32_t>(found);
      } else {
        out.mutable_values<int64_t>()[row * samples + s] = found;
      }
    }
  }
  return out;
}

}  // namespace tensorfleet::cpu
