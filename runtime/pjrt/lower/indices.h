// Indices that are known only when a program runs. Where the kernel refuses one that is outside its
// range, so does the program (Faults).
#pragma once

#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {

// Input `i` as indices: [..., depth] tuples that count in dimensions of sizes `limits`. With
// `are_rows` it has any shape, and each of its elements is an index into one dimension. Errors:
// Unimplemented for one outside that is known already, and for types that are no indices.
StatusOr<Hlo> CheckedIndices(LoweringContext& ctx, int i, Dims limits, bool are_rows);

// The same indices, outside wherever the launch is refused: what is scattered there changes
// nothing.
Hlo GuardedIndices(LoweringContext& ctx, const Hlo& indices);

// Refuses the launch when one of the tuples of `indices` is there twice. `limits` as above.
void RefuseRepeated(LoweringContext& ctx, const Hlo& indices, Dims limits);

}  // namespace tensorfleet::pjrt
