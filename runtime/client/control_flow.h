// Loops and conditionals of dataflow, as TensorFlow's v1 front-end builds them. Both can be
// differentiated.
#pragma once

#include <functional>
#include <vector>

#include "runtime/client/scope.h"

namespace tensorfleet {

using Outputs = std::vector<Output>;

struct WhileOptions {
  std::string name = "while";
  int64_t parallel_iterations = 10;  // rounds that may be under way at once
};

// body(body(...(initial))) as long as condition holds. Ops of the loop must be built in the scope
// that the functions are given and use no output from outside: what does not change from round to
// round comes in by `constants`. `body` returns as many values as it is given, of the same types.
// Returns the variables' last values.
Outputs WhileLoop(const Scope& scope, const Outputs& initial, const Outputs& constants,
                  const std::function<Output(const Scope&, const Outputs& variables,
                                             const Outputs& constants)>& condition,
                  const std::function<Outputs(const Scope&, const Outputs& variables,
                                              const Outputs& constants)>& body,
                  const WhileOptions& options = {});

// then(inputs) where the bool scalar holds, otherwise(inputs) where not; only one of them runs. Ops
// of a branch are built in the scope that it is given, and use the inputs that it is given rather
// than outputs from outside, which would be worked out in any case. Both return values of the same
// types.
Outputs Conditional(const Scope& scope, const Output& predicate, const Outputs& inputs,
                    const std::function<Outputs(const Scope&, const Outputs&)>& then,
                    const std::function<Outputs(const Scope&, const Outputs&)>& otherwise);

}  // namespace tensorfleet
