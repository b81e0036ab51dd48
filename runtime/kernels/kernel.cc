#include "runtime/kernels/kernel.h"

#include "runtime/base/check.h"

namespace tensorfleet {

Status AsyncKernel::Compute(KernelContext&) const {
  TFLEET_CHECK(false && "asynchronous kernels are run by ComputeAsync");
  return Internal("unreachable");
}

}  // namespace tensorfleet
