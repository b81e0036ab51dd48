#include "runtime/graph/op_schema_text.h"

#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/text_format.h"

namespace tensorfleet {
namespace {

using absl::string_view;

const std::vector<DType>& RealNumberTypes() {
  static const auto* types =
      new std::vector<DType>{DType::kFloat,  DType::kDouble, DType::kInt32,  DType::kUInt8,
                             DType::kInt16,  DType::kInt8,   DType::kInt64,  DType::kBFloat16,
                             DType::kUInt16, DType::kHalf,   DType::kUInt32, DType::kUInt64};
  return *types;
}

const std::vector<DType>& NumberTypes() {
  static const auto* types = new std::vector<DType>{
      DType::kFloat,      DType::kDouble,    DType::kInt32,  DType::kUInt8,   DType::kInt16,
      DType::kInt8,       DType::kComplex64, DType::kInt64,  DType::kQInt8,   DType::kQUInt8,
      DType::kQInt32,     DType::kBFloat16,  DType::kQInt16, DType::kQUInt16, DType::kUInt16,
      DType::kComplex128, DType::kHalf,      DType::kUInt32, DType::kUInt64};
  return *types;
}

// Takes an identifier off the front of `*text`; empty when there is none.
string_view TakeWord(string_view* text) {
  size_t n = 0;
  while (n < text->size() &&
         (std::isalnum(static_cast<unsigned char>((*text)[n])) || (*text)[n] == '_')) {
    ++n;
  }
  const string_view word = text->substr(0, n);
  *text = absl::StripLeadingAsciiWhitespace(text->substr(n));
  return word;
}

bool TakeSymbol(string_view* text, string_view symbol) {
  if (!absl::ConsumePrefix(text, symbol)) return false;
  *text = absl::StripLeadingAsciiWhitespace(*text);
  return true;
}

// The text before the bracket that closes the one just taken.
StatusOr<string_view> TakeUntil(string_view* text, char close) {
  const size_t end = text->find(close);
  if (end == string_view::npos) return InvalidArgument("'", std::string(1, close), "' is missing");
  const string_view inside = text->substr(0, end);
  *text = absl::StripLeadingAsciiWhitespace(text->substr(end + 1));
  return inside;
}

// The inside of {...}: types or quoted strings.
Status ParseEnumeration(string_view inside, AttrSpec* spec) {
  for (const string_view item : absl::StrSplit(inside, ',', absl::SkipWhitespace())) {
    string_view word = absl::StripAsciiWhitespace(item);
    if (word.size() >= 2 && (word.front() == '\'' || word.front() == '"')) {
      spec->kind = "string";
      spec->allowed_strings.emplace_back(word.substr(1, word.size() - 2));
    } else {
      spec->kind = "type";
      if (word == "numbertype") {
        spec->allowed_types.insert(spec->allowed_types.end(), NumberTypes().begin(),
                                   NumberTypes().end());
      } else if (word == "realnumbertype") {
        spec->allowed_types.insert(spec->allowed_types.end(), RealNumberTypes().begin(),
                                   RealNumberTypes().end());
      } else {
        TFLEET_ASSIGN_OR_RETURN(const DType type, DTypeFromName(word));
        spec->allowed_types.push_back(type);
      }
    }
  }
  return OkStatus();
}

Status ParseKind(string_view* text, AttrSpec* spec) {
  if (TakeSymbol(text, "{")) {
    TFLEET_ASSIGN_OR_RETURN(const string_view inside, TakeUntil(text, '}'));
    return ParseEnumeration(inside, spec);
  }
  const string_view word = TakeWord(text);
  if (word == "list") {
    if (!TakeSymbol(text, "(")) return InvalidArgument("'(' is missing after list");
    TFLEET_RETURN_IF_ERROR(ParseKind(text, spec));
    if (!TakeSymbol(text, ")")) return InvalidArgument("')' is missing after list(");
    spec->kind = absl::StrCat("list(", spec->kind, ")");
    return OkStatus();
  }
  if (word == "numbertype" || word == "realnumbertype") return ParseEnumeration(word, spec);
  for (const char* kind : {"string", "int", "float", "bool", "type", "shape", "tensor", "func"}) {
    if (word == kind) {
      spec->kind = kind;
      return OkStatus();
    }
  }
  return InvalidArgument("\"", word, "\" is not a kind of attribute");
}

// One default value that is not a list. Kinds: those of ParseKind.
Status ParseOneDefault(string_view kind, string_view text, tensorflow::AttrValue* value) {
  text = absl::StripAsciiWhitespace(text);
  const auto bad = [&] { return InvalidArgument("\"", text, "\" is no default of kind ", kind); };
  if (kind == "int") {
    int64_t v = 0;
    if (!absl::SimpleAtoi(text, &v)) return bad();
    value->set_i(v);
  } else if (kind == "float") {
    float v = 0;
    if (!absl::SimpleAtof(text, &v)) return bad();
    value->set_f(v);
  } else if (kind == "bool") {
    if (text != "true" && text != "false") return bad();
    value->set_b(text == "true");
  } else if (kind == "string") {
    if (text.size() < 2 || (text.front() != '\'' && text.front() != '"')) return bad();
    value->set_s(std::string(text.substr(1, text.size() - 2)));
  } else if (kind == "type") {
    TFLEET_ASSIGN_OR_RETURN(const DType type, DTypeFromName(text));
    value->set_type(static_cast<tensorflow::DataType>(type));
  } else if (kind == "shape" || kind == "tensor") {
    string_view inside = text;
    if (!absl::ConsumePrefix(&inside, "{") || !absl::ConsumeSuffix(&inside, "}")) return bad();
    google::protobuf::Message* message =
        kind == "shape" ? static_cast<google::protobuf::Message*>(value->mutable_shape())
                        : value->mutable_tensor();
    if (!google::protobuf::TextFormat::ParseFromString(std::string(inside), message)) return bad();
  } else {
    return bad();
  }
  return OkStatus();
}

Status ParseDefault(const AttrSpec& spec, string_view text, tensorflow::AttrValue* value) {
  string_view kind = spec.kind;
  if (!absl::ConsumePrefix(&kind, "list(")) return ParseOneDefault(kind, text, value);
  absl::ConsumeSuffix(&kind, ")");
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) {
    return InvalidArgument("the default of a list is written [a, b]");
  }
  auto* list = value->mutable_list();
  for (const string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    tensorflow::AttrValue one;
    TFLEET_RETURN_IF_ERROR(ParseOneDefault(kind, item, &one));
    if (kind == "int") list->add_i(one.i());
    if (kind == "float") list->add_f(one.f());
    if (kind == "bool") list->add_b(one.b());
    if (kind == "string") list->add_s(one.s());
    if (kind == "type") list->add_type(one.type());
    if (kind == "shape") *list->add_shape() = one.shape();
  }
  return OkStatus();
}

// Splits "name: rest".
Status SplitName(string_view* text, std::string* name) {
  *text = absl::StripAsciiWhitespace(*text);
  *name = std::string(TakeWord(text));
  if (name->empty() || !TakeSymbol(text, ":")) return InvalidArgument("\"name: type\" is expected");
  return OkStatus();
}

Status ParseAttrBody(string_view text, AttrSpec* spec) {
  TFLEET_RETURN_IF_ERROR(SplitName(&text, &spec->name));
  TFLEET_RETURN_IF_ERROR(ParseKind(&text, spec));
  if (TakeSymbol(&text, ">=")) {
    size_t n = text.find_first_not_of("-0123456789");
    if (n == string_view::npos) n = text.size();
    int64_t minimum = 0;
    if (!absl::SimpleAtoi(text.substr(0, n), &minimum)) return InvalidArgument("bad minimum");
    spec->minimum = minimum;
    text = absl::StripLeadingAsciiWhitespace(text.substr(n));
  }
  if (TakeSymbol(&text, "=")) {
    tensorflow::AttrValue value;
    TFLEET_RETURN_IF_ERROR(ParseDefault(*spec, text, &value));
    spec->default_value = std::move(value);
  } else if (!text.empty()) {
    return InvalidArgument("\"", text, "\" is left over");
  }
  return OkStatus();
}

Status ParseArgBody(string_view text, const OpSchema& schema, ArgSpec* arg) {
  TFLEET_RETURN_IF_ERROR(SplitName(&text, &arg->name));
  arg->is_ref = TakeSymbol(&text, "Ref(");
  if (arg->is_ref && !absl::ConsumeSuffix(&text, ")"))
    return InvalidArgument("')' is missing after Ref(");
  string_view word = TakeWord(&text);
  if (TakeSymbol(&text, "*")) {
    arg->number_attr = std::string(word);
    const AttrSpec* number = schema.FindAttr(word);
    if (number == nullptr || number->kind != "int") {
      return InvalidArgument("\"", word, "\" is no attribute of kind int");
    }
    word = TakeWord(&text);
  }
  if (!text.empty()) return InvalidArgument("\"", text, "\" is left over");
  const AttrSpec* attr = schema.FindAttr(word);
  if (attr == nullptr) {
    TFLEET_ASSIGN_OR_RETURN(arg->type, DTypeFromName(word));
  } else if (attr->kind == "type") {
    arg->type_attr = attr->name;
  } else if (attr->kind == "list(type)") {
    arg->type_list_attr = attr->name;
  } else {
    return InvalidArgument("attribute \"", word, "\" gives no type");
  }
  return OkStatus();
}

}  // namespace

StatusOr<AttrSpec> ParseAttrSpec(string_view text) {
  AttrSpec spec;
  const Status status = ParseAttrBody(text, &spec);
  if (!status.ok()) return Suffixed(status, absl::StrCat(" in attribute \"", text, "\""));
  return spec;
}

StatusOr<ArgSpec> ParseArgSpec(string_view text, const OpSchema& schema) {
  ArgSpec arg;
  const Status status = ParseArgBody(text, schema, &arg);
  if (!status.ok()) return Suffixed(status, absl::StrCat(" in argument \"", text, "\""));
  return arg;
}

}  // namespace tensorfleet
