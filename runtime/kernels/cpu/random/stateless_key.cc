#include "runtime/kernels/cpu/random/stateless_key.h"

#include "runtime/kernels/cpu/index_input.h"

namespace tensorfleet::cpu {

StatusOr<KeyAndCounter> Scramble(const Tensor& seed) {
  if (seed.rank() != 1 || seed.num_elements() != 2) {
    return InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  }
  const uint64_t first = static_cast<uint64_t>(IntegerAt(seed, 0));
  const uint64_t second = static_cast<uint64_t>(IntegerAt(seed, 1));
  constexpr uint64_t kScrambleKey = 0x02461e293ec8f720;
  const Philox::Block mixed = Philox(kScrambleKey, first, second).Next();
  return KeyAndCounter{mixed[0] | (uint64_t{mixed[1]} << 32),
                       {0, mixed[2] | (uint64_t{mixed[3]} << 32)}};
}

StatusOr<Philox> ReadGenerator(const KernelContext& ctx, int first) {
  const Tensor& key = ctx.input(first);
  const Tensor& counter = ctx.input(first + 1);
  const Tensor& alg = ctx.input(first + 2);
  if (!alg.shape().is_scalar()) {
    return InvalidArgument("algorithm must be of shape [], not ", alg.shape().ToString());
  }
  const int64_t algorithm = IntegerAt(alg, 0);
  if (algorithm != kPhilox && algorithm != kAuto) {
    return InvalidArgument("Unsupported algorithm id: ", algorithm);
  }
  if (key.rank() != 1 || key.dim(0) != 1) {
    return InvalidArgument("key must have shape [1], not ", key.shape().ToString(),
                           ". (Note that batched keys are not supported yet.)");
  }
  if (counter.rank() != 1 || counter.dim(0) < 2) {
    return InvalidArgument(
        "counter must be a vector of at least 2 elements for the Philox "
        "algorithm; got shape ",
        counter.shape().ToString());
  }
  const auto words = counter.values<uint64_t>();
  return Philox(key.values<uint64_t>()[0], words[0], words[1]);
}

}  // namespace tensorfleet::cpu
