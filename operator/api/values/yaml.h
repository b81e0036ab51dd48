// YAML as Kubernetes understands it, into JSON, with the line of every field. The one file that
// wraps yaml-cpp for objects.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::api {

struct YamlDocument {
  nlohmann::json json;
  // Lines, from 1, by the keys and indices that lead to a value, joined by '/'; "" is the document.
  std::map<std::string, int> lines;

  // The line of a field written as in FieldError ("spec.tfReplicaSpecs[Worker].replicas"), or that
  // of the nearest thing around it when the field is absent.
  int LineOf(absl::string_view field_path) const;
};

// The documents in `text`, empty ones left out. Untrusted: size, depth and alias expansion are
// limited. A key given twice is an error. Errors begin with "line N: " where the line is known.
StatusOr<std::vector<YamlDocument>> ParseYaml(const std::string& text);

// One value, such as what stands behind = on a command line: 4, true, [a, b], text.
StatusOr<nlohmann::json> ParseYamlValue(const std::string& text);

}  // namespace tensorfleet::api
