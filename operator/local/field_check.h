// Which fields of a TFJob mean something to a run on this machine. A field that nobody knows is a
// typing error and refused, as kubectl does it; one that has no effect without a cluster is named
// in a notice; one whose absence would change what a container computes is refused.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "operator/api/fields/field_error.h"

namespace tensorfleet::local {

struct FieldFindings {
  std::vector<api::FieldError> errors;
  // Paths without the replica type, each once: "template.spec.containers.resources".
  std::vector<std::string> without_effect;
};

// What the command line gives that a cluster would have.
struct Given {
  std::set<std::string> volumes;    // names of claims and volumes with a folder
  std::set<std::string> variables;  // of the environment of all containers
};

// `job` is a TFJob as read from its file.
FieldFindings CheckFields(const nlohmann::json& job, const Given& given);

}  // namespace tensorfleet::local
