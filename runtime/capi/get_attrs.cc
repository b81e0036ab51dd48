// TF_OperationGetAttr*: attributes of operations that are there.
#include <algorithm>
#include <cstring>

#include "proto/attr_value.pb.h"
#include "runtime/capi/buffer.h"
#include "runtime/capi/graph.h"
#include "runtime/capi/tensor.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::capi {
namespace {

using tensorflow::AttrValue;

StatusOr<const AttrValue*> Find(TF_Operation* operation, const char* name) {
  TFLEET_RETURN_IF_ERROR(NotNull(operation, "oper"));
  TFLEET_RETURN_IF_ERROR(NotNull(name, "attr_name"));
  const AttrValue* value = FindAttr(NodeOf(operation)->def(), name);
  if (value == nullptr) {
    return InvalidArgument("Operation '", NodeOf(operation)->name(), "' has no attr named '", name,
                           "'.");
  }
  return value;
}

Status WrongKind(const char* name, const char* kind) {
  return InvalidArgument("Attribute '", name, "' is not ", kind);
}

// The attribute when it is of this case.
StatusOr<const AttrValue*> FindOf(TF_Operation* operation, const char* name,
                                  AttrValue::ValueCase wanted, const char* kind) {
  TFLEET_ASSIGN_OR_RETURN(const AttrValue* value, Find(operation, name));
  return value->value_case() == wanted ? StatusOr<const AttrValue*>(value) : WrongKind(name, kind);
}

StatusOr<const AttrValue::ListValue*> FindList(TF_Operation* operation, const char* name) {
  TFLEET_ASSIGN_OR_RETURN(const AttrValue* value,
                          FindOf(operation, name, AttrValue::kList, "a list"));
  return &value->list();
}

// Copies the elements that there is room for. A list of another kind has none of this one.
template <typename List, typename T>
Status CopyList(const AttrValue::ListValue& all, const List& list, const char* name, T* values,
                int max_values) {
  const AttrValue::ListValue& empty = AttrValue::ListValue::default_instance();
  if (list.empty() && all.ByteSizeLong() != empty.ByteSizeLong()) {
    return WrongKind(name, "a list of this kind");
  }
  const int count = std::min(static_cast<int>(list.size()), std::max(max_values, 0));
  TFLEET_RETURN_IF_ERROR(CheckArray(values, count, "values"));
  for (int i = 0; i < count; ++i) values[i] = static_cast<T>(list.Get(i));
  return OkStatus();
}

// The attribute's kind by its schema, where an empty list tells nothing.
StatusOr<TF_AttrType> KindOf(const Node& node, const char* name) {
  const AttrSpec* spec = node.schema().FindAttr(name);
  if (spec == nullptr) {
    return InvalidArgument("Operation '", node.name(), "' (type: '", node.op(),
                           "') does not tell the kind of attribute '", name, "'");
  }
  static const std::pair<const char*, TF_AttrType> kKinds[] = {
      {"list(string)", TF_ATTR_STRING}, {"list(int)", TF_ATTR_INT},
      {"list(float)", TF_ATTR_FLOAT},   {"list(bool)", TF_ATTR_BOOL},
      {"list(type)", TF_ATTR_TYPE},     {"list(shape)", TF_ATTR_SHAPE},
      {"list(tensor)", TF_ATTR_TENSOR}, {"list(func)", TF_ATTR_FUNC}};
  for (const auto& [kind, type] : kKinds) {
    if (spec->kind == kind) return type;
  }
  return InvalidArgument("attribute '", name, "' is of kind ", spec->kind);
}

int64_t RankOf(const tensorflow::TensorShapeProto& shape) {
  return shape.unknown_rank() ? -1 : shape.dim_size();
}

Status DescribeList(const Node& node, const char* name, const AttrValue::ListValue& list,
                    TF_AttrMetadata* out) {
  out->is_list = 1;
  const std::pair<int, TF_AttrType> lengths[] = {
      {list.s_size(), TF_ATTR_STRING},      {list.i_size(), TF_ATTR_INT},
      {list.f_size(), TF_ATTR_FLOAT},       {list.b_size(), TF_ATTR_BOOL},
      {list.type_size(), TF_ATTR_TYPE},     {list.shape_size(), TF_ATTR_SHAPE},
      {list.tensor_size(), TF_ATTR_TENSOR}, {list.func_size(), TF_ATTR_FUNC}};
  out->list_size = 0;
  for (const auto& [length, type] : lengths) {
    if (length == 0) continue;
    out->list_size = length;
    out->type = type;
  }
  if (out->list_size == 0) {
    TFLEET_ASSIGN_OR_RETURN(out->type, KindOf(node, name));
  }
  if (out->type == TF_ATTR_STRING) {
    out->total_size = 0;
    for (const std::string& text : list.s()) out->total_size += text.size();
  } else if (out->type == TF_ATTR_SHAPE) {
    out->total_size = 0;
    for (const auto& shape : list.shape()) {
      if (!shape.unknown_rank()) out->total_size += shape.dim_size();
    }
  }
  return OkStatus();
}

Status DescribeAttr(const Node& node, const char* name, const AttrValue& value,
                    TF_AttrMetadata* out) {
  switch (value.value_case()) {
    case AttrValue::kS:
      out->type = TF_ATTR_STRING;
      out->total_size = value.s().size();
      return OkStatus();
    case AttrValue::kI:
      out->type = TF_ATTR_INT;
      return OkStatus();
    case AttrValue::kF:
      out->type = TF_ATTR_FLOAT;
      return OkStatus();
    case AttrValue::kB:
      out->type = TF_ATTR_BOOL;
      return OkStatus();
    case AttrValue::kType:
      out->type = TF_ATTR_TYPE;
      return OkStatus();
    case AttrValue::kShape:
      out->type = TF_ATTR_SHAPE;
      out->total_size = RankOf(value.shape());
      return OkStatus();
    case AttrValue::kTensor:
      out->type = TF_ATTR_TENSOR;
      return OkStatus();
    case AttrValue::kFunc:
      out->type = TF_ATTR_FUNC;
      return OkStatus();
    case AttrValue::kPlaceholder:
      out->type = TF_ATTR_PLACEHOLDER;
      return OkStatus();
    case AttrValue::kList:
      return DescribeList(node, name, value.list(), out);
    default:
      return InvalidArgument("Attribute '", name, "' has no value set");
  }
}

// The names of a node's attributes, sorted, so that their numbers stay the same.
std::vector<std::string> NamesOf(TF_Operation* operation) {
  std::vector<std::string> names;
  for (const auto& [name, value] : NodeOf(operation)->def().attr()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<std::string> NameAt(TF_Operation* operation, int i) {
  TFLEET_RETURN_IF_ERROR(NotNull(operation, "oper"));
  std::vector<std::string> names = NamesOf(operation);
  if (i < 0 || i >= static_cast<int>(names.size())) {
    return OutOfRange("Operation '", NodeOf(operation)->name(), "' has ", names.size(),
                      " attributes; number ", i, " was asked for");
  }
  return std::move(names[i]);
}

StatusOr<TF_Tensor*> TensorOf(const tensorflow::TensorProto& proto) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor tensor, TensorFromProto(proto));
  return FromEngine(tensor);
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

// TF_OperationGetAttr<Name>: the one field `field` of case `Case`.
#define TFLEET_GET_ATTR(Name, CType, Case, field, kind)                                          \
  void TF_OperationGetAttr##Name(TF_Operation* oper, const char* attr_name, CType* value,        \
                                 TF_Status* status) {                                            \
    Enter(status, [&]() -> Status {                                                              \
      TFLEET_NOT_NULL(value);                                                                    \
      TFLEET_ASSIGN_OR_RETURN(const AttrValue* found,                                            \
                              FindOf(oper, attr_name, AttrValue::Case, kind));                   \
      *value = static_cast<CType>(found->field());                                               \
      return OkStatus();                                                                         \
    });                                                                                          \
  }                                                                                              \
  void TF_OperationGetAttr##Name##List(TF_Operation* oper, const char* attr_name, CType* values, \
                                       int max_values, TF_Status* status) {                      \
    Enter(status, [&]() -> Status {                                                              \
      TFLEET_ASSIGN_OR_RETURN(const auto* list, FindList(oper, attr_name));                      \
      return CopyList(*list, list->field(), attr_name, values, max_values);                      \
    });                                                                                          \
  }

extern "C" {

TFLEET_GET_ATTR(Int, int64_t, kI, i, "an int")
TFLEET_GET_ATTR(Float, float, kF, f, "a float")
TFLEET_GET_ATTR(Bool, unsigned char, kB, b, "a bool")
TFLEET_GET_ATTR(Type, TF_DataType, kType, type, "a type")
#undef TFLEET_GET_ATTR

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation* oper, const char* attr_name,
                                            TF_Status* status) {
  TF_AttrMetadata metadata = {0, -1, TF_ATTR_STRING, -1};
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* value, Find(oper, attr_name));
    return DescribeAttr(*NodeOf(oper), attr_name, *value, &metadata);
  });
  return metadata;
}

void TF_OperationGetAttrString(TF_Operation* oper, const char* attr_name, void* value,
                               size_t max_length, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* found,
                            FindOf(oper, attr_name, AttrValue::kS, "a string"));
    const size_t count = std::min(max_length, found->s().size());
    TFLEET_RETURN_IF_ERROR(CheckArray(value, static_cast<int64_t>(count), "value"));
    if (count != 0) std::memcpy(value, found->s().data(), count);
    return OkStatus();
  });
}

void TF_OperationGetAttrStringList(TF_Operation* oper, const char* attr_name, void** values,
                                   size_t* lengths, int max_values, void* storage,
                                   size_t storage_size, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const auto* list, FindList(oper, attr_name));
    const int count = std::min(list->s_size(), std::max(max_values, 0));
    TFLEET_RETURN_IF_ERROR(CheckArray(values, count, "values"));
    TFLEET_RETURN_IF_ERROR(CheckArray(lengths, count, "lengths"));
    char* place = static_cast<char*>(storage);
    size_t room = storage_size;
    for (int i = 0; i < count; ++i) {
      const std::string& text = list->s(i);
      if (text.size() > room) {
        return InvalidArgument("Not enough storage to hold the requested list of strings");
      }
      if (!text.empty()) {
        TFLEET_NOT_NULL(storage);
        std::memcpy(place, text.data(), text.size());
      }
      values[i] = place;
      lengths[i] = text.size();
      place += text.size();
      room -= text.size();
    }
    return OkStatus();
  });
}

void TF_OperationGetAttrShape(TF_Operation* oper, const char* attr_name, int64_t* value,
                              int num_dims, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* found,
                            FindOf(oper, attr_name, AttrValue::kShape, "a shape"));
    const int count = static_cast<int>(
        std::min<int64_t>(std::max(num_dims, 0), std::max<int64_t>(RankOf(found->shape()), 0)));
    TFLEET_RETURN_IF_ERROR(CheckArray(value, count, "value"));
    for (int i = 0; i < count; ++i) value[i] = found->shape().dim(i).size();
    return OkStatus();
  });
}

void TF_OperationGetAttrShapeList(TF_Operation* oper, const char* attr_name, int64_t** dims,
                                  int* num_dims, int num_shapes, int64_t* storage, int storage_size,
                                  TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const auto* list, FindList(oper, attr_name));
    const int count = std::min(list->shape_size(), std::max(num_shapes, 0));
    TFLEET_RETURN_IF_ERROR(CheckArray(dims, count, "dims"));
    TFLEET_RETURN_IF_ERROR(CheckArray(num_dims, count, "num_dims"));
    int64_t* place = storage;
    int64_t room = storage_size;
    for (int i = 0; i < count; ++i) {
      const auto& shape = list->shape(i);
      num_dims[i] = static_cast<int>(RankOf(shape));
      dims[i] = place;
      if (shape.unknown_rank()) continue;
      if (shape.dim_size() > room) {
        return InvalidArgument("Not enough storage to hold the requested list of shapes");
      }
      if (shape.dim_size() != 0) TFLEET_NOT_NULL(storage);
      for (const auto& dim : shape.dim()) *place++ = dim.size();
      room -= shape.dim_size();
    }
    return OkStatus();
  });
}

void TF_OperationGetAttrTensorShapeProto(TF_Operation* oper, const char* attr_name,
                                         TF_Buffer* value, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* found,
                            FindOf(oper, attr_name, AttrValue::kShape, "a shape"));
    return FillBuffer(found->shape(), value);
  });
}

void TF_OperationGetAttrTensorShapeProtoList(TF_Operation* oper, const char* attr_name,
                                             TF_Buffer** values, int max_values,
                                             TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const auto* list, FindList(oper, attr_name));
    const int count = std::min(list->shape_size(), std::max(max_values, 0));
    TFLEET_RETURN_IF_ERROR(CheckArray(values, count, "values"));
    for (int i = 0; i < count; ++i) {
      const StatusOr<TF_Buffer*> buffer = NewBuffer(list->shape(i));
      if (!buffer.ok()) {
        while (i > 0) TF_DeleteBuffer(values[--i]);
        return buffer.status();
      }
      values[i] = *buffer;
    }
    return OkStatus();
  });
}

void TF_OperationGetAttrTensor(TF_Operation* oper, const char* attr_name, TF_Tensor** value,
                               TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(value);
    *value = nullptr;
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* found,
                            FindOf(oper, attr_name, AttrValue::kTensor, "a tensor"));
    TFLEET_ASSIGN_OR_RETURN(*value, TensorOf(found->tensor()));
    return OkStatus();
  });
}

void TF_OperationGetAttrTensorList(TF_Operation* oper, const char* attr_name, TF_Tensor** values,
                                   int max_values, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const auto* list, FindList(oper, attr_name));
    const int count = std::min(list->tensor_size(), std::max(max_values, 0));
    TFLEET_RETURN_IF_ERROR(CheckArray(values, count, "values"));
    for (int i = 0; i < count; ++i) {
      const StatusOr<TF_Tensor*> tensor = TensorOf(list->tensor(i));
      if (!tensor.ok()) {
        while (i > 0) TF_DeleteTensor(values[--i]);
        return tensor.status();
      }
      values[i] = *tensor;
    }
    return OkStatus();
  });
}

void TF_OperationGetAttrValueProto(TF_Operation* oper, const char* attr_name,
                                   TF_Buffer* output_attr_value, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const AttrValue* found, Find(oper, attr_name));
    return FillBuffer(*found, output_attr_value);
  });
}

int TF_OperationGetNumAttrs(TF_Operation* oper) {
  return oper == nullptr ? 0 : static_cast<int>(NodeOf(oper)->def().attr_size());
}

int TF_OperationGetAttrNameLength(TF_Operation* oper, int i) {
  return EnterFor<int>(nullptr, 0, [&]() -> StatusOr<int> {
    TFLEET_ASSIGN_OR_RETURN(const std::string name, NameAt(oper, i));
    return static_cast<int>(name.size());
  });
}

void TF_OperationGetAttrName(TF_Operation* oper, int i, char* output, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(output);
    TFLEET_ASSIGN_OR_RETURN(const std::string name, NameAt(oper, i));
    std::memcpy(output, name.data(), name.size());
    return OkStatus();
  });
}

}  // extern "C"
