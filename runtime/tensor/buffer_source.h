// Where host buffers come from, for programs that watch how memory is used. A server leaves it
// alone.
#pragma once

#include "runtime/base/status.h"
#include "runtime/tensor/buffer.h"

namespace tensorfleet {

// Asked instead of the process' own allocator once it is set, for every buffer; null: nobody. To be
// set before there are threads.
using HostBufferSource = StatusOr<BufferRef> (*)(size_t size);
void SetHostBufferSource(HostBufferSource source);

}  // namespace tensorfleet
