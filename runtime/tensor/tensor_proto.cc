#include "runtime/tensor/tensor_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <Eigen/Core>

#include "proto/tensor.pb.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

using ::google::protobuf::RepeatedField;
using ::google::protobuf::io::CodedInputStream;

// Variants may hold tensors of variants; a message must not nest deeper than this.
constexpr int kMaxVariantDepth = 32;

Status TooManyValues(int have, int64_t want) {
  return InvalidArgument("tensor proto holds ", have, " values for ", want, " elements");
}

// Fills `t` from a value field: `convert` maps a field value to an element; the last value repeats.
template <typename T, typename Field, typename Convert>
Status FillFrom(const Field& field, Convert convert, Tensor& t) {
  const int64_t n = t.num_elements();
  if (field.size() > n) return TooManyValues(field.size(), n);
  absl::Span<T> out = t.mutable_values<T>();
  int64_t i = 0;
  for (; i < field.size(); ++i) out[i] = convert(field.Get(static_cast<int>(i)));
  if (i == 0) return OkStatus();  // all zero already
  const T last = out[i - 1];
  for (; i < n; ++i) out[i] = last;
  return OkStatus();
}

template <typename T, typename Carrier>
Status FillNumbers(const RepeatedField<Carrier>& field, Tensor& t) {
  return FillFrom<T>(
      field, [](Carrier v) { return static_cast<T>(v); }, t);
}

// 16-bit floats travel as their bit pattern.
template <typename T>
Status FillBits16(const RepeatedField<int32_t>& field, Tensor& t) {
  return FillFrom<T>(
      field, [](int32_t v) { return Eigen::numext::bit_cast<T>(static_cast<uint16_t>(v)); }, t);
}

template <typename T, typename Part>
Status FillComplex(const RepeatedField<Part>& field, Tensor& t) {
  const int64_t n = t.num_elements();
  if (field.size() % 2 != 0 || field.size() / 2 > n) return TooManyValues(field.size(), 2 * n);
  absl::Span<T> out = t.mutable_values<T>();
  int64_t i = 0;
  for (; i < field.size() / 2; ++i) {
    out[i] = T(field.Get(static_cast<int>(2 * i)), field.Get(static_cast<int>(2 * i + 1)));
  }
  for (; i > 0 && i < n; ++i) out[i] = out[i - 1];
  return OkStatus();
}

template <typename Q, typename Raw>
Status FillWrapped(const RepeatedField<int32_t>& field, Tensor& t) {
  return FillFrom<Q>(
      field, [](int32_t v) { return Q{static_cast<Raw>(v)}; }, t);
}

StatusOr<Tensor> TensorFromProtoAt(const tensorflow::TensorProto& proto, int depth);

StatusOr<Variant> VariantFromProto(const tensorflow::VariantTensorDataProto& proto, int depth) {
  if (depth > kMaxVariantDepth) {
    return InvalidArgument("variants are nested more than ", kMaxVariantDepth, " deep");
  }
  if (proto.type_name().empty() && proto.tensors().empty()) return Variant();
  VariantData data;
  data.type_name = proto.type_name();
  data.metadata = proto.metadata();
  for (const auto& inner : proto.tensors()) {
    TFLEET_ASSIGN_OR_RETURN(Tensor t, TensorFromProtoAt(inner, depth + 1));
    data.tensors.push_back(std::move(t));
  }
  return Variant(std::make_shared<EncodedVariant>(std::move(data)));
}

Status VariantToProto(const Variant& variant, tensorflow::VariantTensorDataProto* proto) {
  if (variant.is_empty()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const VariantData data, variant.value()->Encode());
  proto->set_type_name(data.type_name);
  proto->set_metadata(data.metadata);
  for (const Tensor& t : data.tensors) {
    TFLEET_RETURN_IF_ERROR(TensorToProto(t, proto->add_tensors()));
  }
  return OkStatus();
}

Status FillStrings(const tensorflow::TensorProto& proto, Tensor& t) {
  return FillFrom<std::string>(
      proto.string_val(), [](const std::string& v) -> const std::string& { return v; }, t);
}

Status FillResources(const tensorflow::TensorProto& proto, Tensor& t) {
  const int64_t n = t.num_elements();
  if (proto.resource_handle_val_size() > n) {
    return TooManyValues(proto.resource_handle_val_size(), n);
  }
  absl::Span<ResourceHandle> out = t.mutable_values<ResourceHandle>();
  for (int i = 0; i < proto.resource_handle_val_size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(out[i], ResourceHandleFromProto(proto.resource_handle_val(i)));
  }
  return OkStatus();
}

Status FillVariants(const tensorflow::TensorProto& proto, int depth, Tensor& t) {
  const int64_t n = t.num_elements();
  if (proto.variant_val_size() > n) return TooManyValues(proto.variant_val_size(), n);
  absl::Span<Variant> out = t.mutable_values<Variant>();
  for (int i = 0; i < proto.variant_val_size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(out[i], VariantFromProto(proto.variant_val(i), depth));
  }
  return OkStatus();
}

Status FillFloat8(const std::string& bytes, Tensor& t) {
  const int64_t n = t.num_elements();
  if (static_cast<int64_t>(bytes.size()) > n) {
    return TooManyValues(static_cast<int>(bytes.size()), n);
  }
  auto* out = static_cast<char*>(t.mutable_raw());
  std::copy(bytes.begin(), bytes.end(), out);
  if (!bytes.empty()) std::fill(out + bytes.size(), out + n, bytes.back());
  return OkStatus();
}

Status FillFromValues(const tensorflow::TensorProto& p, int depth, Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat:
      return FillNumbers<float>(p.float_val(), t);
    case DType::kDouble:
      return FillNumbers<double>(p.double_val(), t);
    case DType::kInt32:
      return FillNumbers<int32_t>(p.int_val(), t);
    case DType::kInt16:
      return FillNumbers<int16_t>(p.int_val(), t);
    case DType::kInt8:
      return FillNumbers<int8_t>(p.int_val(), t);
    case DType::kUInt8:
      return FillNumbers<uint8_t>(p.int_val(), t);
    case DType::kUInt16:
      return FillNumbers<uint16_t>(p.int_val(), t);
    case DType::kUInt32:
      return FillNumbers<uint32_t>(p.uint32_val(), t);
    case DType::kUInt64:
      return FillNumbers<uint64_t>(p.uint64_val(), t);
    case DType::kInt64:
      return FillNumbers<int64_t>(p.int64_val(), t);
    case DType::kBool:
      return FillNumbers<bool>(p.bool_val(), t);
    case DType::kHalf:
      return FillBits16<Eigen::half>(p.half_val(), t);
    case DType::kBFloat16:
      return FillBits16<Eigen::bfloat16>(p.half_val(), t);
    case DType::kComplex64:
      return FillComplex<std::complex<float>>(p.scomplex_val(), t);
    case DType::kComplex128:
      return FillComplex<std::complex<double>>(p.dcomplex_val(), t);
    case DType::kQInt8:
      return FillWrapped<QInt8, int8_t>(p.int_val(), t);
    case DType::kQUInt8:
      return FillWrapped<QUInt8, uint8_t>(p.int_val(), t);
    case DType::kQInt16:
      return FillWrapped<QInt16, int16_t>(p.int_val(), t);
    case DType::kQUInt16:
      return FillWrapped<QUInt16, uint16_t>(p.int_val(), t);
    case DType::kQInt32:
      return FillWrapped<QInt32, int32_t>(p.int_val(), t);
    case DType::kInt4:
      return FillWrapped<Int4, int8_t>(p.int_val(), t);
    case DType::kUInt4:
      return FillWrapped<UInt4, uint8_t>(p.int_val(), t);
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
      return FillFloat8(p.float8_val(), t);
    case DType::kString:
      return FillStrings(p, t);
    case DType::kResource:
      return FillResources(p, t);
    case DType::kVariant:
      return FillVariants(p, depth, t);
    case DType::kInvalid:
      break;
  }
  return InvalidArgument("tensor proto has no dtype");
}

// Splits framed content: N varint32 lengths, then as many byte strings. Calls set(i, bytes) for
// each.
template <typename Set>
Status SplitFramed(absl::string_view content, int64_t n, Set set) {
  if (n > static_cast<int64_t>(content.size())) {
    return InvalidArgument("tensor content of ", content.size(), " bytes cannot frame ", n,
                           " elements");
  }
  CodedInputStream in(reinterpret_cast<const uint8_t*>(content.data()),
                      static_cast<int>(content.size()));
  std::vector<uint32_t> lengths(n);
  uint64_t total = 0;
  for (uint32_t& length : lengths) {
    if (!in.ReadVarint32(&length)) return InvalidArgument("tensor content ends inside its lengths");
    total += length;
  }
  absl::string_view rest = content.substr(in.CurrentPosition());
  if (total != rest.size()) {
    return InvalidArgument("tensor content holds ", rest.size(),
                           " bytes of elements; their lengths "
                           "add up to ",
                           total);
  }
  for (int64_t i = 0; i < n; ++i) {
    TFLEET_RETURN_IF_ERROR(set(i, rest.substr(0, lengths[i])));
    rest.remove_prefix(lengths[i]);
  }
  return OkStatus();
}

StatusOr<Tensor> DecodeContentAt(DType dtype, const Shape& shape, absl::string_view content,
                                 int depth) {
  const int64_t n = shape.num_elements();
  if (IsPlainData(dtype)) {
    const size_t element = ElementSize(dtype);
    if (content.size() % element != 0 || static_cast<int64_t>(content.size() / element) != n) {
      return InvalidArgument("tensor content has ", content.size(), " bytes; ", DTypeName(dtype),
                             " ", shape.ToString(), " does not fit them");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(dtype, shape));
    std::memcpy(t.mutable_raw(), content.data(), content.size());
    return t;
  }
  if (content.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return InvalidArgument("tensor content of ", content.size(), " bytes is too long");
  }
  // Before the elements are allocated: each takes at least a byte of content.
  if (n > static_cast<int64_t>(content.size())) {
    return InvalidArgument("tensor content of ", content.size(), " bytes cannot frame ", n,
                           " elements");
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(dtype, shape));
  const Status split = SplitFramed(content, n, [&](int64_t i, absl::string_view bytes) -> Status {
    if (dtype == DType::kString) {
      t.mutable_values<std::string>()[i] = std::string(bytes);
      return OkStatus();
    }
    if (dtype == DType::kResource) {
      tensorflow::ResourceHandleProto proto;
      if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return InvalidArgument("tensor content holds a malformed resource handle");
      }
      TFLEET_ASSIGN_OR_RETURN(t.mutable_values<ResourceHandle>()[i],
                              ResourceHandleFromProto(proto));
      return OkStatus();
    }
    tensorflow::VariantTensorDataProto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return InvalidArgument("tensor content holds a malformed variant");
    }
    TFLEET_ASSIGN_OR_RETURN(t.mutable_values<Variant>()[i], VariantFromProto(proto, depth));
    return OkStatus();
  });
  if (!split.ok()) return split;
  return t;
}

StatusOr<Tensor> TensorFromProtoAt(const tensorflow::TensorProto& proto, int depth) {
  if (!IsValidDType(proto.dtype()) || IsRef(static_cast<DType>(proto.dtype()))) {
    return InvalidArgument("tensor proto has dtype ", static_cast<int>(proto.dtype()));
  }
  const DType dtype = static_cast<DType>(proto.dtype());
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::FromProto(proto.tensor_shape()));
  if (!proto.tensor_content().empty()) {
    return DecodeContentAt(dtype, shape, proto.tensor_content(), depth);
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor t, Tensor::Zeros(dtype, shape));
  TFLEET_RETURN_IF_ERROR(FillFromValues(proto, depth, t));
  return t;
}

template <typename T, typename Field, typename Add>
void AddCompact(const Tensor& t, Field* field, Add add) {
  absl::Span<const T> values = t.values<T>();
  size_t count = values.size();
  const auto same_bits = [&](size_t a, size_t b) {
    return std::memcmp(&values[a], &values[b], sizeof(T)) == 0;
  };
  while (count > 1 && same_bits(count - 1, count - 2)) --count;
  // All zero needs no value at all.
  static const T kZero{};
  if (count == 1 && std::memcmp(&values[0], &kZero, sizeof(T)) == 0) count = 0;
  for (size_t i = 0; i < count; ++i) add(field, values[i]);
}

}  // namespace

StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto) {
  return TensorFromProtoAt(proto, 0);
}

StatusOr<Tensor> DecodeTensorContent(DType dtype, const Shape& shape, absl::string_view content) {
  return DecodeContentAt(dtype, shape, content, 0);
}

Status EncodeTensorContent(const Tensor& tensor, std::string* content) {
  content->clear();
  if (IsPlainData(tensor.dtype())) {
    content->assign(static_cast<const char*>(tensor.raw()), tensor.bytes());
    return OkStatus();
  }
  std::vector<std::string> encoded;
  if (tensor.dtype() == DType::kResource) {
    for (const ResourceHandle& handle : tensor.values<ResourceHandle>()) {
      tensorflow::ResourceHandleProto proto;
      ResourceHandleToProto(handle, &proto);
      encoded.push_back(proto.SerializeAsString());
    }
  } else if (tensor.dtype() == DType::kVariant) {
    for (const Variant& variant : tensor.values<Variant>()) {
      tensorflow::VariantTensorDataProto proto;
      TFLEET_RETURN_IF_ERROR(VariantToProto(variant, &proto));
      encoded.push_back(proto.SerializeAsString());
    }
  }
  const absl::Span<const std::string> elements = tensor.dtype() == DType::kString
                                                     ? tensor.values<std::string>()
                                                     : absl::MakeConstSpan(encoded);
  size_t total = 0;
  for (const std::string& s : elements) total += s.size() + 5;
  content->reserve(total);
  for (const std::string& s : elements) {
    uint32_t length = static_cast<uint32_t>(s.size());
    for (; length >= 0x80; length >>= 7) content->push_back(static_cast<char>(length | 0x80));
    content->push_back(static_cast<char>(length));
  }
  for (const std::string& s : elements) content->append(s);
  return OkStatus();
}

Status TensorToProto(const Tensor& tensor, tensorflow::TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(proto->mutable_tensor_shape());
  return EncodeTensorContent(tensor, proto->mutable_tensor_content());
}

Status TensorToCompactProto(const Tensor& tensor, tensorflow::TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(proto->mutable_tensor_shape());
  if (tensor.num_elements() == 0) return OkStatus();
  const auto add = [](auto* field, const auto& v) { field->Add(v); };
  switch (tensor.dtype()) {
    case DType::kFloat:
      AddCompact<float>(tensor, proto->mutable_float_val(), add);
      break;
    case DType::kDouble:
      AddCompact<double>(tensor, proto->mutable_double_val(), add);
      break;
    case DType::kInt32:
      AddCompact<int32_t>(tensor, proto->mutable_int_val(), add);
      break;
    case DType::kInt16:
      AddCompact<int16_t>(tensor, proto->mutable_int_val(), add);
      break;
    case DType::kInt8:
      AddCompact<int8_t>(tensor, proto->mutable_int_val(), add);
      break;
    case DType::kUInt8:
      AddCompact<uint8_t>(tensor, proto->mutable_int_val(), add);
      break;
    case DType::kUInt16:
      AddCompact<uint16_t>(tensor, proto->mutable_int_val(), add);
      break;
    case DType::kInt64:
      AddCompact<int64_t>(tensor, proto->mutable_int64_val(), add);
      break;
    case DType::kUInt32:
      AddCompact<uint32_t>(tensor, proto->mutable_uint32_val(), add);
      break;
    case DType::kUInt64:
      AddCompact<uint64_t>(tensor, proto->mutable_uint64_val(), add);
      break;
    case DType::kBool:
      AddCompact<bool>(tensor, proto->mutable_bool_val(), add);
      break;
    case DType::kHalf:
    case DType::kBFloat16:
      AddCompact<uint16_t>(tensor.BitcastTo(DType::kUInt16), proto->mutable_half_val(), add);
      break;
    case DType::kString:
      for (const std::string& s : tensor.values<std::string>()) proto->add_string_val(s);
      break;
    case DType::kResource:
      for (const ResourceHandle& handle : tensor.values<ResourceHandle>()) {
        ResourceHandleToProto(handle, proto->add_resource_handle_val());
      }
      break;
    default:
      return EncodeTensorContent(tensor, proto->mutable_tensor_content());
  }
  return OkStatus();
}

void ResourceHandleToProto(const ResourceHandle& handle, tensorflow::ResourceHandleProto* proto) {
  proto->set_device(handle.device);
  proto->set_container(handle.container);
  proto->set_name(handle.name);
  proto->set_hash_code(handle.hash_code);
  proto->set_maybe_type_name(handle.type_name);
  for (const auto& entry : handle.dtypes_and_shapes) {
    auto* out = proto->add_dtypes_and_shapes();
    out->set_dtype(static_cast<tensorflow::DataType>(entry.dtype));
    entry.shape.ToProto(out->mutable_shape());
  }
}

StatusOr<ResourceHandle> ResourceHandleFromProto(const tensorflow::ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.hash_code = proto.hash_code();
  handle.type_name = proto.maybe_type_name();
  for (const auto& entry : proto.dtypes_and_shapes()) {
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, PartialShape::FromProto(entry.shape()));
    if (!IsValidDType(entry.dtype())) return InvalidArgument("resource handle has a bad dtype");
    handle.dtypes_and_shapes.push_back({static_cast<DType>(entry.dtype()), std::move(shape)});
  }
  return handle;
}

}  // namespace tensorfleet
