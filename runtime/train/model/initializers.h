// Initial values of variables.
#pragma once

#include <functional>

#include "runtime/client/scope.h"

namespace tensorfleet::train {

// Adds the ops that make a value of this shape and type.
using Initializer = std::function<Output(const Scope& scope, const Shape& shape, DType dtype)>;

// The given value; `shape` and type must be the value's own.
Initializer InitialValue(const Tensor& value);
Initializer Constant(double value);
inline Initializer Zeros() { return Constant(0); }
inline Initializer Ones() { return Constant(1); }

// Random ones. Seed 0 gives other numbers in every run of the program.
Initializer RandomUniform(double low, double high, int64_t seed = 0);
Initializer RandomNormal(double mean, double deviation, int64_t seed = 0);
// Normal numbers of which those beyond two deviations are drawn again.
Initializer TruncatedNormal(double mean, double deviation, int64_t seed = 0);
// Uniform within sqrt(6 / (inputs + outputs)), and normal with deviation sqrt(2 / inputs), both by
// the sizes of the layer: of a matrix its rows and columns, of a filter those times its area.
Initializer GlorotUniform(int64_t seed = 0);
Initializer HeNormal(int64_t seed = 0);

}  // namespace tensorfleet::train
