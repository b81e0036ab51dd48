#include "runtime/kernels/cpu/random/generator_state.h"

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/stateless_key.h"

namespace tensorfleet::cpu {

StatusOr<Philox> GeneratorState::Take(KernelContext& ctx, uint64_t blocks, bool is_tagged,
                                      int64_t* state) const {
  if (!is_tagged && ctx.input(1).rank() != 0) {
    return InvalidArgument("input 1 (0-based) must have shape [], not ",
                           ctx.input(1).shape().ToString());
  }
  VariableUpdate update;
  TFLEET_RETURN_IF_ERROR(update.Lock(ctx, variables_, 1, DType::kInt64));
  const Shape& shape = update.value(0).shape();
  if (shape.rank() != 1) {
    return InvalidArgument("RNG state must have one and only one dimension, not ", shape.rank());
  }
  const int64_t skip = is_tagged ? 1 : 0;
  if (shape.dim(0) < skip) return InvalidArgument("Size of tensor must be at least 1");
  const int64_t algorithm = is_tagged ? update.source<int64_t>(0)[0] : IntegerAt(ctx.input(1), 0);
  if (algorithm != kPhilox) return InvalidArgument("Unsupported algorithm id: ", algorithm);
  if (shape.dim(0) < skip + kSize) {
    return InvalidArgument("For the Philox algorithm, the size of state must be at least ",
                           skip + kSize, "; got ", shape.dim(0));
  }
  TFLEET_RETURN_IF_ERROR(update.PrepareInPlace(0));
  int64_t* const numbers = update.target<int64_t>(0) + skip;
  if (state != nullptr) std::copy_n(numbers, kSize, state);
  const uint64_t low = static_cast<uint64_t>(numbers[0]), high = static_cast<uint64_t>(numbers[1]);
  const Philox here(static_cast<uint64_t>(numbers[2]), low, high);
  numbers[0] = static_cast<int64_t>(low + blocks);
  numbers[1] = static_cast<int64_t>(high + (low + blocks < low ? 1 : 0));
  return here;
}

}  // namespace tensorfleet::cpu
