#include "runtime/ops/constant_inputs.h"

namespace tensorfleet::shapes {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

template <typename T>
std::vector<int64_t> Widened(const Tensor& t) {
  const auto values = t.values<T>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace

std::optional<std::vector<int64_t>> ConstantIntegers(const ShapeContext& ctx, int i) {
  const Tensor* value = ctx.constant_input(i);
  if (value == nullptr) return std::nullopt;
  switch (value->dtype()) {
    case DType::kInt32:
      return Widened<int32_t>(*value);
    case DType::kInt64:
      return Widened<int64_t>(*value);
    case DType::kInt16:
      return Widened<int16_t>(*value);
    case DType::kInt8:
      return Widened<int8_t>(*value);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> ConstantInteger(const ShapeContext& ctx, int i) {
  const auto values = ConstantIntegers(ctx, i);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

std::optional<int> Normalized(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Status SetShapeFromVector(ShapeContext& ctx, int input) {
  const auto dims = ConstantIntegers(ctx, input);
  if (!dims) {
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(input));
    ctx.set_output(0, std::move(shape));
    return OkStatus();
  }
  // Negative dimensions and other ranks are for the kernel to refuse.
  if (ctx.constant_input(input)->rank() != 1) return OkStatus();
  PartialShape shape = ScalarShape();
  for (const int64_t dim : *dims) shape.AddDim(dim < 0 ? kOpen : dim);
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status ShapeFromAttr(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

PartialShape Joined(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::Unknown();
  PartialShape joined = a;
  for (const int64_t dim : b.dims()) joined.AddDim(dim);
  return joined;
}

PartialShape Part(const PartialShape& shape, int begin, int end) {
  return PartialShape(shape.dims().subspan(begin, end - begin));
}

int64_t AddDims(int64_t a, int64_t b) {
  int64_t sum;
  if (a == kOpen || b == kOpen || __builtin_add_overflow(a, b, &sum) || sum < 0) return kOpen;
  return sum;
}

int64_t MultiplyDims(int64_t a, int64_t b) {
  int64_t product;
  if (a == 0 || b == 0) return 0;
  if (a == kOpen || b == kOpen || __builtin_mul_overflow(a, b, &product) || product < 0)
    return kOpen;
  return product;
}

}  // namespace tensorfleet::shapes
