#include "operator/api/objects/service.h"

#include <nlohmann/json.hpp>

namespace tensorfleet::api {

StatusOr<Service> ServiceFromJson(const nlohmann::json& object) {
  Service service;
  TFLEET_ASSIGN_OR_RETURN(service.meta, ChildMetaFromJson(object));
  return service;
}

}  // namespace tensorfleet::api
