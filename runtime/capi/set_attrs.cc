// TF_SetAttr*: attributes of operations being built.
#include "proto/attr_value.pb.h"
#include "runtime/capi/buffer.h"
#include "runtime/capi/build_operation.h"
#include "runtime/capi/tensor.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::capi {
namespace {

using tensorflow::AttrValue;

Status Put(TF_OperationDescription* desc, const char* name, AttrValue value) {
  TFLEET_RETURN_IF_ERROR(NotNull(name, "attr_name"));
  (*desc->def.mutable_attr())[name] = std::move(value);
  return OkStatus();
}

// An attribute that is one field of AttrValue, filled by `fill`.
template <typename Fill>
void PutOne(TF_OperationDescription* desc, const char* name, Fill&& fill) noexcept {
  Describe(desc, [&]() -> Status {
    AttrValue value;
    fill(&value);
    return Put(desc, name, std::move(value));
  });
}

// A list of `count` elements of `values`, each added by `add`.
template <typename T, typename Add>
void PutList(TF_OperationDescription* desc, const char* name, const T* values, int count,
             Add&& add) noexcept {
  Describe(desc, [&]() -> Status {
    TFLEET_RETURN_IF_ERROR(CheckArray(values, count, "values"));
    AttrValue value;
    AttrValue::ListValue* list = value.mutable_list();
    for (int i = 0; i < count; ++i) add(values[i], i, list);
    return Put(desc, name, std::move(value));
  });
}

// The same where an element can be wrong; the status is the call's own.
template <typename Work>
void PutChecked(TF_OperationDescription* desc, const char* name, TF_Status* status,
                Work&& work) noexcept {
  Enter(status, [&]() -> Status {
    TFLEET_RETURN_IF_ERROR(NotNull(desc, "desc"));
    AttrValue value;
    TFLEET_RETURN_IF_ERROR(work(&value));
    return Put(desc, name, std::move(value));
  });
}

Status ParseShape(const void* proto, size_t size, tensorflow::TensorShapeProto* shape) {
  TFLEET_RETURN_IF_ERROR(ParseMessage(proto, size, "TensorShapeProto", shape));
  return PartialShape::FromProto(*shape).status();
}

Status TensorInto(const TF_Tensor* tensor, tensorflow::TensorProto* proto) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, ToEngine(tensor));
  return TensorToCompactProto(value, proto);
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

void TF_SetAttrString(TF_OperationDescription* desc, const char* attr_name, const void* value,
                      size_t length) {
  Describe(desc, [&]() -> Status {
    if (length != 0) TFLEET_NOT_NULL(value);
    AttrValue string;
    string.set_s(std::string(static_cast<const char*>(value), length));
    return Put(desc, attr_name, std::move(string));
  });
}

void TF_SetAttrStringList(TF_OperationDescription* desc, const char* attr_name,
                          const void* const* values, const size_t* lengths, int num_values) {
  Describe(desc, [&] { return CheckArray(lengths, num_values, "lengths"); });
  if (desc == nullptr || !desc->first_error.ok()) return;
  PutList(desc, attr_name, values, num_values, [&](const void* text, int i, auto* list) {
    list->add_s(std::string(static_cast<const char*>(text), text == nullptr ? 0 : lengths[i]));
  });
}

void TF_SetAttrInt(TF_OperationDescription* desc, const char* attr_name, int64_t value) {
  PutOne(desc, attr_name, [&](AttrValue* out) { out->set_i(value); });
}

void TF_SetAttrIntList(TF_OperationDescription* desc, const char* attr_name, const int64_t* values,
                       int num_values) {
  PutList(desc, attr_name, values, num_values,
          [](int64_t value, int, auto* list) { list->add_i(value); });
}

void TF_SetAttrFloat(TF_OperationDescription* desc, const char* attr_name, float value) {
  PutOne(desc, attr_name, [&](AttrValue* out) { out->set_f(value); });
}

void TF_SetAttrFloatList(TF_OperationDescription* desc, const char* attr_name, const float* values,
                         int num_values) {
  PutList(desc, attr_name, values, num_values,
          [](float value, int, auto* list) { list->add_f(value); });
}

void TF_SetAttrBool(TF_OperationDescription* desc, const char* attr_name, unsigned char value) {
  PutOne(desc, attr_name, [&](AttrValue* out) { out->set_b(value != 0); });
}

void TF_SetAttrBoolList(TF_OperationDescription* desc, const char* attr_name,
                        const unsigned char* values, int num_values) {
  PutList(desc, attr_name, values, num_values,
          [](unsigned char value, int, auto* list) { list->add_b(value != 0); });
}

void TF_SetAttrType(TF_OperationDescription* desc, const char* attr_name, TF_DataType value) {
  PutOne(desc, attr_name,
         [&](AttrValue* out) { out->set_type(static_cast<tensorflow::DataType>(value)); });
}

void TF_SetAttrTypeList(TF_OperationDescription* desc, const char* attr_name,
                        const TF_DataType* values, int num_values) {
  PutList(desc, attr_name, values, num_values, [](TF_DataType value, int, auto* list) {
    list->add_type(static_cast<tensorflow::DataType>(value));
  });
}

void TF_SetAttrPlaceholder(TF_OperationDescription* desc, const char* attr_name,
                           const char* placeholder) {
  PutOne(desc, attr_name,
         [&](AttrValue* out) { out->set_placeholder(placeholder == nullptr ? "" : placeholder); });
}

void TF_SetAttrFuncName(TF_OperationDescription* desc, const char* attr_name, const char* value,
                        size_t length) {
  Describe(desc, [&]() -> Status {
    TFLEET_NOT_NULL(value);
    AttrValue function;
    function.mutable_func()->set_name(std::string(value, length));
    return Put(desc, attr_name, std::move(function));
  });
}

void TF_SetAttrShape(TF_OperationDescription* desc, const char* attr_name, const int64_t* dims,
                     int num_dims) {
  Describe(desc, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const PartialShape shape, PartialShapeFrom(dims, num_dims));
    AttrValue value;
    shape.ToProto(value.mutable_shape());
    return Put(desc, attr_name, std::move(value));
  });
}

void TF_SetAttrShapeList(TF_OperationDescription* desc, const char* attr_name,
                         const int64_t* const* dims, const int* num_dims, int num_shapes) {
  Describe(desc, [&]() -> Status {
    TFLEET_RETURN_IF_ERROR(CheckArray(dims, num_shapes, "dims"));
    TFLEET_RETURN_IF_ERROR(CheckArray(num_dims, num_shapes, "num_dims"));
    AttrValue value;
    value.mutable_list();
    for (int i = 0; i < num_shapes; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const PartialShape shape, PartialShapeFrom(dims[i], num_dims[i]));
      shape.ToProto(value.mutable_list()->add_shape());
    }
    return Put(desc, attr_name, std::move(value));
  });
}

void TF_SetAttrTensorShapeProto(TF_OperationDescription* desc, const char* attr_name,
                                const void* proto, size_t proto_len, TF_Status* status) {
  PutChecked(desc, attr_name, status, [&](AttrValue* value) {
    return ParseShape(proto, proto_len, value->mutable_shape());
  });
}

void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* desc, const char* attr_name,
                                    const void* const* protos, const size_t* proto_lens,
                                    int num_shapes, TF_Status* status) {
  PutChecked(desc, attr_name, status, [&](AttrValue* value) -> Status {
    TFLEET_RETURN_IF_ERROR(CheckArray(protos, num_shapes, "protos"));
    TFLEET_RETURN_IF_ERROR(CheckArray(proto_lens, num_shapes, "proto_lens"));
    value->mutable_list();
    for (int i = 0; i < num_shapes; ++i) {
      TFLEET_RETURN_IF_ERROR(
          ParseShape(protos[i], proto_lens[i], value->mutable_list()->add_shape()));
    }
    return OkStatus();
  });
}

void TF_SetAttrTensor(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* value,
                      TF_Status* status) {
  PutChecked(desc, attr_name, status,
             [&](AttrValue* out) { return TensorInto(value, out->mutable_tensor()); });
}

void TF_SetAttrTensorList(TF_OperationDescription* desc, const char* attr_name,
                          TF_Tensor* const* values, int num_values, TF_Status* status) {
  PutChecked(desc, attr_name, status, [&](AttrValue* out) -> Status {
    TFLEET_RETURN_IF_ERROR(CheckArray(values, num_values, "values"));
    out->mutable_list();
    for (int i = 0; i < num_values; ++i) {
      TFLEET_RETURN_IF_ERROR(TensorInto(values[i], out->mutable_list()->add_tensor()));
    }
    return OkStatus();
  });
}

void TF_SetAttrValueProto(TF_OperationDescription* desc, const char* attr_name, const void* proto,
                          size_t proto_len, TF_Status* status) {
  PutChecked(desc, attr_name, status,
             [&](AttrValue* out) { return ParseMessage(proto, proto_len, "AttrValue", out); });
}

}  // extern "C"
