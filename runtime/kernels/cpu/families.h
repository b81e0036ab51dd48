// The families of kernels that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {
class KernelRegistry;
}

namespace tensorfleet::cpu {

void RegisterSimpleUnaryKernels(KernelRegistry& kernels);

}  // namespace tensorfleet::cpu
