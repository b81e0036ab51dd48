// What is known of a field beside its name and type. The fields of a TFJob are listed once, in
// spec_fields.cc and status_fields.cc, by templates
//
//   template <typename Visitor> void Describe(Visitor& v, Part& part);
//
// which name each field of a part together with the member that holds it. A visitor that reads
// fills the members from JSON, one that writes does the opposite, and SchemaWriter makes of the
// same lines what the API server is told: a field cannot be in one and not in the others.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tensorfleet::api {

// A rule in CEL that the API server holds a value to, and what it answers.
struct CelRule {
  const char* expression;
  const char* message;
};

struct FieldFacts {
  const char* doc = nullptr;
  // Why there must be a value, as an answer to who left it out; null: there need not.
  const char* required = nullptr;
  std::optional<int64_t> minimum = std::nullopt;
  std::optional<int64_t> maximum = std::nullopt;
  int max_length = 0;  // of a string; 0: any
  int min_items = 0;   // of a list
  int max_items = 0;   // likewise; 0: any
  // JSON that the API server fills in where there is no value; null: nothing.
  const char* fallback = nullptr;
  // training-operator took any word and gave the unknown ones the meaning of the first.
  bool tolerable_once_started = false;
  std::vector<CelRule> rules = {};
};

}  // namespace tensorfleet::api
