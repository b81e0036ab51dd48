#include "runtime/kernels/cpu/elementwise.h"

namespace tensorfleet::cpu {

Status UnaryKernel::Compute(KernelContext& ctx) const {
  const Tensor& in = ctx.input(0);
  const int64_t n = in.num_elements();
  const char* x = static_cast<const char*>(in.raw());
  // Stays where it was made: moving what has just been written waits for those stores.
  StatusOr<Tensor> out = ctx.ForwardOrAllocate(0, out_type_, in.shape());
  if (!out.ok()) return out.status();
  char* y = static_cast<char*>(out->mutable_raw());
  ForElements(ctx, n, ns_per_kilo_, [&](int64_t begin, int64_t end) {
    loop_(x + begin * in_size_, y + begin * out_size_, end - begin);
  });
  ctx.SetOutput(0, *std::move(out));
  return OkStatus();
}

}  // namespace tensorfleet::cpu
