// Reading JSON that may hold anything: a field of the wrong type is an absent field, or a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/api/fields/field_error.h"
#include "operator/api/values/timestamp.h"

namespace tensorfleet::api {

using Json = nlohmann::json;

// The member, or null when `object` is no object, has no such member, or the member is null.
inline const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

inline const Json* ObjectMember(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_object() ? member : nullptr;
}

// The elements of an array member; an empty array when it is something else.
const Json& ArrayMember(const Json& object, const char* key);

// The text, or empty.
std::string StringMember(const Json& object, const char* key);

// An integer that fits `[lowest, highest]`, or nothing.
std::optional<int64_t> IntMember(const Json& object, const char* key, int64_t lowest,
                                 int64_t highest);

inline std::optional<absl::Time> TimeMember(const Json& object, const char* key) {
  return ParseTimestamp(StringMember(object, key));
}

inline bool BoolMember(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_boolean() && member->get<bool>();
}

// One line of text, whatever the strings hold.
inline std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// True when arrays and objects are nested deeper than `limit`: such a document would exhaust the
// stack when written.
bool IsNestedDeeperThan(const Json& json, int limit);

// That `value` at `path` is not what is wanted: "an object", "a whole number".
FieldError WrongType(absl::string_view path, const Json& value, absl::string_view want);

// Reads the fields of one object and collects findings about those with a wrong type or value.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string path, std::vector<FieldError>& errors)
      : object_(object), path_(std::move(path)), errors_(errors) {}

  std::string PathOf(absl::string_view key) const { return absl::StrCat(path_, ".", key); }
  const Json* Object(const char* key);
  const Json* Array(const char* key);
  std::optional<std::string> String(const char* key);
  std::optional<bool> Bool(const char* key);
  std::optional<int32_t> Int32(const char* key);
  std::optional<int64_t> Int64(const char* key);
  // The position of the member's text in `words`; unknown words are a finding.
  std::optional<int> Word(const char* key, const std::vector<std::string>& words,
                          bool tolerable_once_started = false);
  void Add(FieldError error) { errors_.push_back(std::move(error)); }

 private:
  const Json& object_;
  const std::string path_;
  std::vector<FieldError>& errors_;
};

}  // namespace tensorfleet::api
