#include "runtime/kernels/cpu/index_input.h"

#include <limits>

namespace tensorfleet::cpu {
namespace {

template <typename T>
int64_t ValueAt(const Tensor& t, int64_t i) {
  return static_cast<int64_t>(t.values<T>()[i]);
}

template <typename T, typename Out>
void Widen(const Tensor& t, Out* out) {
  const auto values = t.values<T>();
  out->assign(values.begin(), values.end());
}

template <typename Out>
void WidenAny(const Tensor& t, Out* out) {
  switch (t.dtype()) {
    case DType::kInt32:
      return Widen<int32_t>(t, out);
    case DType::kInt64:
      return Widen<int64_t>(t, out);
    case DType::kInt16:
      return Widen<int16_t>(t, out);
    case DType::kUInt16:
      return Widen<uint16_t>(t, out);
    case DType::kInt8:
      return Widen<int8_t>(t, out);
    case DType::kUInt8:
      return Widen<uint8_t>(t, out);
    case DType::kUInt32:
      return Widen<uint32_t>(t, out);
    case DType::kUInt64:
      return Widen<uint64_t>(t, out);
    default:
      TFLEET_CHECK(false);
  }
}

}  // namespace

int64_t IntegerAt(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kInt32:
      return ValueAt<int32_t>(t, i);
    case DType::kInt64:
      return ValueAt<int64_t>(t, i);
    default: {
      std::vector<int64_t> all;
      WidenAny(t, &all);
      return all[i];
    }
  }
}

Integers IntegersOf(const Tensor& t) {
  Integers values;
  WidenAny(t, &values);
  return values;
}

absl::Span<const int64_t> WidenedIntegers(const Tensor& t, std::vector<int64_t>* storage) {
  if (t.dtype() == DType::kInt64) return t.values<int64_t>();
  WidenAny(t, storage);
  return *storage;
}

StatusOr<int64_t> ScalarInteger(const Tensor& t, absl::string_view name) {
  if (t.num_elements() != 1) {
    return InvalidArgument(name, " must be a scalar, but got: ", t.shape().ToString());
  }
  return IntegerAt(t, 0);
}

StatusOr<Shape> ShapeFromInput(const Tensor& t) {
  if (t.rank() != 1) {
    return InvalidArgument("shape must be a vector of {int32,int64}, got shape ",
                           t.shape().ToString());
  }
  if (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) {
    return InvalidArgument("shape must be a vector of {int32,int64}, got one of ",
                           DTypeName(t.dtype()));
  }
  const Integers dims = IntegersOf(t);
  for (const int64_t dim : dims) {
    if (dim < 0) return InvalidArgument("Dimension ", dim, " must be >= 0");
  }
  return Shape::Make(dims);
}

StatusOr<Tensor> IntegerVector(DType dtype, absl::Span<const int64_t> values) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out,
                          Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())}));
  if (dtype == DType::kInt64) {
    std::copy(values.begin(), values.end(), out.mutable_values<int64_t>().begin());
    return out;
  }
  auto to = out.mutable_values<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > std::numeric_limits<int32_t>::max() ||
        values[i] < std::numeric_limits<int32_t>::min()) {
      return InvalidArgument(values[i], " does not fit in int32; use int64 as the output type");
    }
    to[i] = static_cast<int32_t>(values[i]);
  }
  return out;
}

}  // namespace tensorfleet::cpu
