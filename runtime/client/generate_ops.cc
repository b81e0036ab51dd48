// Writes runtime/client/ops.h and ops.cc: one documented, typed function per op, from the op
// schemas. Usage: generate_ops HEADER SOURCE. Run by the build; its output is never committed.

#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/graph/op_schema.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

// Ops of pairs of nodes that partitioning and calling make, and loops' frames: not for people to
// call.
bool IsForPeople(const std::string& op) { return !absl::StartsWith(op, "_"); }

const std::set<std::string>& Reserved() {
  static const auto* words = new std::set<std::string>{
      "and",    "bool",   "case",      "char", "class", "const",    "default",  "delete",
      "do",     "double", "else",      "enum", "false", "float",    "for",      "if",
      "int",    "long",   "namespace", "new",  "not",   "or",       "short",    "signed",
      "static", "struct", "switch",    "this", "true",  "typename", "union",    "unsigned",
      "using",  "void",   "while",     "xor",  "scope", "attrs",    "template", "operator"};
  return *words;
}

std::string Identifier(const std::string& name) {
  return Reserved().contains(name) ? name + "_" : name;
}

// The C++ type of an attribute of this kind.
std::string CppType(const std::string& kind) {
  if (kind == "int") return "int64_t";
  if (kind == "float") return "float";
  if (kind == "bool") return "bool";
  if (kind == "string") return "std::string";
  if (kind == "type") return "DType";
  if (kind == "shape") return "PartialShape";
  if (kind == "tensor") return "Tensor";
  if (kind == "func") return "tensorflow::NameAttrList";
  if (kind == "list(int)") return "std::vector<int64_t>";
  if (kind == "list(float)") return "std::vector<float>";
  if (kind == "list(bool)") return "std::vector<bool>";
  if (kind == "list(string)") return "std::vector<std::string>";
  if (kind == "list(type)") return "std::vector<DType>";
  if (kind == "list(shape)") return "std::vector<PartialShape>";
  return "";
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string DTypeLiteral(int number) { return absl::StrCat("static_cast<DType>(", number, ")"); }

// The default of an optional attribute as C++; nothing when it is what the type's own default is.
std::string DefaultOf(const AttrSpec& attr) {
  const tensorflow::AttrValue& v = *attr.default_value;
  const auto list = [](const auto& items, auto format) {
    return absl::StrCat(" = {", absl::StrJoin(items, ", ", format), "}");
  };
  if (attr.kind == "int") return absl::StrCat(" = ", v.i());
  if (attr.kind == "float") return absl::StrCat(" = static_cast<float>(", v.f(), ")");
  if (attr.kind == "bool") return v.b() ? " = true" : " = false";
  if (attr.kind == "string") return v.s().empty() ? "" : absl::StrCat(" = ", Quoted(v.s()));
  if (attr.kind == "type") return absl::StrCat(" = ", DTypeLiteral(v.type()));
  if (attr.kind == "shape") {
    if (v.shape().unknown_rank()) return "";
    std::vector<int64_t> dims;
    for (const auto& d : v.shape().dim()) dims.push_back(d.size());
    return absl::StrCat(" = PartialShape({", absl::StrJoin(dims, ", "), "})");
  }
  if (attr.kind == "list(int)") {
    return list(v.list().i(), [](std::string* out, int64_t i) { absl::StrAppend(out, i); });
  }
  if (attr.kind == "list(string)") {
    return list(v.list().s(),
                [](std::string* out, const std::string& s) { out->append(Quoted(s)); });
  }
  if (attr.kind == "list(type)") {
    return list(v.list().type(), [](std::string* out, int t) { out->append(DTypeLiteral(t)); });
  }
  return "";
}

bool IsList(const ArgSpec& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

// Everything that is written for one op.
class OpFunction {
 public:
  explicit OpFunction(const OpSchema& schema) : schema_(schema) {
    for (const ArgSpec& input : schema.inputs) {
      if (!input.type_attr.empty()) inferred_.insert(input.type_attr);
      if (!input.type_list_attr.empty()) inferred_.insert(input.type_list_attr);
      if (!input.number_attr.empty()) inferred_.insert(input.number_attr);
    }
    for (const AttrSpec& attr : schema.attrs) {
      if (inferred_.contains(attr.name)) continue;
      if (CppType(attr.kind).empty()) supported_ = false;
      (attr.default_value ? optional_ : required_).push_back(&attr);
    }
  }

  // Ops with attributes of kinds that have no C++ form are left to Scope::AddOp.
  bool supported() const { return supported_; }

  void WriteHeader(std::ostream& out) const {
    if (!optional_.empty()) {
      out << "// Optional attributes of " << schema_.name << ".\n";
      out << "struct " << schema_.name << "Attrs {\n";
      for (const AttrSpec* attr : optional_) {
        out << "  " << CppType(attr->kind) << " " << Identifier(attr->name) << DefaultOf(*attr)
            << ";\n";
      }
      out << "};\n";
    }
    if (schema_.outputs.size() > 1) {
      out << "struct " << schema_.name << "Outputs {\n";
      for (const ArgSpec& output : schema_.outputs) {
        out << "  " << (IsList(output) ? "std::vector<Output> " : "Output ")
            << Identifier(output.name) << ";\n";
      }
      out << "  Operation op;\n};\n";
    }
    out << Documentation() << Signature(/*with_defaults=*/true) << ";\n\n";
  }

  void WriteSource(std::ostream& out) const {
    out << Signature(/*with_defaults=*/false) << " {\n  std::vector<Output> flat_inputs_;\n";
    for (const ArgSpec& input : schema_.inputs) {
      const std::string name = Identifier(input.name);
      if (IsList(input)) {
        out << "  flat_inputs_.insert(flat_inputs_.end(), " << name << ".begin(), " << name
            << ".end());\n";
      } else {
        out << "  flat_inputs_.push_back(" << name << ");\n";
      }
    }
    out << "  Node* node_ = scope.AddOp(\"" << schema_.name
        << "\", flat_inputs_, [&](tensorflow::NodeDef* def) {\n";
    WriteInferredAttrs(out);
    for (const AttrSpec* attr : required_) WriteAttr(out, *attr, "");
    for (const AttrSpec* attr : optional_) WriteAttr(out, *attr, "attrs.");
    out << "    (void)def;\n  });\n";
    WriteReturn(out);
    out << "}\n\n";
  }

 private:
  std::string ReturnType() const {
    if (schema_.outputs.empty()) return "Operation";
    if (schema_.outputs.size() > 1) return absl::StrCat(schema_.name, "Outputs");
    return IsList(schema_.outputs[0]) ? "std::vector<Output>" : "Output";
  }

  std::string Signature(bool with_defaults) const {
    std::vector<std::string> params = {"const Scope& scope"};
    for (const ArgSpec& input : schema_.inputs) {
      params.push_back(absl::StrCat(IsList(input) ? "absl::Span<const Output> " : "const Output& ",
                                    Identifier(input.name)));
    }
    for (const AttrSpec* attr : required_) {
      params.push_back(absl::StrCat("const ", CppType(attr->kind), "& ", Identifier(attr->name)));
    }
    if (!optional_.empty()) {
      params.push_back(
          absl::StrCat("const ", schema_.name, "Attrs& attrs", with_defaults ? " = {}" : ""));
    }
    return absl::StrCat(ReturnType(), " ", schema_.name, "(", absl::StrJoin(params, ", "), ")");
  }

  std::string Documentation() const {
    std::string doc =
        schema_.doc.empty() ? absl::StrCat("The op ", schema_.name, ".") : schema_.doc;
    std::string out;
    for (const absl::string_view line : absl::StrSplit(doc, '\n'))
      absl::StrAppend(&out, "// ", line, "\n");
    return absl::StrCat(out, "//   ", schema_.Summary().substr(0, 400), "\n");
  }

  // Types and counts that the inputs tell.
  void WriteInferredAttrs(std::ostream& out) const {
    std::set<std::string> done;
    for (const ArgSpec& input : schema_.inputs) {
      const std::string name = Identifier(input.name);
      if (!input.number_attr.empty() && done.insert(input.number_attr).second) {
        out << "    SetAttr(def, \"" << input.number_attr << "\", static_cast<int64_t>(" << name
            << ".size()));\n";
      }
      if (!input.type_list_attr.empty() && done.insert(input.type_list_attr).second) {
        out << "    SetTypes(def, \"" << input.type_list_attr << "\", " << name << ");\n";
      }
      if (!input.type_attr.empty() && done.insert(input.type_attr).second) {
        if (IsList(input)) {
          out << "    if (!" << name << ".empty()) SetAttr(def, \"" << input.type_attr << "\", "
              << name << "[0].dtype());\n";
        } else {
          out << "    SetAttr(def, \"" << input.type_attr << "\", " << name << ".dtype());\n";
        }
      }
    }
  }

  static void WriteAttr(std::ostream& out, const AttrSpec& attr, const char* holder) {
    const std::string value = absl::StrCat(holder, Identifier(attr.name));
    if (attr.kind == "list(bool)" || attr.kind == "list(float)") {
      out << "    SetList(def, \"" << attr.name << "\", " << value << ");\n";
    } else if (absl::StartsWith(attr.kind, "list(")) {
      out << "    SetAttr(def, \"" << attr.name << "\", absl::MakeConstSpan(" << value << "));\n";
    } else {
      out << "    SetAttr(def, \"" << attr.name << "\", " << value << ");\n";
    }
  }

  void WriteReturn(std::ostream& out) const {
    if (schema_.outputs.empty()) {
      out << "  return Operation(node_);\n";
    } else if (schema_.outputs.size() > 1) {
      out << "  " << schema_.name << "Outputs result;\n  if (node_ == nullptr) return result;\n";
      for (const ArgSpec& output : schema_.outputs) {
        out << "  result." << Identifier(output.name) << " = "
            << (IsList(output) ? "OutputsOf" : "OutputOf") << "(node_, \"" << output.name
            << "\");\n";
      }
      out << "  result.op = Operation(node_);\n  return result;\n";
    } else if (IsList(schema_.outputs[0])) {
      out << "  return OutputsOf(node_, \"" << schema_.outputs[0].name << "\");\n";
    } else {
      out << "  return Output(node_, 0);\n";
    }
  }

  const OpSchema& schema_;
  std::set<std::string> inferred_;
  std::vector<const AttrSpec*> required_, optional_;
  bool supported_ = true;
};

constexpr char kHeaderTop[] =
    R"(// Generated from the op schemas by generate_ops. One function per op: inputs, then required attributes, then
// the optional ones as a struct. Types and counts that the inputs tell are filled in.
#pragma once

#include <string>
#include <vector>

#include "runtime/client/scope.h"

namespace tensorfleet::ops {

)";

constexpr char kSourceTop[] = R"(// Generated from the op schemas by generate_ops.
#include "runtime/client/ops.h"

#include "runtime/graph/attr.h"

namespace tensorfleet::ops {
namespace {

[[maybe_unused]] void SetTypes(tensorflow::NodeDef* def, const char* attr, absl::Span<const Output> values) {
  std::vector<DType> types;
  for (const Output& value : values) types.push_back(value.dtype());
  SetAttr(def, attr, absl::MakeConstSpan(types));
}
[[maybe_unused]] void SetList(tensorflow::NodeDef* def, const char* attr, const std::vector<bool>& values) {
  auto* list = (*def->mutable_attr())[attr].mutable_list();
  for (const bool v : values) list->add_b(v);
}
[[maybe_unused]] void SetList(tensorflow::NodeDef* def, const char* attr, const std::vector<float>& values) {
  auto* list = (*def->mutable_attr())[attr].mutable_list();
  for (const float v : values) list->add_f(v);
}
[[maybe_unused]] std::vector<Output> OutputsOf(Node* node, const char* name) {
  std::vector<Output> outputs;
  if (node == nullptr) return outputs;
  const StatusOr<ArgRange> range = OutputRange(node->schema(), node->def(), name);
  if (!range.ok()) return outputs;
  for (int i = range->begin; i < range->end; ++i) outputs.emplace_back(node, i);
  return outputs;
}
[[maybe_unused]] Output OutputOf(Node* node, const char* name) {
  const std::vector<Output> outputs = OutputsOf(node, name);
  return outputs.empty() ? Output() : outputs[0];
}

}  // namespace

)";

int Generate(const char* header_path, const char* source_path) {
  std::ofstream header(header_path), source(source_path);
  header << kHeaderTop;
  source << kSourceTop;
  for (const std::string& name : BuiltinOps().Names()) {
    // Const is written by hand: its type comes from the value.
    if (!IsForPeople(name) || name == "Const") continue;
    const StatusOr<const OpSchema*> schema = BuiltinOps().Find(name);
    if (!schema.ok()) {
      std::cerr << schema.status() << "\n";
      return 1;
    }
    const OpFunction function(**schema);
    if (!function.supported()) continue;
    function.WriteHeader(header);
    function.WriteSource(source);
  }
  header << "}  // namespace tensorfleet::ops\n";
  source << "}  // namespace tensorfleet::ops\n";
  return header.good() && source.good() ? 0 : 1;
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: generate_ops HEADER SOURCE\n";
    return 2;
  }
  return tensorfleet::Generate(argv[1], argv[2]);
}
