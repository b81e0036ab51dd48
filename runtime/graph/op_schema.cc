#include "runtime/graph/op_schema.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "runtime/base/check.h"
#include "runtime/graph/left_out_ops.h"
#include "runtime/graph/op_schema_text.h"

namespace tensorfleet {
namespace {

std::string HostName() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string ArgToString(const ArgSpec& arg) {
  std::string type = !arg.type_attr.empty()        ? arg.type_attr
                     : !arg.type_list_attr.empty() ? arg.type_list_attr
                                                   : DTypeName(arg.type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, "*", type);
  return absl::StrCat(arg.name, ":", type);
}

std::string ArgsToString(const std::vector<ArgSpec>& args) {
  return absl::StrJoin(args, ", ",
                       [](std::string* out, const ArgSpec& arg) { out->append(ArgToString(arg)); });
}

}  // namespace

const AttrSpec* OpSchema::FindAttr(absl::string_view attr_name) const {
  for (const AttrSpec& attr : attrs) {
    if (attr.name == attr_name) return &attr;
  }
  return nullptr;
}

std::string OpSchema::Summary() const {
  std::string out = absl::StrCat("Op<name=", name, "; signature=", ArgsToString(inputs), " -> ",
                                 ArgsToString(outputs));
  for (const AttrSpec& attr : attrs) {
    absl::StrAppend(&out, "; attr=", attr.name, ":", attr.kind);
    if (!attr.allowed_types.empty()) {
      absl::StrAppend(&out, ",allowed=[",
                      absl::StrJoin(attr.allowed_types, ", ",
                                    [](std::string* o, DType t) { o->append(DTypeName(t)); }),
                      "]");
    }
    if (!attr.allowed_strings.empty()) {
      absl::StrAppend(&out, ",allowed=[\"", absl::StrJoin(attr.allowed_strings, "\", \""), "\"]");
    }
    if (attr.minimum) absl::StrAppend(&out, ",min=", *attr.minimum);
    if (attr.default_value) {
      absl::StrAppend(&out, ",default=", attr.default_value->ShortDebugString());
    }
  }
  if (is_stateful) out += "; is_stateful=true";
  return out + ">";
}

OpSchemaBuilder::OpSchemaBuilder(absl::string_view name) : name_(name) {}
OpSchemaBuilder& OpSchemaBuilder::Input(absl::string_view spec) {
  inputs_.emplace_back(spec);
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Output(absl::string_view spec) {
  outputs_.emplace_back(spec);
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Attr(absl::string_view spec) {
  attrs_.emplace_back(spec);
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Stateful() {
  stateful_ = true;
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Commutative() {
  commutative_ = true;
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Aggregate() {
  aggregate_ = true;
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::AllowsUninitializedInput() {
  uninit_ok_ = true;
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Shape(ShapeFn fn) {
  shape_fn_ = fn;
  return *this;
}
OpSchemaBuilder& OpSchemaBuilder::Doc(absl::string_view doc) {
  doc_ = std::string(doc);
  return *this;
}

StatusOr<OpSchema> OpSchemaBuilder::Build() const {
  OpSchema schema;
  schema.name = name_;
  schema.is_stateful = stateful_;
  schema.is_commutative = commutative_;
  schema.is_aggregate = aggregate_;
  schema.allows_uninitialized_input = uninit_ok_;
  schema.shape_fn = shape_fn_;
  schema.doc = doc_;
  const auto in_op = [&](const Status& status) {
    return Prefixed(absl::StrCat("schema of op ", name_, ": "), status);
  };
  for (const std::string& text : attrs_) {
    StatusOr<AttrSpec> attr = ParseAttrSpec(text);
    if (!attr.ok()) return in_op(attr.status());
    schema.attrs.push_back(*std::move(attr));
  }
  for (auto [texts, args] : {std::pair(&inputs_, &schema.inputs), {&outputs_, &schema.outputs}}) {
    for (const std::string& text : *texts) {
      StatusOr<ArgSpec> arg = ParseArgSpec(text, schema);
      if (!arg.ok()) return in_op(arg.status());
      args->push_back(*std::move(arg));
    }
  }
  return schema;
}

void OpRegistry::Add(OpSchemaBuilder builder) {
  MutexLock lock(&mu_);
  const std::string name = builder.name();
  const bool added = entries_.try_emplace(name, Entry{std::move(builder), nullptr}).second;
  TFLEET_CHECK(added);
}

StatusOr<const OpSchema*> OpRegistry::Find(absl::string_view op) const {
  MutexLock lock(&mu_);
  const auto it = entries_.find(op);
  if (it == entries_.end()) {
    const std::string why = WhyLeftOut(op);
    return NotFound("Op type not registered '", op, "' in binary running on ", HostName(), ". ",
                    why.empty() ? "" : absl::StrCat("It is left out: ", why, ". "),
                    "`tensorfleet ops` lists the ops that this version runs.");
  }
  Entry& entry = it->second;
  if (entry.schema == nullptr) {
    TFLEET_ASSIGN_OR_RETURN(OpSchema schema, entry.builder.Build());
    entry.schema = std::make_unique<const OpSchema>(std::move(schema));
  }
  return entry.schema.get();
}

std::vector<std::string> OpRegistry::Names() const {
  MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tensorfleet
