#include "operator/api/fields/json_fields.h"

#include <limits>

namespace tensorfleet::api {

const Json& ArrayMember(const Json& object, const char* key) {
  static const Json* const kEmpty = new Json(Json::array());
  const Json* member = Member(object, key);
  return member != nullptr && member->is_array() ? *member : *kEmpty;
}

std::string StringMember(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

std::optional<int64_t> IntMember(const Json& object, const char* key, int64_t lowest,
                                 int64_t highest) {
  const Json* member = Member(object, key);
  if (member == nullptr || !member->is_number_integer()) return std::nullopt;
  if (member->is_number_unsigned() &&
      member->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  const int64_t value = member->get<int64_t>();
  if (value < lowest || value > highest) return std::nullopt;
  return value;
}

bool IsNestedDeeperThan(const Json& json, int limit) {
  if (!json.is_structured()) return false;
  if (limit == 0) return true;
  for (const Json& child : json) {
    if (IsNestedDeeperThan(child, limit - 1)) return true;
  }
  return false;
}

FieldError WrongType(absl::string_view path, const Json& value, absl::string_view want) {
  const std::string shown = value.is_structured() ? value.type_name() : Dump(value);
  return Invalid(path, shown, absl::StrCat("must be ", want));
}

const Json* FieldReader::Object(const char* key) {
  const Json* member = Member(object_, key);
  if (member == nullptr || member->is_object()) return member;
  Add(WrongType(PathOf(key), *member, "an object"));
  return nullptr;
}

const Json* FieldReader::Array(const char* key) {
  const Json* member = Member(object_, key);
  if (member == nullptr || member->is_array()) return member;
  Add(WrongType(PathOf(key), *member, "a list"));
  return nullptr;
}

std::optional<std::string> FieldReader::String(const char* key) {
  const Json* member = Member(object_, key);
  if (member == nullptr) return std::nullopt;
  if (member->is_string()) return member->get<std::string>();
  Add(WrongType(PathOf(key), *member, "a string"));
  return std::nullopt;
}

std::optional<bool> FieldReader::Bool(const char* key) {
  const Json* member = Member(object_, key);
  if (member == nullptr) return std::nullopt;
  if (member->is_boolean()) return member->get<bool>();
  Add(WrongType(PathOf(key), *member, "true or false"));
  return std::nullopt;
}

std::optional<int64_t> FieldReader::Int64(const char* key) {
  const Json* member = Member(object_, key);
  if (member == nullptr) return std::nullopt;
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  if (auto value = IntMember(object_, key, kLowest, kHighest)) return value;
  Add(WrongType(PathOf(key), *member, "a whole number"));
  return std::nullopt;
}

std::optional<int32_t> FieldReader::Int32(const char* key) {
  const auto value = Int64(key);
  if (!value) return std::nullopt;
  if (*value == static_cast<int32_t>(*value)) return static_cast<int32_t>(*value);
  errors_.push_back(Invalid(PathOf(key), absl::StrCat(*value), "must fit into 32 bits"));
  return std::nullopt;
}

std::optional<int> FieldReader::Word(const char* key, const std::vector<std::string>& words,
                                     bool tolerable_once_started) {
  const auto text = String(key);
  if (!text) return std::nullopt;
  for (size_t i = 0; i < words.size(); ++i) {
    if (*text == words[i]) return static_cast<int>(i);
  }
  FieldError error = Unsupported(PathOf(key), *text, words);
  error.tolerable_once_started = tolerable_once_started;
  errors_.push_back(std::move(error));
  return std::nullopt;
}

}  // namespace tensorfleet::api
