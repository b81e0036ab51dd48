// What kernels that ask an iterator for an element share.
#pragma once

#include "runtime/data/iterator_resource.h"

namespace tensorfleet::data {

// The next element of the iterator in input 0; `done` is called once, here or on another thread.
void NextElement(KernelContext& ctx, IteratorRun::Done done);

}  // namespace tensorfleet::data
