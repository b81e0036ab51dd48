// A visitor (see field_facts.h) that reads the fields it is shown from JSON that may hold anything.
// A field that is absent or wrong keeps its default, and what is wrong with it is found.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/fields/field_facts.h"
#include "operator/api/fields/json_fields.h"

namespace tensorfleet::api {

class SpecVisitor {
 public:
  SpecVisitor(const Json& object, std::string path, std::vector<FieldError>& errors)
      : object_(object), path_(path), reader_(object, std::move(path), errors), errors_(errors) {}

  template <typename T>
  void Word(const char* name, T& to, const std::vector<std::string>& words,
            const FieldFacts& facts = {}) {
    MustBeThere(name, facts);
    if (Member(object_, name) == nullptr) return;
    const auto word = reader_.Word(name, words, facts.tolerable_once_started);
    if (word) {
      Set(to, *word);
    } else if (facts.tolerable_once_started) {
      Set(to, 0);
    }
  }
  template <typename T>
  void String(const char* name, T& to, const FieldFacts& = {},
              const std::vector<std::string>& = {}) {
    if (auto text = reader_.String(name)) to = *std::move(text);
  }
  void Bool(const char* name, bool& to, const FieldFacts& = {}) {
    to = reader_.Bool(name).value_or(to);
  }
  // A limit out of bounds is no limit.
  template <typename T>
  void Int(const char* name, std::optional<T>& to, const FieldFacts& facts = {}) {
    to = Whole<T>(name);
    if (!to || *to >= facts.minimum.value_or(std::numeric_limits<T>::min())) return;
    reader_.Add(Invalid(reader_.PathOf(name), absl::StrCat(*to),
                        absl::StrCat("must be greater than or equal to ", *facts.minimum)));
    to.reset();
  }
  // One that rules look at too is held to its bounds by Validate().
  void Int(const char* name, int32_t& to, const FieldFacts& = {}) {
    to = reader_.Int32(name).value_or(to);
  }

  template <typename Describes>
  void Group(const char* name, const FieldFacts&, const Describes& describe) {
    const Json* json = reader_.Object(name);
    if (json == nullptr) return;
    SpecVisitor inner(*json, reader_.PathOf(name), errors_);
    describe(inner);
  }
  template <typename T>
  void Object(const char* name, T& to, const FieldFacts& facts = {}) {
    Group(name, facts, [&to](SpecVisitor& inner) { Describe(inner, to); });
  }
  template <typename T>
  void List(const char* name, std::vector<T>& to, const FieldFacts& = {}) {
    const Json* list = reader_.Array(name);
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      SpecVisitor inner((*list)[i], absl::StrCat(reader_.PathOf(name), "[", i, "]"), errors_);
      Describe(inner, to.emplace_back());
    }
  }
  // `read` gives what is wrong with an element, or null.
  template <typename Schema, typename Read>
  void Elements(const char* name, const FieldFacts& facts, const Schema&, const Read& read) {
    const Json* list = reader_.Array(name);
    if (facts.required != nullptr && (list == nullptr || list->empty())) {
      reader_.Add(Required(reader_.PathOf(name), facts.required));
    }
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (const char* wrong = read((*list)[i])) {
        reader_.Add(Invalid(reader_.PathOf(name), Dump((*list)[i]), wrong));
      }
    }
  }
  // `read` is called for a field that is there.
  template <typename Schema, typename Read>
  void Custom(const char* name, const FieldFacts&, const Schema&, const Read& read) {
    if (const Json* json = Member(object_, name)) read(*json, reader_.PathOf(name), errors_);
  }
  template <typename Holds>
  void Rule(const CelRule& rule, const Holds& holds) {
    if (!holds(object_)) reader_.Add(Required(path_, rule.message));
  }
  void Rule(const CelRule&) {}

 private:
  void MustBeThere(const char* name, const FieldFacts& facts) {
    if (facts.required == nullptr || Member(object_, name) != nullptr) return;
    reader_.Add(Required(reader_.PathOf(name), facts.required));
  }
  template <typename T>
  static void Set(T& to, int word) {
    to = static_cast<T>(word);
  }
  template <typename T>
  static void Set(std::optional<T>& to, int word) {
    to = static_cast<T>(word);
  }
  template <typename T>
  std::optional<T> Whole(const char* name) {
    if constexpr (sizeof(T) == sizeof(int64_t)) {
      return reader_.Int64(name);
    } else {
      return reader_.Int32(name);
    }
  }

  const Json& object_;
  const std::string path_;
  FieldReader reader_;
  std::vector<FieldError>& errors_;
};

}  // namespace tensorfleet::api
