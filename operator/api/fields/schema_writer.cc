#include "operator/api/fields/schema_writer.h"

namespace tensorfleet::api {
namespace {

OrderedJson RuleJson(const CelRule& rule) {
  return {{"rule", rule.expression}, {"message", rule.message}};
}

}  // namespace

void SchemaWriter::Put(const char* name, OrderedJson schema, const FieldFacts& facts) {
  if (facts.doc != nullptr) schema["description"] = facts.doc;
  if (facts.minimum) schema["minimum"] = *facts.minimum;
  if (facts.maximum) schema["maximum"] = *facts.maximum;
  if (facts.max_length > 0) schema["maxLength"] = facts.max_length;
  if (facts.min_items > 0) schema["minItems"] = facts.min_items;
  if (facts.max_items > 0) schema["maxItems"] = facts.max_items;
  if (facts.fallback != nullptr) schema["default"] = OrderedJson::parse(facts.fallback);
  for (const CelRule& rule : facts.rules) {
    schema["x-kubernetes-validations"].push_back(RuleJson(rule));
  }
  if (facts.required != nullptr) required_.push_back(name);
  properties_[name] = std::move(schema);
}

void SchemaWriter::Rule(const CelRule& rule) { rules_.push_back(RuleJson(rule)); }

OrderedJson SchemaWriter::Take() {
  OrderedJson schema = {{"type", "object"}};
  if (!required_.empty()) schema["required"] = std::move(required_);
  if (!rules_.empty()) schema["x-kubernetes-validations"] = std::move(rules_);
  schema["properties"] = std::move(properties_);
  return schema;
}

}  // namespace tensorfleet::api
