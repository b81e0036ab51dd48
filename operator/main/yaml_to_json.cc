#include "operator/main/yaml_to_json.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = 4 << 20;
constexpr int kMaxDepth = 100;
constexpr int kMaxNodes = 1'000'000;  // after aliases are followed

json Scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  int64_t whole;
  const bool number_like = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (number_like && absl::SimpleAtoi(text, &whole)) return whole;
  double real;
  if (number_like && text.find_first_of("0123456789") != std::string::npos &&
      absl::SimpleAtod(text, &real)) {
    return real;
  }
  return text;
}

StatusOr<json> Convert(const YAML::Node& node, int depth, int* nodes) {
  if (depth > kMaxDepth) return InvalidArgument("YAML is nested more than ", kMaxDepth, " deep");
  if (++*nodes > kMaxNodes) return InvalidArgument("YAML has more than ", kMaxNodes, " nodes");
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return Scalar(node);
    case YAML::NodeType::Sequence: {
      json array = json::array();
      for (const YAML::Node& item : node) {
        TFLEET_ASSIGN_OR_RETURN(json value, Convert(item, depth + 1, nodes));
        array.push_back(std::move(value));
      }
      return array;
    }
    case YAML::NodeType::Map: {
      json object = json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) return InvalidArgument("YAML has a key that is no text");
        TFLEET_ASSIGN_OR_RETURN(object[entry.first.Scalar()],
                                Convert(entry.second, depth + 1, nodes));
      }
      return object;
    }
    default:
      return json();
  }
}

}  // namespace

StatusOr<std::vector<json>> YamlToJson(const std::string& text) {
  if (text.size() > kMaxBytes) return InvalidArgument("file is larger than ", kMaxBytes, " bytes");
  std::vector<json> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      if (node.IsNull()) continue;
      int nodes = 0;
      TFLEET_ASSIGN_OR_RETURN(json document, Convert(node, 0, &nodes));
      documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    return InvalidArgument("not YAML: ", e.what());
  }
  return documents;
}

}  // namespace tensorfleet::operator_main
