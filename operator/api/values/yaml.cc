#include "operator/api/values/yaml.h"

#include <yaml-cpp/yaml.h>

#include "absl/strings/numbers.h"

namespace tensorfleet::api {
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

int LineOfNode(const YAML::Node& node) { return node.Mark().line + 1; }

class Converter {
 public:
  explicit Converter(std::map<std::string, int>* lines) : lines_(lines) {}

  StatusOr<json> Convert(const YAML::Node& node, const std::string& path, int depth) {
    const int line = LineOfNode(node);
    if (depth > kMaxDepth)
      return InvalidArgument("line ", line, ": YAML is nested more than ", kMaxDepth, " deep");
    if (++nodes_ > kMaxNodes)
      return InvalidArgument("line ", line, ": YAML has more than ", kMaxNodes, " nodes");
    Note(path, line);
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return Scalar(node);
      case YAML::NodeType::Sequence:
        return Sequence(node, path, depth);
      case YAML::NodeType::Map:
        return Map(node, path, depth);
      default:
        return json();
    }
  }

 private:
  void Note(const std::string& path, int line) {
    constexpr size_t kMaxLines = 50'000;
    if (lines_->size() < kMaxLines) lines_->emplace(path, line);
  }

  // Below a path that no field of ours has, everything has that path's line: a hostile document
  // must not make its keys many times as large as it is.
  static std::string Below(const std::string& path, absl::string_view key) {
    constexpr size_t kMaxPath = 256;
    if (path.size() + key.size() > kMaxPath) return path;
    return path.empty() ? std::string(key) : absl::StrCat(path, "/", key);
  }

  StatusOr<json> Sequence(const YAML::Node& node, const std::string& path, int depth) {
    json array = json::array();
    for (const YAML::Node& item : node) {
      TFLEET_ASSIGN_OR_RETURN(json value,
                              Convert(item, Below(path, absl::StrCat(array.size())), depth + 1));
      array.push_back(std::move(value));
    }
    return array;
  }

  StatusOr<json> Map(const YAML::Node& node, const std::string& path, int depth) {
    json object = json::object();
    for (const auto& entry : node) {
      const int line = LineOfNode(entry.first);
      if (!entry.first.IsScalar())
        return InvalidArgument("line ", line, ": YAML has a key that is no text");
      const std::string& key = entry.first.Scalar();
      if (object.contains(key))
        return InvalidArgument("line ", line, ": key \"", key, "\" is given twice");
      // The key's line is where people look; a value may begin on the next.
      Note(Below(path, key), line);
      TFLEET_ASSIGN_OR_RETURN(object[key], Convert(entry.second, Below(path, key), depth + 1));
    }
    return object;
  }

  std::map<std::string, int>* const lines_;
  int nodes_ = 0;
};

}  // namespace

int YamlDocument::LineOf(absl::string_view field_path) const {
  std::string path;
  for (const char c : field_path) {
    if (c == ']') continue;
    path += c == '.' || c == '[' ? '/' : c;
  }
  while (true) {
    const auto found = lines.find(path);
    if (found != lines.end()) return found->second;
    const size_t slash = path.rfind('/');
    if (path.empty()) return 1;
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

StatusOr<std::vector<YamlDocument>> ParseYaml(const std::string& text) {
  if (text.size() > kMaxBytes) return InvalidArgument("file is larger than ", kMaxBytes, " bytes");
  std::vector<YamlDocument> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      if (node.IsNull()) continue;
      YamlDocument document;
      TFLEET_ASSIGN_OR_RETURN(document.json, Converter(&document.lines).Convert(node, "", 0));
      documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    return InvalidArgument("line ", e.mark.line + 1, ": not YAML: ", e.msg);
  }
  return documents;
}

StatusOr<json> ParseYamlValue(const std::string& text) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<YamlDocument> documents, ParseYaml(text));
  if (documents.size() > 1) return InvalidArgument("is more than one YAML document");
  return documents.empty() ? json() : std::move(documents.front().json);
}

}  // namespace tensorfleet::api
