// Sets of replica indices in the compact text form of status: "0,2-5".
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet::api {

// A job has fewer replicas of a type than this; larger indices are not believed.
inline constexpr int32_t kMaxReplicas = 10'000;

std::string IndexSetToString(const std::set<int32_t>& indexes);
// Leaves out what is no index or range of indices below kMaxReplicas.
std::set<int32_t> ParseIndexSet(absl::string_view text);

}  // namespace tensorfleet::api
