#include "runtime/tensor/dtype.h"

#include <Eigen/Core>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

enum class Family : uint8_t { kFloat, kInteger, kComplex, kQuantized, kBool, kObject };

struct TypeInfo {
  DType type;
  const char* name;
  const char* proto_name;
  size_t size;
  Family family;
};

constexpr TypeInfo kTypes[] = {
    {DType::kFloat, "float", "DT_FLOAT", 4, Family::kFloat},
    {DType::kDouble, "double", "DT_DOUBLE", 8, Family::kFloat},
    {DType::kInt32, "int32", "DT_INT32", 4, Family::kInteger},
    {DType::kUInt8, "uint8", "DT_UINT8", 1, Family::kInteger},
    {DType::kInt16, "int16", "DT_INT16", 2, Family::kInteger},
    {DType::kInt8, "int8", "DT_INT8", 1, Family::kInteger},
    {DType::kString, "string", "DT_STRING", sizeof(std::string), Family::kObject},
    {DType::kComplex64, "complex64", "DT_COMPLEX64", 8, Family::kComplex},
    {DType::kInt64, "int64", "DT_INT64", 8, Family::kInteger},
    {DType::kBool, "bool", "DT_BOOL", 1, Family::kBool},
    {DType::kQInt8, "qint8", "DT_QINT8", 1, Family::kQuantized},
    {DType::kQUInt8, "quint8", "DT_QUINT8", 1, Family::kQuantized},
    {DType::kQInt32, "qint32", "DT_QINT32", 4, Family::kQuantized},
    {DType::kBFloat16, "bfloat16", "DT_BFLOAT16", 2, Family::kFloat},
    {DType::kQInt16, "qint16", "DT_QINT16", 2, Family::kQuantized},
    {DType::kQUInt16, "quint16", "DT_QUINT16", 2, Family::kQuantized},
    {DType::kUInt16, "uint16", "DT_UINT16", 2, Family::kInteger},
    {DType::kComplex128, "complex128", "DT_COMPLEX128", 16, Family::kComplex},
    {DType::kHalf, "half", "DT_HALF", 2, Family::kFloat},
    {DType::kResource, "resource", "DT_RESOURCE", sizeof(ResourceHandle), Family::kObject},
    {DType::kVariant, "variant", "DT_VARIANT", sizeof(Variant), Family::kObject},
    {DType::kUInt32, "uint32", "DT_UINT32", 4, Family::kInteger},
    {DType::kUInt64, "uint64", "DT_UINT64", 8, Family::kInteger},
    {DType::kFloat8E5M2, "float8_e5m2", "DT_FLOAT8_E5M2", 1, Family::kFloat},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", "DT_FLOAT8_E4M3FN", 1, Family::kFloat},
    {DType::kInt4, "int4", "DT_INT4", 1, Family::kInteger},
    {DType::kUInt4, "uint4", "DT_UINT4", 1, Family::kInteger},
};

constexpr int kTableSize = 31;

// Position in kTypes by number, or -1.
constexpr std::array<int8_t, kTableSize> kIndex = [] {
  std::array<int8_t, kTableSize> index{};
  for (auto& i : index) i = -1;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    index[static_cast<int>(kTypes[i].type)] = static_cast<int8_t>(i);
  }
  return index;
}();

const TypeInfo* InfoOf(DType t) {
  const int number = static_cast<int>(BaseType(t));
  return number < kTableSize && kIndex[number] >= 0 ? &kTypes[kIndex[number]] : nullptr;
}

bool Is(DType t, Family family) {
  const TypeInfo* info = InfoOf(t);
  return info != nullptr && info->family == family;
}

}  // namespace

bool IsValidDType(int number) {
  const int base = number > kRefOffset ? number - kRefOffset : number;
  return base > 0 && base < kTableSize && kIndex[base] >= 0;
}

size_t ElementSize(DType t) {
  const TypeInfo* info = InfoOf(t);
  return info == nullptr ? 0 : info->size;
}

bool IsPlainData(DType t) { return InfoOf(t) != nullptr && !Is(t, Family::kObject); }
bool IsFloating(DType t) { return Is(t, Family::kFloat); }
bool IsInteger(DType t) { return Is(t, Family::kInteger); }
bool IsComplex(DType t) { return Is(t, Family::kComplex); }
bool IsQuantized(DType t) { return Is(t, Family::kQuantized); }

std::string DTypeName(DType t) {
  const TypeInfo* info = InfoOf(t);
  if (info == nullptr) {
    return t == DType::kInvalid ? "invalid" : absl::StrCat("unknown dtype ", static_cast<int>(t));
  }
  return IsRef(t) ? absl::StrCat(info->name, "_ref") : info->name;
}

StatusOr<DType> DTypeFromName(absl::string_view name) {
  absl::string_view base = name;
  const bool ref = absl::EndsWith(base, "_ref") || absl::EndsWith(base, "_REF");
  if (ref) base.remove_suffix(4);
  for (const TypeInfo& info : kTypes) {
    if (base == info.name || base == info.proto_name) return ref ? RefTo(info.type) : info.type;
  }
  if (base == "float32") return ref ? RefTo(DType::kFloat) : DType::kFloat;
  if (base == "float64") return ref ? RefTo(DType::kDouble) : DType::kDouble;
  return InvalidArgument("\"", name, "\" is not a dtype");
}

}  // namespace tensorfleet
