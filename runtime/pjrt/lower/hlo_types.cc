#include "runtime/pjrt/lower/hlo_types.h"

#include <complex>
#include <string>

#include <Eigen/Core>

#include "runtime/base/check.h"

namespace tensorfleet::pjrt {
namespace {

template <typename T, typename Field>
void FillRepeated(const Tensor& value, Field* field) {
  const absl::Span<const T> values = value.values<T>();
  field->Add(values.begin(), values.end());
}

template <typename T>
Tensor ScalarOf(double value) {
  return Tensor::Scalar<T>(static_cast<T>(value));
}

}  // namespace

int ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kInt8:
      return 2;
    case DType::kInt16:
      return 3;
    case DType::kInt32:
      return 4;
    case DType::kInt64:
      return 5;
    case DType::kUInt8:
      return 6;
    case DType::kUInt16:
      return 7;
    case DType::kUInt32:
      return 8;
    case DType::kUInt64:
      return 9;
    case DType::kHalf:
      return 10;
    case DType::kFloat:
      return 11;
    case DType::kDouble:
      return 12;
    case DType::kComplex64:
      return 15;
    case DType::kBFloat16:
      return 16;
    case DType::kComplex128:
      return 18;
    default:
      return 0;
  }
}
void FillShape(DType dtype, const Shape& shape, hlo::Shape* out) {
  TFLEET_CHECK(ElementTypeOf(dtype) != 0);
  out->set_element_type(ElementTypeOf(dtype));
  for (int i = 0; i < shape.rank(); ++i) {
    out->add_dimensions(shape.dim(i));
    out->mutable_layout()->add_minor_to_major(shape.rank() - 1 - i);
  }
  out->mutable_layout();
}

bool FillLiteral(const Tensor& value, hlo::Literal* out) {
  const std::string bytes(static_cast<const char*>(value.raw()), value.bytes());
  switch (value.dtype()) {
    case DType::kBool:
      FillRepeated<bool>(value, out->mutable_preds());
      return true;
    case DType::kInt32:
      FillRepeated<int32_t>(value, out->mutable_s32s());
      return true;
    case DType::kInt64:
      FillRepeated<int64_t>(value, out->mutable_s64s());
      return true;
    case DType::kUInt32:
      FillRepeated<uint32_t>(value, out->mutable_u32s());
      return true;
    case DType::kUInt64:
      FillRepeated<uint64_t>(value, out->mutable_u64s());
      return true;
    case DType::kFloat:
      FillRepeated<float>(value, out->mutable_f32s());
      return true;
    case DType::kDouble:
      FillRepeated<double>(value, out->mutable_f64s());
      return true;
    case DType::kInt8:
      out->set_s8s(bytes);
      return true;
    case DType::kUInt8:
      out->set_u8s(bytes);
      return true;
    case DType::kInt16:
      out->set_s16s(bytes);
      return true;
    case DType::kUInt16:
      out->set_u16s(bytes);
      return true;
    case DType::kHalf:
      out->set_f16s(bytes);
      return true;
    case DType::kBFloat16:
      out->set_bf16s(bytes);
      return true;
    case DType::kComplex64:
      for (const std::complex<float>& x : value.values<std::complex<float>>()) {
        out->add_c64s(x.real());
        out->add_c64s(x.imag());
      }
      return true;
    case DType::kComplex128:
      for (const std::complex<double>& x : value.values<std::complex<double>>()) {
        out->add_c128s(x.real());
        out->add_c128s(x.imag());
      }
      return true;
    default:
      return false;
  }
}

Tensor ScalarTensor(DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return Tensor::Scalar<bool>(value != 0);
    case DType::kInt8:
      return ScalarOf<int8_t>(value);
    case DType::kInt16:
      return ScalarOf<int16_t>(value);
    case DType::kInt32:
      return ScalarOf<int32_t>(value);
    case DType::kInt64:
      return ScalarOf<int64_t>(value);
    case DType::kUInt8:
      return ScalarOf<uint8_t>(value);
    case DType::kUInt16:
      return ScalarOf<uint16_t>(value);
    case DType::kUInt32:
      return ScalarOf<uint32_t>(value);
    case DType::kUInt64:
      return ScalarOf<uint64_t>(value);
    case DType::kHalf:
      return Tensor::Scalar<Eigen::half>(Eigen::half(static_cast<float>(value)));
    case DType::kBFloat16:
      return Tensor::Scalar<Eigen::bfloat16>(Eigen::bfloat16(static_cast<float>(value)));
    case DType::kFloat:
      return ScalarOf<float>(value);
    case DType::kComplex64:
      return Tensor::Scalar<std::complex<float>>(static_cast<float>(value));
    case DType::kComplex128:
      return Tensor::Scalar<std::complex<double>>(value);
    default:
      TFLEET_CHECK(dtype == DType::kDouble);
      return ScalarOf<double>(value);
  }
}

namespace {

template <typename T>
Tensor ExtremeOf(bool is_largest) {
  return Tensor::Scalar<T>(is_largest ? Eigen::NumTraits<T>::highest()
                                      : Eigen::NumTraits<T>::lowest());
}

}  // namespace

Tensor FiniteExtreme(DType dtype, bool is_largest) {
  switch (dtype) {
    case DType::kInt8:
      return ExtremeOf<int8_t>(is_largest);
    case DType::kInt16:
      return ExtremeOf<int16_t>(is_largest);
    case DType::kInt32:
      return ExtremeOf<int32_t>(is_largest);
    case DType::kInt64:
      return ExtremeOf<int64_t>(is_largest);
    case DType::kUInt8:
      return ExtremeOf<uint8_t>(is_largest);
    case DType::kUInt16:
      return ExtremeOf<uint16_t>(is_largest);
    case DType::kUInt32:
      return ExtremeOf<uint32_t>(is_largest);
    case DType::kUInt64:
      return ExtremeOf<uint64_t>(is_largest);
    case DType::kHalf:
      return ExtremeOf<Eigen::half>(is_largest);
    case DType::kBFloat16:
      return ExtremeOf<Eigen::bfloat16>(is_largest);
    case DType::kFloat:
      return ExtremeOf<float>(is_largest);
    default:
      TFLEET_CHECK(dtype == DType::kDouble);
      return ExtremeOf<double>(is_largest);
  }
}

const char* ComparisonType(DType dtype) {
  if (IsFloating(dtype) || IsComplex(dtype)) return "FLOAT";
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      return "UNSIGNED";
    default:
      return "SIGNED";
  }
}

}  // namespace tensorfleet::pjrt
