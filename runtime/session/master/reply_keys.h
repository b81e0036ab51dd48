// A short cut that the protocol allows: what a remote piece makes for the master's own task can
// come back in the reply to RunGraph, instead of being fetched by a call of its own once the step
// runs. That saves a round trip when a step only reads variables of another task. TensorFlow's
// workers return only what is sent to themselves, and refuse these keys.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// The keys of all that `piece` sends, when all of it goes to `task` and is small, and the piece
// only reads state and waits for nobody; empty otherwise, when fetching each value as soon as it is
// made is better.
std::vector<std::string> ReplyKeys(const Graph& piece, absl::string_view task);

}  // namespace tensorfleet
