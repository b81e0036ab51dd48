// Ops of TensorFlow that this project leaves out on purpose, with what to do instead.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// Why `op` is left out and the way around it, as a sentence; empty for an op that isn't.
std::string WhyLeftOut(absl::string_view op);

}  // namespace tensorfleet
