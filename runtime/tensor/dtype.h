// Element types. The numbers are those of the protocol's DataType (facts: tf-protocol.md, A.4), so
// a DType casts to and from the wire. A reference type (an edge that carries a variable) is its
// base + 100.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen

namespace tensorfleet {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kInt4 = 29,
  kUInt4 = 30,
};

inline constexpr int kRefOffset = 100;
constexpr bool IsRef(DType t) { return static_cast<int>(t) > kRefOffset; }
constexpr DType BaseType(DType t) {
  return IsRef(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t;
}
constexpr DType RefTo(DType t) {
  return IsRef(t) ? t : static_cast<DType>(static_cast<int>(t) + kRefOffset);
}

// Whether `number` is a type of the protocol, reference types included.
bool IsValidDType(int number);

// Bytes per element in memory: strings, resources and variants count their in-memory objects; the
// 4-bit types take one byte per element. 0 for kInvalid.
size_t ElementSize(DType t);

// Types whose elements are plain bytes: may be copied by memcpy and sent as `tensor_content`.
bool IsPlainData(DType t);
bool IsFloating(DType t);  // half, bfloat16, float, double and the 8-bit floats
bool IsInteger(DType t);   // signed and unsigned, quantized ones excluded
bool IsComplex(DType t);
bool IsQuantized(DType t);

// TensorFlow's spelling: "float", "int32", "string", "float_ref"; "invalid" for kInvalid.
std::string DTypeName(DType t);
// The inverse; also takes the proto's spelling "DT_FLOAT".
StatusOr<DType> DTypeFromName(absl::string_view name);

// Elements of the types that C++ has no arithmetic type for. Distinct, so that templates can tell
// them apart.
struct QInt8 {
  int8_t value = 0;
  friend bool operator==(QInt8 a, QInt8 b) { return a.value == b.value; }
};
struct QUInt8 {
  uint8_t value = 0;
  friend bool operator==(QUInt8 a, QUInt8 b) { return a.value == b.value; }
};
struct QInt16 {
  int16_t value = 0;
  friend bool operator==(QInt16 a, QInt16 b) { return a.value == b.value; }
};
struct QUInt16 {
  uint16_t value = 0;
  friend bool operator==(QUInt16 a, QUInt16 b) { return a.value == b.value; }
};
struct QInt32 {
  int32_t value = 0;
  friend bool operator==(QInt32 a, QInt32 b) { return a.value == b.value; }
};
struct Float8E5M2 {
  uint8_t bits = 0;
};
struct Float8E4M3FN {
  uint8_t bits = 0;
};
struct Int4 {
  int8_t value = 0;
};
struct UInt4 {
  uint8_t value = 0;
};
class ResourceHandle;
class Variant;

// kDTypeOf<float> == DType::kFloat, and so on for every element type.
template <typename T>
inline constexpr DType kDTypeOf = DType::kInvalid;
#define TFLEET_DTYPE_OF(Type, Name) \
  template <>                       \
  inline constexpr DType kDTypeOf<Type> = DType::Name
TFLEET_DTYPE_OF(float, kFloat);
TFLEET_DTYPE_OF(double, kDouble);
TFLEET_DTYPE_OF(int32_t, kInt32);
TFLEET_DTYPE_OF(uint8_t, kUInt8);
TFLEET_DTYPE_OF(int16_t, kInt16);
TFLEET_DTYPE_OF(int8_t, kInt8);
TFLEET_DTYPE_OF(std::string, kString);
TFLEET_DTYPE_OF(std::complex<float>, kComplex64);
TFLEET_DTYPE_OF(int64_t, kInt64);
TFLEET_DTYPE_OF(bool, kBool);
TFLEET_DTYPE_OF(QInt8, kQInt8);
TFLEET_DTYPE_OF(QUInt8, kQUInt8);
TFLEET_DTYPE_OF(QInt32, kQInt32);
TFLEET_DTYPE_OF(Eigen::bfloat16, kBFloat16);
TFLEET_DTYPE_OF(QInt16, kQInt16);
TFLEET_DTYPE_OF(QUInt16, kQUInt16);
TFLEET_DTYPE_OF(uint16_t, kUInt16);
TFLEET_DTYPE_OF(std::complex<double>, kComplex128);
TFLEET_DTYPE_OF(Eigen::half, kHalf);
TFLEET_DTYPE_OF(ResourceHandle, kResource);
TFLEET_DTYPE_OF(Variant, kVariant);
TFLEET_DTYPE_OF(uint32_t, kUInt32);
TFLEET_DTYPE_OF(uint64_t, kUInt64);
TFLEET_DTYPE_OF(Float8E5M2, kFloat8E5M2);
TFLEET_DTYPE_OF(Float8E4M3FN, kFloat8E4M3FN);
TFLEET_DTYPE_OF(Int4, kInt4);
TFLEET_DTYPE_OF(UInt4, kUInt4);
#undef TFLEET_DTYPE_OF

}  // namespace tensorfleet
