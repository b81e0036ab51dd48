#include "runtime/client/gradients/shape_math.h"

#include "runtime/client/ops.h"
#include "runtime/graph/attr.h"

namespace tensorfleet {

Output Int(const Scope& scope, int32_t value) { return Const(scope, value); }

Output Ints(const Scope& scope, absl::Span<const int64_t> values) {
  return IntsOf(scope, DType::kInt32, values);
}

Output IntsOf(const Scope& scope, DType dtype, absl::Span<const int64_t> values) {
  if (dtype == DType::kInt64) return Const(scope, Tensor::Vector<int64_t>(values));
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return Const(scope, Tensor::Vector<int32_t>(narrow));
}

std::optional<std::vector<int64_t>> ConstantIntegers(const Output& output) {
  if (!output.is_valid() || !output.node()->IsConstant()) return std::nullopt;
  const StatusOr<Tensor> value = GetAttr<Tensor>(output.node()->def(), "value");
  if (!value.ok()) return std::nullopt;
  if (value->dtype() == DType::kInt32) {
    const auto values = value->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (value->dtype() == DType::kInt64) {
    const auto values = value->values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

Output ShapeTensor(const Scope& scope, const Output& output, DType dtype) {
  const PartialShape known = scope.ShapeOf(output);
  if (known.is_fully_defined()) return IntsOf(scope, dtype, known.dims());
  return ops::Shape(scope, output, {.out_type = dtype});
}

Output CastTo(const Scope& scope, const Output& value, DType dtype) {
  return value.dtype() == dtype ? value : ops::Cast(scope, value, dtype);
}

Output VectorSlice(const Scope& scope, const Output& vector, int begin, int end) {
  const auto known = ConstantIntegers(vector);
  if (known) {
    const int size = static_cast<int>(known->size());
    const int stop = end > 0 ? end : size + end;
    return IntsOf(scope, vector.dtype(),
                  absl::MakeConstSpan(*known).subspan(begin, std::max(0, stop - begin)));
  }
  return ops::StridedSlice(scope, vector, Ints(scope, {begin}), Ints(scope, {end}),
                           Ints(scope, {1}), {.end_mask = end == 0 ? 1 : 0});
}

Output VectorElement(const Scope& scope, const Output& vector, int i) {
  return ops::StridedSlice(scope, vector, Ints(scope, {i}), Ints(scope, {i + 1}), Ints(scope, {1}),
                           {.end_mask = i == -1 ? 1 : 0, .shrink_axis_mask = 1});
}

Term Reshaped(const Term& value, const Output& shape) {
  return {value.scope(), ops::Reshape(value.scope(), value, shape)};
}

Term Expanded(const Term& value, int axis) {
  return {value.scope(), ops::ExpandDims(value.scope(), value, Int(value.scope(), axis))};
}

Term SumOf(const Term& value, absl::Span<const int64_t> axes, bool keep_dims) {
  return SumOver(value, Ints(value.scope(), axes), keep_dims);
}

Term SumOver(const Term& value, const Output& axes, bool keep_dims) {
  return {value.scope(), ops::Sum(value.scope(), value, axes, {.keep_dims = keep_dims})};
}

Term RangeTo(const Scope& scope, const Output& n) {
  return {scope,
          ops::Range(scope, ScalarConst(scope, n.dtype(), 0), n, ScalarConst(scope, n.dtype(), 1))};
}

Term ProductOf(const Term& vector) {
  return {vector.scope(), ops::Prod(vector.scope(), vector, Ints(vector.scope(), {0}))};
}

Output Joined(const Scope& scope, absl::Span<const Output> vectors) {
  return ops::ConcatV2(scope, vectors, Int(scope, 0));
}

}  // namespace tensorfleet
