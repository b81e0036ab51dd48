// What the ops that save and restore a checkpoint have in common.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "runtime/io/file_system.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::portable {

// Inputs 0 to 2 of SaveV2 and RestoreV2. The spans point into the context's inputs.
struct CheckpointInputs {
  ResolvedPath prefix;
  absl::Span<const std::string> names;
  absl::Span<const std::string> shapes_and_slices;  // as many as names
};

// Errors: InvalidArgument for shapes that are not those of the ops; those of ResolvePath.
StatusOr<CheckpointInputs> ReadCheckpointInputs(const KernelContext& ctx);

}  // namespace tensorfleet::portable
