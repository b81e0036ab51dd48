// The state of a random generator in a variable: a vector of int64, the counter (two numbers) and
// the key.
#pragma once

#include "runtime/kernels/cpu/state/variable_update.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::cpu {

class GeneratorState {
 public:
  static constexpr int64_t kSize = 3;

  explicit GeneratorState(KernelInit& init) : variables_(init, 1) {}

  // Where input 0's generator stands, which then steps over `blocks`. The algorithm is in scalar
  // input 1 or, with `is_tagged`, the first number of the state. `state` gets the numbers as they
  // were. Errors: InvalidArgument; those of VariableUpdate::Lock.
  StatusOr<Philox> Take(KernelContext& ctx, uint64_t blocks, bool is_tagged = false,
                        int64_t* state = nullptr) const;

 private:
  const VariableInputs variables_;
};

}  // namespace tensorfleet::cpu
