#include "runtime/graph/attr.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet {
namespace {

using tensorflow::AttrValue;

const char* KindName(const AttrValue& value) {
  switch (value.value_case()) {
    case AttrValue::kS:
      return "string";
    case AttrValue::kI:
      return "int";
    case AttrValue::kF:
      return "float";
    case AttrValue::kB:
      return "bool";
    case AttrValue::kType:
      return "type";
    case AttrValue::kShape:
      return "shape";
    case AttrValue::kTensor:
      return "tensor";
    case AttrValue::kList:
      return "list";
    case AttrValue::kFunc:
      return "func";
    case AttrValue::kPlaceholder:
      return "placeholder";
    case AttrValue::VALUE_NOT_SET:
      return "nothing";
  }
  return "nothing";
}

StatusOr<DType> CheckedType(int number) {
  if (!IsValidDType(number)) return InvalidArgument("dtype ", number, " is unknown");
  return static_cast<DType>(number);
}

// Reader<T>::Kind is what the attribute must hold; Read takes it out.
template <typename T>
struct Reader;
#define TFLEET_SCALAR_READER(T, Case, expr)                                             \
  template <>                                                                           \
  struct Reader<T> {                                                                    \
    static bool Holds(const AttrValue& v) { return v.value_case() == AttrValue::Case; } \
    static StatusOr<T> Read(const AttrValue& v) { return expr; }                        \
  }
TFLEET_SCALAR_READER(int64_t, kI, v.i());
TFLEET_SCALAR_READER(float, kF, v.f());
TFLEET_SCALAR_READER(bool, kB, v.b());
TFLEET_SCALAR_READER(std::string, kS, v.s());
TFLEET_SCALAR_READER(DType, kType, CheckedType(v.type()));
TFLEET_SCALAR_READER(Shape, kShape, Shape::FromProto(v.shape()));
TFLEET_SCALAR_READER(PartialShape, kShape, PartialShape::FromProto(v.shape()));
TFLEET_SCALAR_READER(Tensor, kTensor, TensorFromProto(v.tensor()));
TFLEET_SCALAR_READER(tensorflow::NameAttrList, kFunc, v.func());
#undef TFLEET_SCALAR_READER

// An empty list does not say of what kind it is, so the lists of the other kinds must be empty.
int ListSizeOfAllKinds(const AttrValue::ListValue& l) {
  return l.s_size() + l.i_size() + l.f_size() + l.b_size() + l.type_size() + l.shape_size() +
         l.tensor_size() + l.func_size();
}

#define TFLEET_LIST_READER(T, field, convert)                         \
  template <>                                                         \
  struct Reader<std::vector<T>> {                                     \
    static bool Holds(const AttrValue& v) {                           \
      return v.value_case() == AttrValue::kList &&                    \
             v.list().field##_size() == ListSizeOfAllKinds(v.list()); \
    }                                                                 \
    static StatusOr<std::vector<T>> Read(const AttrValue& v) {        \
      std::vector<T> out;                                             \
      for (const auto& item : v.list().field()) {                     \
        StatusOr<T> one = convert(item);                              \
        if (!one.ok()) return one.status();                           \
        out.push_back(*std::move(one));                               \
      }                                                               \
      return out;                                                     \
    }                                                                 \
  }
TFLEET_LIST_READER(int64_t, i, StatusOr<int64_t>);
TFLEET_LIST_READER(float, f, StatusOr<float>);
TFLEET_LIST_READER(bool, b, StatusOr<bool>);
TFLEET_LIST_READER(std::string, s, StatusOr<std::string>);
TFLEET_LIST_READER(DType, type, CheckedType);
TFLEET_LIST_READER(PartialShape, shape, PartialShape::FromProto);
TFLEET_LIST_READER(tensorflow::NameAttrList, func, StatusOr<tensorflow::NameAttrList>);
#undef TFLEET_LIST_READER

AttrValue* MutableAttr(tensorflow::NodeDef* node, absl::string_view name) {
  return &(*node->mutable_attr())[std::string(name)];
}

Status CheckAllowed(const AttrSpec& spec, const AttrValue& value) {
  const auto check_type = [&](int number) -> Status {
    TFLEET_ASSIGN_OR_RETURN(const DType type, CheckedType(number));
    if (spec.allowed_types.empty()) return OkStatus();
    for (const DType allowed : spec.allowed_types) {
      if (allowed == type) return OkStatus();
    }
    return InvalidArgument("Value for attr '", spec.name, "' of ", DTypeName(type),
                           " is not in the list of allowed values: ",
                           absl::StrJoin(spec.allowed_types, ", ", [](std::string* out, DType t) {
                             out->append(DTypeName(t));
                           }));
  };
  const auto check_string = [&](const std::string& s) -> Status {
    if (spec.allowed_strings.empty()) return OkStatus();
    for (const std::string& allowed : spec.allowed_strings) {
      if (allowed == s) return OkStatus();
    }
    return InvalidArgument("Value for attr '", spec.name, "' of \"", s,
                           "\" is not in the list of allowed values: \"",
                           absl::StrJoin(spec.allowed_strings, "\", \""), "\"");
  };
  if (value.value_case() == AttrValue::kType) return check_type(value.type());
  if (value.value_case() == AttrValue::kS) return check_string(value.s());
  for (const int type : value.list().type()) TFLEET_RETURN_IF_ERROR(check_type(type));
  for (const std::string& s : value.list().s()) TFLEET_RETURN_IF_ERROR(check_string(s));
  return OkStatus();
}

bool HoldsKind(const AttrValue& value, absl::string_view kind) {
  if (kind == "list(int)") return Reader<std::vector<int64_t>>::Holds(value);
  if (kind == "list(float)") return Reader<std::vector<float>>::Holds(value);
  if (kind == "list(bool)") return Reader<std::vector<bool>>::Holds(value);
  if (kind == "list(string)") return Reader<std::vector<std::string>>::Holds(value);
  if (kind == "list(type)") return Reader<std::vector<DType>>::Holds(value);
  if (kind == "list(shape)") return Reader<std::vector<PartialShape>>::Holds(value);
  if (kind == "list(func)") return Reader<std::vector<tensorflow::NameAttrList>>::Holds(value);
  return kind == KindName(value) || (absl::StartsWith(kind, "list(") && value.has_list());
}

}  // namespace

const AttrValue* FindAttr(const tensorflow::NodeDef& node, absl::string_view name) {
  const auto it = node.attr().find(std::string(name));
  return it == node.attr().end() ? nullptr : &it->second;
}

template <typename T>
StatusOr<T> GetAttr(const tensorflow::NodeDef& node, absl::string_view name) {
  const AttrValue* value = FindAttr(node, name);
  if (value == nullptr) {
    return NotFound("node '", node.name(), "' (", node.op(), ") has no attr '", name, "'");
  }
  if (!Reader<T>::Holds(*value)) {
    return InvalidArgument("attr '", name, "' of node '", node.name(), "' (", node.op(), ") holds ",
                           KindName(*value));
  }
  StatusOr<T> read = Reader<T>::Read(*value);
  if (!read.ok()) {
    return Prefixed(absl::StrCat("attr '", name, "' of node '", node.name(), "': "), read.status());
  }
  return read;
}

#define TFLEET_INSTANTIATE(T) \
  template StatusOr<T> GetAttr<T>(const tensorflow::NodeDef& node, absl::string_view name)
TFLEET_INSTANTIATE(int64_t);
TFLEET_INSTANTIATE(float);
TFLEET_INSTANTIATE(bool);
TFLEET_INSTANTIATE(std::string);
TFLEET_INSTANTIATE(DType);
TFLEET_INSTANTIATE(Shape);
TFLEET_INSTANTIATE(PartialShape);
TFLEET_INSTANTIATE(Tensor);
TFLEET_INSTANTIATE(tensorflow::NameAttrList);
TFLEET_INSTANTIATE(std::vector<int64_t>);
TFLEET_INSTANTIATE(std::vector<float>);
TFLEET_INSTANTIATE(std::vector<bool>);
TFLEET_INSTANTIATE(std::vector<std::string>);
TFLEET_INSTANTIATE(std::vector<DType>);
TFLEET_INSTANTIATE(std::vector<PartialShape>);
TFLEET_INSTANTIATE(std::vector<tensorflow::NameAttrList>);
#undef TFLEET_INSTANTIATE

void SetAttr(tensorflow::NodeDef* node, absl::string_view name, int64_t value) {
  MutableAttr(node, name)->set_i(value);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, int value) {
  MutableAttr(node, name)->set_i(value);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, float value) {
  MutableAttr(node, name)->set_f(value);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, bool value) {
  MutableAttr(node, name)->set_b(value);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::string_view value) {
  MutableAttr(node, name)->set_s(std::string(value));
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const char* value) {
  MutableAttr(node, name)->set_s(value);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, DType value) {
  MutableAttr(node, name)->set_type(static_cast<tensorflow::DataType>(value));
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const PartialShape& value) {
  value.ToProto(MutableAttr(node, name)->mutable_shape());
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const Tensor& value) {
  // Only a variant that cannot be encoded fails, and those are never constants.
  TFLEET_CHECK(TensorToCompactProto(value, MutableAttr(node, name)->mutable_tensor()).ok());
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             const tensorflow::NameAttrList& value) {
  *MutableAttr(node, name)->mutable_func() = value;
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::Span<const int64_t> value) {
  auto* list = MutableAttr(node, name)->mutable_list();
  list->Clear();
  for (const int64_t v : value) list->add_i(v);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             absl::Span<const std::string> value) {
  auto* list = MutableAttr(node, name)->mutable_list();
  list->Clear();
  for (const std::string& v : value) list->add_s(v);
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::Span<const DType> value) {
  auto* list = MutableAttr(node, name)->mutable_list();
  list->Clear();
  for (const DType v : value) list->add_type(static_cast<tensorflow::DataType>(v));
}
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             absl::Span<const PartialShape> value) {
  auto* list = MutableAttr(node, name)->mutable_list();
  list->Clear();
  for (const PartialShape& v : value) v.ToProto(list->add_shape());
}

Status CheckAttr(const AttrSpec& spec, const AttrValue& value) {
  if (!HoldsKind(value, spec.kind)) {
    return InvalidArgument("AttrValue for attr '", spec.name, "' holds ", KindName(value), " when ",
                           spec.kind, " was expected");
  }
  if (spec.minimum) {
    const int64_t have = value.has_list() ? ListSizeOfAllKinds(value.list()) : value.i();
    if (have < *spec.minimum) {
      return InvalidArgument("Value for attr '", spec.name, "' of ", have,
                             " must be at least minimum ", *spec.minimum);
    }
  }
  return CheckAllowed(spec, value);
}

Status CompleteAttrs(const OpSchema& schema, tensorflow::NodeDef* node) {
  for (const AttrSpec& spec : schema.attrs) {
    const auto it = node->attr().find(spec.name);
    if (it == node->attr().end()) {
      if (!spec.default_value) {
        return InvalidArgument("NodeDef missing attr '", spec.name, "' from ", schema.Summary(),
                               "; NodeDef: {{node ", node->name(), "}}");
      }
      (*node->mutable_attr())[spec.name] = *spec.default_value;
      continue;
    }
    // A placeholder stands for the attribute of the function around the node, checked when it is
    // called.
    if (it->second.value_case() == AttrValue::kPlaceholder) continue;
    const Status status = CheckAttr(spec, it->second);
    if (!status.ok()) {
      return Suffixed(status,
                      absl::StrCat("; NodeDef: {{node ", node->name(), "}}; ", schema.Summary()));
    }
  }
  return OkStatus();
}

void StripDefaultAttrs(const OpSchema& schema, tensorflow::NodeDef* node) {
  for (const AttrSpec& spec : schema.attrs) {
    if (!spec.default_value) continue;
    const auto it = node->attr().find(spec.name);
    if (it == node->attr().end()) continue;
    if (it->second.SerializeAsString() == spec.default_value->SerializeAsString()) {
      node->mutable_attr()->erase(spec.name);
    }
  }
}

namespace {

// An attribute of kind int that says how many; bounded, since it comes from outside.
StatusOr<int> CountOf(const tensorflow::NodeDef& node, const std::string& attr) {
  constexpr int64_t kMaxArgs = 1'000'000;
  TFLEET_ASSIGN_OR_RETURN(const int64_t n, GetAttr<int64_t>(node, attr));
  if (n < 0 || n > kMaxArgs) {
    return InvalidArgument("attr '", attr, "' of node '", node.name(), "' is ", n);
  }
  return static_cast<int>(n);
}

Status AppendTypes(const ArgSpec& arg, const tensorflow::NodeDef& node, std::vector<DType>* out) {
  std::vector<DType> types;
  if (!arg.type_list_attr.empty()) {
    TFLEET_ASSIGN_OR_RETURN(types, GetAttr<std::vector<DType>>(node, arg.type_list_attr));
  } else {
    DType type = arg.type;
    if (!arg.type_attr.empty()) {
      TFLEET_ASSIGN_OR_RETURN(type, GetAttr<DType>(node, arg.type_attr));
    }
    int count = 1;
    if (!arg.number_attr.empty()) {
      TFLEET_ASSIGN_OR_RETURN(count, CountOf(node, arg.number_attr));
    }
    types.assign(count, type);
  }
  for (const DType type : types) out->push_back(arg.is_ref ? RefTo(type) : type);
  return OkStatus();
}

StatusOr<ArgRange> RangeIn(const std::vector<ArgSpec>& args, const tensorflow::NodeDef& node,
                           absl::string_view name) {
  std::vector<DType> types;
  for (const ArgSpec& arg : args) {
    const int begin = static_cast<int>(types.size());
    TFLEET_RETURN_IF_ERROR(AppendTypes(arg, node, &types));
    if (arg.name == name) return ArgRange{begin, static_cast<int>(types.size())};
  }
  return NotFound("op ", node.op(), " has no argument '", name, "'");
}

}  // namespace

StatusOr<NodeTypes> TypesOf(const OpSchema& schema, const tensorflow::NodeDef& node) {
  NodeTypes types;
  for (const ArgSpec& arg : schema.inputs) {
    TFLEET_RETURN_IF_ERROR(AppendTypes(arg, node, &types.inputs));
  }
  for (const ArgSpec& arg : schema.outputs) {
    TFLEET_RETURN_IF_ERROR(AppendTypes(arg, node, &types.outputs));
  }
  return types;
}

StatusOr<ArgRange> InputRange(const OpSchema& schema, const tensorflow::NodeDef& node,
                              absl::string_view input_name) {
  return RangeIn(schema.inputs, node, input_name);
}
StatusOr<ArgRange> OutputRange(const OpSchema& schema, const tensorflow::NodeDef& node,
                               absl::string_view output_name) {
  return RangeIn(schema.outputs, node, output_name);
}

}  // namespace tensorfleet
