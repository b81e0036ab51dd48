#include "runtime/train/model/initializers.h"

#include <cmath>

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

struct Fans {
  double in;
  double out;
};

// What one output depends on, and how many outputs one input has.
Fans FansOf(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1)
    return {static_cast<double>(shape.dim(0)), static_cast<double>(shape.dim(0))};
  double area = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) area *= static_cast<double>(shape.dim(i));
  return {area * static_cast<double>(shape.dim(-2)), area * static_cast<double>(shape.dim(-1))};
}

// TensorFlow's second seed when only the op has one: see graph_seed in its front-end.
constexpr int64_t kDefaultGraphSeed = 87654321;

template <typename Attrs>
Attrs Seeded(int64_t seed) {
  Attrs attrs;
  if (seed != 0) {
    attrs.seed = kDefaultGraphSeed;
    attrs.seed2 = seed;
  }
  return attrs;
}

}  // namespace

Initializer InitialValue(const Tensor& value) {
  return [value](const Scope& scope, const Shape& shape, DType dtype) {
    if (value.shape() != shape || value.dtype() != dtype) {
      scope.Fail(InvalidArgument("the initial value is ", value.ToString(), ", but the variable ",
                                 DTypeName(dtype), " ", shape.ToString()));
      return Output();
    }
    return Const(scope.Named("Initializer/initial_value"), value);
  };
}

Initializer Constant(double value) {
  return [value](const Scope& scope, const Shape& shape, DType dtype) -> Output {
    const Output scalar = ScalarConst(scope.Named("Initializer/Const"), dtype, value);
    if (shape.is_scalar()) return scalar;
    const Output dims = Ints(scope.Named("Initializer/shape_as_tensor"), shape.dims());
    return ops::Fill(scope.Named("Initializer/Fill"), dims, scalar);
  };
}

Initializer RandomUniform(double low, double high, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) -> Output {
    const Scope at = scope.Named("Initializer/random_uniform");
    const Term unit(at, ops::RandomUniform(at, Ints(at, shape.dims()), dtype,
                                           Seeded<ops::RandomUniformAttrs>(seed)));
    return unit * (high - low) + low;
  };
}

Initializer RandomNormal(double mean, double deviation, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) -> Output {
    const Scope at = scope.Named("Initializer/random_normal");
    const Term unit(at, ops::RandomStandardNormal(at, Ints(at, shape.dims()), dtype,
                                                  Seeded<ops::RandomStandardNormalAttrs>(seed)));
    return unit * deviation + mean;
  };
}

Initializer TruncatedNormal(double mean, double deviation, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) -> Output {
    const Scope at = scope.Named("Initializer/truncated_normal");
    const Term unit(at, ops::TruncatedNormal(at, Ints(at, shape.dims()), dtype,
                                             Seeded<ops::TruncatedNormalAttrs>(seed)));
    return unit * deviation + mean;
  };
}

Initializer GlorotUniform(int64_t seed) {
  return [seed](const Scope& scope, const Shape& shape, DType dtype) {
    const Fans fans = FansOf(shape);
    const double limit = std::sqrt(6 / std::max(1.0, fans.in + fans.out));
    return RandomUniform(-limit, limit, seed)(scope, shape, dtype);
  };
}

Initializer HeNormal(int64_t seed) {
  return [seed](const Scope& scope, const Shape& shape, DType dtype) {
    return TruncatedNormal(0, std::sqrt(2 / std::max(1.0, FansOf(shape).in)), seed)(scope, shape,
                                                                                    dtype);
  };
}

}  // namespace tensorfleet::train
