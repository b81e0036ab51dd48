#include "operator/local/override.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/numbers.h"
#include "operator/api/values/yaml.h"

namespace tensorfleet::local {
namespace {

using nlohmann::json;

struct Part {
  std::string text;
  bool is_item = false;  // stood in brackets
};

StatusOr<std::vector<Part>> SplitPath(const std::string& path) {
  std::vector<Part> parts;
  size_t at = 0;
  while (at < path.size()) {
    const bool is_item = path[at] == '[';
    if (is_item || (at > 0 && path[at] == '.')) ++at;
    const size_t end =
        std::min(is_item ? path.find(']', at) : path.find_first_of(".[", at), path.size());
    if (end == at) return InvalidArgument("path \"", path, "\" has an empty part");
    if (is_item && end == path.size())
      return InvalidArgument("path \"", path, "\" has no closing ]");
    parts.push_back({path.substr(at, end - at), is_item});
    at = is_item ? end + 1 : end;
  }
  if (parts.empty() || parts.front().is_item)
    return InvalidArgument("path \"", path, "\" does not begin with a field");
  if (path.back() == '.') return InvalidArgument("path \"", path, "\" has an empty part");
  const std::string& root = parts.front().text;
  if (root != "spec" && root != "metadata" && root != "kind" && root != "apiVersion") {
    parts.insert(parts.begin(), {"spec", false});
  }
  return parts;
}

// The item of `list` with that number or, failing that, that name.
StatusOr<size_t> FindItem(const json& list, const std::string& wanted) {
  size_t number = 0;
  if (absl::SimpleAtoi(wanted, &number) && number < list.size()) return number;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto name = list[i].is_object() ? list[i].find("name") : list[i].end();
    if (name != list[i].end() && *name == wanted) return i;
  }
  return InvalidArgument("has no item \"", wanted, "\" among its ", list.size());
}

}  // namespace

StatusOr<std::string> ApplyOverride(const std::string& override, json& job) {
  const size_t equals = override.find('=');
  if (equals == std::string::npos) {
    return InvalidArgument("\"", override, "\" is not PATH=VALUE");
  }
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Part> parts, SplitPath(override.substr(0, equals)));
  StatusOr<json> value = api::ParseYamlValue(override.substr(equals + 1));
  if (!value.ok()) return Prefixed("value: ", value.status());
  json* at = &job;
  std::string path;
  for (const Part& part : parts) {
    if (part.is_item) {
      if (!at->is_array()) return InvalidArgument(path, " is not a list");
      StatusOr<size_t> item = FindItem(*at, part.text);
      if (!item.ok()) return Prefixed(path + " ", item.status());
      at = &(*at)[*item];
      absl::StrAppend(&path, "[", *item, "]");
      continue;
    }
    if (at->is_null()) *at = json::object();
    if (!at->is_object()) return InvalidArgument(path, " is not an object");
    // Replica types stand in brackets in the messages about them.
    path = path == "spec.tfReplicaSpecs" ? absl::StrCat(path, "[", part.text, "]")
           : path.empty()                ? part.text
                                         : absl::StrCat(path, ".", part.text);
    at = &(*at)[part.text];
  }
  *at = *std::move(value);
  return path;
}

}  // namespace tensorfleet::local
