// Kernels that count: Range, LinSpace, and Bucketize. Schemas and shape rules:
// runtime/ops/array/fill_ops.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// A number as messages show it.
template <typename T>
std::string Text(T value) {
  return Tensor::Scalar(value).SummarizeValues(1);
}

template <typename T>
StatusOr<int64_t> CountSteps(T start, T limit, T delta) {
  if (delta == T(0)) return InvalidArgument("Requires delta != 0: ", Text(delta));
  if (delta > T(0) && !(start <= limit)) {
    return InvalidArgument("Requires start <= limit when delta > 0: ", Text(start), "/",
                           Text(limit));
  }
  if (delta < T(0) && !(start >= limit)) {
    return InvalidArgument("Requires start >= limit when delta < 0: ", Text(start), "/",
                           Text(limit));
  }
  if constexpr (std::is_integral_v<T>) {
    // As unsigned numbers, whose difference and quotient cannot overflow.
    const uint64_t span = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                    : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step =
        delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t steps = span / step + (span % step != 0 ? 1 : 0);
    if (steps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return InvalidArgument("Requires ((limit - start) / delta) <= ",
                             std::numeric_limits<int64_t>::max());
    }
    return static_cast<int64_t>(steps);
  } else {
    const T steps = std::ceil(std::abs((limit - start) / delta));
    // 2^63 is a value of every floating type here; a NaN fails the comparison too.
    if (!(steps < T(9223372036854775808.0))) {
      return InvalidArgument("Requires ((limit - start) / delta) <= ",
                             std::numeric_limits<int64_t>::max());
    }
    return static_cast<int64_t>(steps);
  }
}

template <typename T>
class Range final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (shape.rank() > 1 || shape.num_elements() != 1) {
        return InvalidArgument(kNames[i], " must be a scalar, not shape ", shape.ToString());
      }
    }
    const T start = ctx.input(0).scalar<T>();
    const T delta = ctx.input(2).scalar<T>();
    TFLEET_ASSIGN_OR_RETURN(const int64_t count,
                            CountSteps(start, ctx.input(1).scalar<T>(), delta));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, {count}));
    // Adding step by step, not multiplying: the rounding is part of the result.
    T value = start;
    for (T& element : out.mutable_values<T>()) {
      element = value;
      if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;  // the sum after the last element may wrap around
        value = static_cast<T>(static_cast<Unsigned>(value) + static_cast<Unsigned>(delta));
      } else {
        value += delta;
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T>
class LinSpace final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    constexpr const char* kNames[] = {"start", "stop", "num"};
    for (int i = 0; i < 3; ++i) {
      if (!ctx.input(i).shape().is_scalar()) {
        return InvalidArgument(kNames[i], " must be a scalar, not shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    const T start = ctx.input(0).scalar<T>();
    const T stop = ctx.input(1).scalar<T>();
    const int64_t num = IntegerAt(ctx.input(2), 0);
    if (num <= 0) return InvalidArgument("Requires num > 0: ", num);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, {num}));
    auto values = out.mutable_values<T>();
    values[0] = start;
    if (num > 1) {
      const T step = (stop - start) / static_cast<T>(num - 1);
      for (int64_t i = 1; i < num - 1; ++i) {
        // Rounded after the product: a fused multiply-add would differ from TensorFlow.
        T product = step * static_cast<T>(i);
        asm("" : "+x"(product));
        values[i] = start + product;
      }
      values[num - 1] = stop;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// The number of boundaries that are at most the element.
template <typename T>
class Bucketize final : public Kernel {
 public:
  explicit Bucketize(KernelInit& init) {
    init.Get("boundaries", &boundaries_);
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      init.Fail(InvalidArgument("Expected sorted boundaries"));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt32, input.shape()));
    const auto from = input.values<T>();
    auto to = out.mutable_values<int32_t>();
    for (size_t i = 0; i < from.size(); ++i) {
      to[i] = static_cast<int32_t>(
          std::upper_bound(boundaries_.begin(), boundaries_.end(), from[i]) - boundaries_.begin());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  std::vector<float> boundaries_;
};

template <typename T>
void RegisterFor(KernelRegistry& kernels) {
  kernels.Add<Range<T>>("Range", kCpu, {{"Tidx", kDTypeOf<T>}});
  kernels.Add<Bucketize<T>>("Bucketize", kCpu, {{"T", kDTypeOf<T>}});
  if constexpr (std::is_floating_point_v<T>) {
    kernels.Add<LinSpace<T>>("LinSpace", kCpu, {{"T", kDTypeOf<T>}});
  }
}

}  // namespace

void RegisterSequenceKernels(KernelRegistry& kernels) {
  RegisterFor<float>(kernels);
  RegisterFor<double>(kernels);
  RegisterFor<int32_t>(kernels);
  RegisterFor<int64_t>(kernels);
}

}  // namespace tensorfleet::cpu
