// Handing an input on as an output, whether it is a value or a reference.
#pragma once

#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::portable {

inline void PassOn(KernelContext& ctx, int input, int output) {
  if (ctx.ref_input_ptr(input)) {
    ctx.SetRefOutput(output, ctx.ref_input_ptr(input));
  } else {
    ctx.SetOutput(output, ctx.TakeInput(input));
  }
}

}  // namespace tensorfleet::portable
