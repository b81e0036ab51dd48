// The pod group of a gang-scheduled job: Volcano's or that of scheduler-plugins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "operator/api/objects/child_meta.h"

namespace tensorfleet::api {

struct PodGroup {
  ChildMeta meta;
  std::string phase;  // status.phase; empty until a scheduler has seen it
  int32_t min_member = 0;
  std::string queue;                                 // Volcano only
  std::string priority_class;                        // Volcano only
  std::optional<int32_t> schedule_timeout_seconds;   // scheduler-plugins only
  std::map<std::string, std::string> min_resources;  // name -> quantity as stored
};

StatusOr<PodGroup> PodGroupFromJson(const nlohmann::json& object);

}  // namespace tensorfleet::api
