// YAML as Kubernetes understands it, into JSON. The one file that wraps yaml-cpp for it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace tensorfleet::operator_main {

// The documents in `text`, empty ones left out. Untrusted: size, depth and alias expansion are
// limited.
StatusOr<std::vector<nlohmann::json>> YamlToJson(const std::string& text);

}  // namespace tensorfleet::operator_main
