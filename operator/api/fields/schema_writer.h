// A visitor (see field_facts.h) that makes an OpenAPI schema of the fields it is shown.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "operator/api/fields/field_facts.h"
#include "operator/api/replica_type.h"

namespace tensorfleet::api {

// Fields stand in the order in which they are listed.
using OrderedJson = nlohmann::ordered_json;

class SchemaWriter {
 public:
  // The schema of an object with the fields that were shown.
  OrderedJson Take();

  // One of `words`.
  template <typename T>
  void Word(const char* name, T&, const std::vector<std::string>& words,
            const FieldFacts& facts = {}) {
    Put(name, {{"type", "string"}, {"enum", words}}, facts);
  }
  // A string of which only admission says which are good, so that the reader takes any.
  template <typename T>
  void String(const char* name, T&, const FieldFacts& facts = {},
              const std::vector<std::string>& words = {}) {
    OrderedJson schema = {{"type", "string"}};
    if (!words.empty()) schema["enum"] = words;
    Put(name, std::move(schema), facts);
  }
  void Bool(const char* name, bool&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "boolean"}}, facts);
  }
  template <typename T>
  void Int(const char* name, T& value, const FieldFacts& facts = {}) {
    Put(name, IntSchema(IsLong(value)), facts);
  }
  void Number(const char* name, std::optional<double>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "number"}}, facts);
  }
  void Time(const char* name, std::optional<absl::Time>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "string"}, {"format", "date-time"}}, facts);
  }
  // A condition's status: "True" or "False", which users may write otherwise.
  void Truth(const char* name, bool&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "string"}}, facts);
  }
  // Indices in text form.
  void Indexes(const char* name, std::set<int32_t>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "string"}}, facts);
  }
  // Index to count.
  void Counts(const char* name, std::map<int32_t, int32_t>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "object"}, {"additionalProperties", IntSchema(false)}}, facts);
  }

  // An object whose fields `describe` lists.
  template <typename Describes>
  void Group(const char* name, const FieldFacts& facts, const Describes& describe) {
    SchemaWriter inner;
    describe(inner);
    Put(name, inner.Take(), facts);
  }
  template <typename T>
  void Object(const char* name, T& value, const FieldFacts& facts = {}) {
    Group(name, facts, [&value](SchemaWriter& inner) { Describe(inner, value); });
  }
  template <typename T>
  void Object(const char* name, std::optional<T>&, const FieldFacts& facts = {}) {
    Put(name, SchemaOf<T>(), facts);
  }
  template <typename T>
  void List(const char* name, std::vector<T>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "array"}, {"items", SchemaOf<T>()}}, facts);
  }
  // A list whose elements `read` takes one by one; `element` is called for their schema.
  template <typename Schema, typename Read>
  void Elements(const char* name, const FieldFacts& facts, const Schema& element, const Read&) {
    Put(name, {{"type", "array"}, {"items", element()}}, facts);
  }
  template <typename T>
  void ByType(const char* name, std::map<ReplicaType, T>&, const FieldFacts& facts = {}) {
    Put(name, {{"type", "object"}, {"additionalProperties", SchemaOf<T>()}}, facts);
  }
  // A field of a form of its own, which `read` takes; `schema` is called for its schema.
  template <typename Schema, typename Read>
  void Custom(const char* name, const FieldFacts& facts, const Schema& schema, const Read&) {
    Put(name, schema(), facts);
  }
  // A field that is kept, and neither read nor written.
  void Unused(const char* name, const OrderedJson& schema) { Put(name, schema, {}); }
  // A rule about the object as a whole; `holds` is the same for who reads it.
  template <typename Holds>
  void Rule(const CelRule& rule, const Holds&) {
    Rule(rule);
  }
  // Likewise one that only the API server can check: it knows what was there before.
  void Rule(const CelRule& rule);

  template <typename T>
  static OrderedJson SchemaOf() {
    SchemaWriter writer;
    T value;
    Describe(writer, value);
    return writer.Take();
  }

 private:
  template <typename T>
  static constexpr bool IsLong(const T&) {
    return std::is_same_v<T, int64_t> || std::is_same_v<T, std::optional<int64_t>>;
  }
  static OrderedJson IntSchema(bool is_long) {
    return {{"type", "integer"}, {"format", is_long ? "int64" : "int32"}};
  }
  void Put(const char* name, OrderedJson schema, const FieldFacts& facts);

  OrderedJson properties_ = OrderedJson::object();
  OrderedJson required_ = OrderedJson::array();
  OrderedJson rules_ = OrderedJson::array();
};

}  // namespace tensorfleet::api
