// A replica's headless service, cut down to what the rules look at.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "operator/api/objects/child_meta.h"

namespace tensorfleet::api {

struct Service {
  ChildMeta meta;
};

StatusOr<Service> ServiceFromJson(const nlohmann::json& object);

}  // namespace tensorfleet::api
