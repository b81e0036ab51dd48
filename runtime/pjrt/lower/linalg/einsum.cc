// Einsum of one or two tensors: what is only summed goes first, one product does the rest. Kernel:
// runtime/kernels/cpu/linalg/einsum.cc.
#include "runtime/tensor/einsum.h"

#include <algorithm>

#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

using Labels = std::vector<int>;

int PlaceOf(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}
bool Has(const Labels& labels, int label) {
  return PlaceOf(labels, label) < static_cast<int>(labels.size());
}

// A label for each dimension.
struct Operand {
  Hlo value;
  Labels labels;
};

// Zero wherever the positions in dimensions `i` and `j`, which are equally long, differ.
Hlo OnDiagonal(HloBuilder& b, const Hlo& x, int i, int j) {
  const Hlo is_on =
      b.Compare("EQ", b.Iota(DType::kInt64, x.shape, i), b.Iota(DType::kInt64, x.shape, j));
  return b.Select(is_on, x, b.Full(x.dtype, x.shape, 0));
}

// Without dimension `i`, over which it adds up. Half and bfloat16 are added up in float.
void SumOver(HloBuilder& b, int i, Operand* x) {
  const DType dtype = x->value.dtype;
  const Hlo wide = b.Convert(x->value, AccumulatorType(dtype));
  x->value = b.Convert(b.Reduce("add", wide, b.Scalar(wide.dtype, 0), {i}), dtype);
  x->labels.erase(x->labels.begin() + i);
}

// Each label once, and only those that `keeps` says yes to.
template <typename Keeps>
StatusOr<Operand> Prepared(HloBuilder& b, Operand x, const std::vector<int64_t>& sizes,
                           const Keeps& keeps) {
  // One that is repeated along its label is the same at every position.
  std::vector<int64_t> dims;
  Labels labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const int64_t dim = x.value.shape.dim(static_cast<int>(i));
    if (dim == 1 && sizes[x.labels[i]] != 1) continue;
    dims.push_back(dim);
    labels.push_back(x.labels[i]);
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  x.value = b.Reshape(x.value, shape);
  x.labels = labels;
  for (int i = static_cast<int>(x.labels.size()) - 1; i >= 0; --i) {
    const int first = PlaceOf(x.labels, x.labels[i]);
    if (first < i) {
      x.value = OnDiagonal(b, x.value, first, i);
      SumOver(b, i, &x);
    }
  }
  for (int i = static_cast<int>(x.labels.size()) - 1; i >= 0; --i) {
    if (!keeps(x.labels[i])) SumOver(b, i, &x);
  }
  return x;
}

// The product of two operands, whose labels are all in the other one or in the output.
StatusOr<Operand> Product(HloBuilder& b, const Operand& x, const Operand& y, const Labels& output) {
  hlo::DotDimensions dims;
  Operand product;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const int label = x.labels[i];
    if (!Has(y.labels, label)) continue;
    const int at = PlaceOf(y.labels, label);
    if (Has(output, label)) {
      dims.add_lhs_batch(i);
      dims.add_rhs_batch(at);
      product.labels.push_back(label);
    } else {
      dims.add_lhs_contracting(i);
      dims.add_rhs_contracting(at);
    }
  }
  for (const Operand* operand : {&x, &y}) {
    const Labels& other = operand == &x ? y.labels : x.labels;
    for (const int label : operand->labels) {
      if (!Has(other, label)) product.labels.push_back(label);
    }
  }
  std::vector<int64_t> sizes;
  for (const int label : product.labels) {
    const Operand& from = Has(x.labels, label) ? x : y;
    sizes.push_back(from.value.shape.dim(PlaceOf(from.labels, label)));
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
  product.value = b.Dot(x.value, y.value, dims, shape, x.value.dtype);
  return product;
}

// In the order of the output, where a label that stands there more than once means a diagonal.
Hlo Placed(HloBuilder& b, const Operand& x, const Labels& output, const Shape& shape) {
  std::vector<int64_t> permutation, places;
  for (size_t i = 0; i < output.size(); ++i) {
    if (PlaceOf(output, output[i]) < static_cast<int>(i)) continue;
    permutation.push_back(PlaceOf(x.labels, output[i]));
    places.push_back(i);
  }
  Hlo result = b.Broadcast(b.Transpose(x.value, permutation), shape, places);
  for (size_t i = 0; i < output.size(); ++i) {
    const int first = PlaceOf(output, output[i]);
    if (first < static_cast<int>(i)) result = OnDiagonal(b, result, first, static_cast<int>(i));
  }
  return result;
}

Status Einsum(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::string text, ctx.Attr<std::string>("equation"));
  const StatusOr<EinsumEquation> equation = ParseEinsum(text);
  if (!equation.ok()) return Unimplemented(equation.status().message());
  const int count = ctx.num_inputs();
  if (count < 1 || count > 2 || static_cast<int>(equation->inputs.size()) != count) {
    return Unimplemented("so many operands");
  }
  std::vector<absl::Span<const int64_t>> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(ctx.shape(i).dims());
  const StatusOr<EinsumLabels> labels = LabelDimensions(*equation, shapes);
  if (!labels.ok()) return Unimplemented(labels.status().message());
  std::vector<int64_t> dims;
  for (const int label : labels->output) dims.push_back(labels->sizes[label]);
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  HloBuilder& b = ctx.hlo();
  Operand operands[2];
  for (int i = 0; i < count; ++i) operands[i] = {ctx.input(i), labels->inputs[i]};
  // Twice: a label that one of them loses, since it is 1 long there, is then summed in the other.
  for (const int i : {0, 1, 0, 1}) {
    if (i >= count) continue;
    const Labels other = count == 2 ? operands[1 - i].labels : Labels();
    const auto keeps = [&](int label) { return Has(labels->output, label) || Has(other, label); };
    TFLEET_ASSIGN_OR_RETURN(operands[i], Prepared(b, operands[i], labels->sizes, keeps));
  }
  if (count == 2) {
    TFLEET_ASSIGN_OR_RETURN(operands[0], Product(b, operands[0], operands[1], labels->output));
  }
  for (const int label : labels->output) {
    if (!Has(operands[0].labels, label)) return Unimplemented("a label of no operand");
  }
  ctx.Set(0, Placed(b, operands[0], labels->output, shape));
  return OkStatus();
}

}  // namespace

void AddEinsumLowerings(LoweringRegistry& r) {
  std::vector<DType> types = FloatAndComplexTypes();
  types.insert(types.end(), IndexTypes().begin(), IndexTypes().end());
  r.Add("Einsum", Einsum, {{"T", types}});
}

}  // namespace tensorfleet::pjrt
