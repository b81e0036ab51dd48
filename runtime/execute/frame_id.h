// Ids of loop frames. Rendezvous keys end with them, so every implementation has to compute the
// same ones (facts: tf-protocol.md, B.9).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet::execute {

inline constexpr uint64_t kRootFrameId = 0;

uint64_t FrameNameHash(absl::string_view frame_name);
// Of the frame whose name hashes to `name_hash`, entered in iteration `parent_iteration` of the
// frame `parent_id`.
uint64_t ChildFrameId(uint64_t parent_id, uint64_t parent_iteration, uint64_t name_hash);

}  // namespace tensorfleet::execute
