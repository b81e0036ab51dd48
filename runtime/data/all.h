// Every kernel of data sets and iterators.
#pragma once

namespace tensorfleet {

class KernelRegistry;

void RegisterDataKernels(KernelRegistry& kernels);

}  // namespace tensorfleet
