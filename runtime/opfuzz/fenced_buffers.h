// Tensors between pages that must not be touched: a kernel that reads or writes past the end of
// one, or one that is gone, ends the process, as under AddressSanitizer but at the speed of a plain
// build. What lies between a tensor and its page's end, because tensors are aligned, is checked for
// writes when it goes.
#pragma once

namespace tensorfleet::opfuzz {

// For all tensors of this process from now on.
void FenceTensors();

}  // namespace tensorfleet::opfuzz
