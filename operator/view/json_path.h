// Reading objects of the API server that need not have the form that is expected: what is missing,
// or of another type, is as if it were empty.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace tensorfleet::view {

using Path = std::initializer_list<const char*>;

// The value behind the keys; null where there is none.
inline const nlohmann::json* Find(const nlohmann::json& object, Path path) {
  const nlohmann::json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

inline std::string TextAt(const nlohmann::json& object, Path path) {
  const nlohmann::json* const found = Find(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

inline int64_t IntegerAt(const nlohmann::json& object, Path path) {
  const nlohmann::json* const found = Find(object, path);
  return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// The elements of an array; none where there is no array.
inline const nlohmann::json& ListAt(const nlohmann::json& object, Path path) {
  static const nlohmann::json* const none = new nlohmann::json(nlohmann::json::array());
  const nlohmann::json* const found = Find(object, path);
  return found != nullptr && found->is_array() ? *found : *none;
}

}  // namespace tensorfleet::view
