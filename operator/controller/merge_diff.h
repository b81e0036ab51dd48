// The smallest RFC 7386 merge patch from one JSON value to another.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tensorfleet::controller {

// For objects: members that differ, null for those that are gone. An empty object when nothing
// differs.
nlohmann::json MergeDiff(const nlohmann::json& from, const nlohmann::json& to);

}  // namespace tensorfleet::controller
