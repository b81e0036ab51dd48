// Op schemas in their message form, which functions carry.

#include "proto/op_def.pb.h"
#include "runtime/graph/op_schema.h"

namespace tensorfleet {
namespace {

StatusOr<ArgSpec> ArgFromProto(const tensorflow::OpDef::ArgDef& def) {
  ArgSpec arg;
  arg.name = def.name();
  arg.is_ref = def.is_ref();
  arg.type_attr = def.type_attr();
  arg.type_list_attr = def.type_list_attr();
  arg.number_attr = def.number_attr();
  if (arg.type_attr.empty() && arg.type_list_attr.empty()) {
    if (!IsValidDType(def.type()) || IsRef(static_cast<DType>(def.type()))) {
      return InvalidArgument("argument '", def.name(), "' has dtype ",
                             static_cast<int>(def.type()));
    }
    arg.type = static_cast<DType>(def.type());
  }
  return arg;
}

void ArgToProto(const ArgSpec& arg, tensorflow::OpDef::ArgDef* def) {
  def->set_name(arg.name);
  def->set_is_ref(arg.is_ref);
  def->set_type_attr(arg.type_attr);
  def->set_type_list_attr(arg.type_list_attr);
  def->set_number_attr(arg.number_attr);
  def->set_type(static_cast<tensorflow::DataType>(arg.type));
}

}  // namespace

StatusOr<OpSchema> OpSchemaFromProto(const tensorflow::OpDef& def) {
  OpSchema schema;
  schema.name = def.name();
  schema.is_stateful = def.is_stateful();
  schema.is_commutative = def.is_commutative();
  schema.is_aggregate = def.is_aggregate();
  schema.allows_uninitialized_input = def.allows_uninitialized_input();
  schema.doc = def.summary();
  for (const auto& attr_def : def.attr()) {
    AttrSpec attr;
    attr.name = attr_def.name();
    attr.kind = attr_def.type();
    if (attr_def.has_default_value()) attr.default_value = attr_def.default_value();
    if (attr_def.has_minimum()) attr.minimum = attr_def.minimum();
    for (const int type : attr_def.allowed_values().list().type()) {
      attr.allowed_types.push_back(static_cast<DType>(type));
    }
    for (const std::string& s : attr_def.allowed_values().list().s())
      attr.allowed_strings.push_back(s);
    schema.attrs.push_back(std::move(attr));
  }
  for (const auto& input : def.input_arg()) {
    TFLEET_ASSIGN_OR_RETURN(ArgSpec arg, ArgFromProto(input));
    schema.inputs.push_back(std::move(arg));
  }
  for (const auto& output : def.output_arg()) {
    TFLEET_ASSIGN_OR_RETURN(ArgSpec arg, ArgFromProto(output));
    schema.outputs.push_back(std::move(arg));
  }
  return schema;
}

void OpSchemaToProto(const OpSchema& schema, tensorflow::OpDef* def) {
  def->Clear();
  def->set_name(schema.name);
  def->set_is_stateful(schema.is_stateful);
  def->set_is_commutative(schema.is_commutative);
  def->set_is_aggregate(schema.is_aggregate);
  def->set_allows_uninitialized_input(schema.allows_uninitialized_input);
  def->set_summary(schema.doc);
  for (const ArgSpec& arg : schema.inputs) ArgToProto(arg, def->add_input_arg());
  for (const ArgSpec& arg : schema.outputs) ArgToProto(arg, def->add_output_arg());
  for (const AttrSpec& attr : schema.attrs) {
    auto* out = def->add_attr();
    out->set_name(attr.name);
    out->set_type(attr.kind);
    if (attr.default_value) *out->mutable_default_value() = *attr.default_value;
    if (attr.minimum) {
      out->set_has_minimum(true);
      out->set_minimum(*attr.minimum);
    }
    for (const DType type : attr.allowed_types) {
      out->mutable_allowed_values()->mutable_list()->add_type(
          static_cast<tensorflow::DataType>(type));
    }
    for (const std::string& s : attr.allowed_strings) {
      out->mutable_allowed_values()->mutable_list()->add_s(s);
    }
  }
}

}  // namespace tensorfleet
