// `--set PATH=VALUE`: changes one field of a TFJob before it is read.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "runtime/base/status.h"

namespace tensorfleet::local {

// Sets a field of `job`. PATH is dotted and begins inside `spec` unless it begins with spec,
// metadata, kind or apiVersion; list items are given by number or name:
// tfReplicaSpecs.Worker.template.spec.containers[tensorflow].args[0]. Objects on the way are made,
// list items are not. VALUE is YAML: 4, true, [a, b]. Returns the whole path, in FieldError's form.
// Errors: InvalidArgument, naming the part of the path that does not fit.
StatusOr<std::string> ApplyOverride(const std::string& override, nlohmann::json& job);

}  // namespace tensorfleet::local
